//! Edits of notes that agents suggest: each waits as a file in the agent's folder, until the owner accepts it, in parts or whole, or rejects it.
//!
//! The note stays as it is until then. Nobody but the owner sees what waits; a note that is hidden from an agent is as one that is not there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use blake3::Hash;
use serde_json::{Map, Value, json};
use similar::{ChangeTag, TextDiff};

use super::exact_edits::{MisplacedEdit, place, with_edits};
use crate::access::request::{
    ErrorKind, MemoryWriter, Owner, ReadScope, RequestError, Workspace, now, read_seen, text,
};
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::serve::wire::{
    DiffPiece, HunkView, SuggestParams, Suggested, SuggestionDecisions, SuggestionView, SuggestionsDecided, TextEdit,
};
use crate::text::derive::facts::Fact;
use crate::text::derive::{ChunkId, plain};
use crate::text::note::{Note, compose};
use crate::vault::disk::{
    Action, CheckpointId, Files, SUGGESTIONS, Source, WriteError, free_name, is_suggestion, until_written,
};
use crate::vault::forgotten::{ForgottenLookup, TextPart};

/// Maximum number of edits in a suggestion.
const MAX_EDITS: usize = 20;
/// Maximum length of the texts of a suggestion: they stand in frontmatter, which holds 64 KiB.
const MAX_BYTES: usize = 24 * 1024;
/// Maximum length of a reason, in characters.
const MAX_WHY_CHARS: usize = 500;
/// Maximum number of suggestions of one agent that wait.
const MAX_WAITING: usize = 50;
/// After this long a difference is no longer the smallest there is; it stays right.
const SMALLEST: Duration = Duration::from_millis(100);

/// A suggestion as it waits in its file.
struct StoredSuggestion {
    file: VaultPath,
    /// BLAKE3 of the file.
    hash: Hash,
    /// Its frontmatter, which says all of it.
    front: Map<String, Value>,
    /// `None` where the file does not say them.
    edits: Option<Vec<TextEdit>>,
}

impl StoredSuggestion {
    fn of(file: VaultPath, bytes: &[u8], hash: Hash) -> Self {
        let front = Note::parse(&String::from_utf8_lossy(bytes), "").metadata;
        let edits = front.get("edits").and_then(|edits| serde_json::from_value(edits.clone()).ok());
        Self { file, hash, front, edits }
    }

    /// The agent in whose folder it is.
    fn agent(&self) -> &str {
        self.file.as_str().split('/').nth(1).unwrap_or_default()
    }

    fn id(&self) -> String {
        format!("{}/{}", self.agent(), self.file.stem())
    }

    fn says(&self, key: &str) -> &str {
        self.front.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn note(&self) -> Option<VaultPath> {
        VaultPath::new(self.says("note")).ok()
    }
}

/// The file of a suggestion: its frontmatter says all of it, the text is for who opens it.
fn composed(front: &Map<String, Value>) -> String {
    let says = |key: &str| front.get(key).and_then(Value::as_str).unwrap_or_default();
    let body = format!("`{}` suggests the edits above for `{}`: {}", says("agent"), says("note"), says("why"));
    compose(front, &format!("{body}\n\nDecide with `vault review`, or under *Review* on the page."))
}

/// The suggestions that wait, the oldest first: all, or those of one agent.
fn waiting(workspace: &Workspace, of: Option<&str>) -> Result<Vec<StoredSuggestion>, RequestError> {
    let (root, files) = (workspace.home.root(), workspace.files()?);
    let names = |folder: &str| -> Vec<String> {
        let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().into_string().ok()).collect()
    };
    let agents = of.map_or_else(|| names("agents"), |slug| vec![slug.to_owned()]);
    let mut found = Vec::new();
    for folder in agents.iter().map(|slug| format!("agents/{slug}/{SUGGESTIONS}")) {
        for name in names(&folder).iter().filter(|name| name.ends_with(".md")) {
            let Ok(path) = VaultPath::new(format!("{folder}/{name}")) else { continue };
            // What is no file of ours, as a link, is none.
            if let Ok(Some((bytes, hash))) = files.read(&path) {
                found.push(StoredSuggestion::of(path, &bytes, hash));
            }
        }
    }
    // Of those of one second the one without a number came first.
    let order = |one: &StoredSuggestion| (one.says("created").to_owned(), one.file.as_str().len(), one.file.clone());
    found.sort_by_cached_key(order);
    Ok(found)
}

/// A note that an agent sees, to be edited, if it is as the agent says it read it.
///
/// # Errors
/// When it sees no such note, or it is another by now, or no note.
pub(super) fn note_to_edit(
    scope: &ReadScope,
    path: &str,
    base_hash: Option<&str>,
) -> Result<(VaultPath, Source), RequestError> {
    let (file, source) = read_seen(scope, path)?;
    let known = [ChunkId::of_note(&file.path, source.hash.as_bytes()).to_string(), source.hash.to_hex().to_string()];
    if base_hash.is_some_and(|base| !known.iter().any(|hash| hash == base)) {
        let message = format!("`{path}` has changed since `base_hash`");
        return Err(RequestError::conflict(message).hint("read it again; nothing was written"));
    }
    scope.workspace().files()?.check(&file.path)?;
    Ok((file.path.clone(), source))
}

/// A text that an agent brings, which may be empty, without secrets; and whether it had some.
pub(super) fn brought(writer: &MemoryWriter, field: &str, given: &str) -> Result<(String, bool), RequestError> {
    if given.is_empty() {
        return Ok((String::new(), false));
    }
    let given = text(field, given)?;
    let kept = if writer.workspace().redacts() { redact(&given).into_owned() } else { given.clone() };
    let redacted = kept != given;
    Ok((kept, redacted))
}

/// That an edit cannot be made of a note.
pub(super) fn misplaced(path: &str, error: MisplacedEdit, edits: usize) -> RequestError {
    let edit = if edits == 1 { "`old`".to_owned() } else { format!("`old` of edit {}", error.at + 1) };
    let message = match error.times {
        0 => format!("{edit} is not in `{path}`; it must match exactly, and edits must not overlap"),
        times => format!("{edit} occurs {times} times in `{path}`; give more of the text around it"),
    };
    RequestError::conflict(message).hint("nothing was written")
}

/// Puts an agent's suggestion for a note into the queue of its owner.
///
/// A text that was forgotten for good is not put there, and the agent hears the same.
///
/// # Errors
/// When its page does not let it, it sees no such note, an edit cannot be made of the note, or too many wait.
pub(crate) fn suggest(writer: &MemoryWriter, params: &SuggestParams) -> Result<Suggested, RequestError> {
    writer.logged("note_suggest", &params.path, suggested(writer, params), |done| vec![done.path.clone()])
}

fn suggested(writer: &MemoryWriter, params: &SuggestParams) -> Result<Suggested, RequestError> {
    if !writer.policy.can_suggest {
        return Err(RequestError::kept_by_person("your page does not let you suggest edits (`can_suggest`)"));
    }
    let given = match (&params.old, &params.new, &params.edits) {
        (Some(old), Some(new), None) => vec![TextEdit { old: old.clone(), new: new.clone() }],
        (None, None, Some(edits)) if (1..=MAX_EDITS).contains(&edits.len()) => edits.clone(),
        _ => return Err(RequestError::invalid(format!("give `old` and `new`, or 1 to {MAX_EDITS} `edits`"))),
    };
    let (why, mut redacted) = brought(writer, "why", params.why.trim())?;
    if why.is_empty() || why.chars().count() > MAX_WHY_CHARS {
        return Err(RequestError::invalid(format!("`why` takes 1 to {MAX_WHY_CHARS} characters")));
    }
    let mut edits = Vec::new();
    for TextEdit { old, new } in &given {
        let (new, had_secrets) = brought(writer, "new", new)?;
        redacted |= had_secrets;
        edits.push(TextEdit { old: text("old", old)?, new });
    }
    let bytes = why.len() + edits.iter().map(|edit| edit.old.len() + edit.new.len()).sum::<usize>();
    if bytes > MAX_BYTES {
        return Err(RequestError::invalid(format!("the edits have {bytes} bytes; a suggestion takes {MAX_BYTES}")));
    }
    writer.make_fresh();
    let (path, source) = note_to_edit(&writer.read_scope()?, &params.path, params.base_hash.as_deref())?;
    with_edits(&source.text, &edits).map_err(|error| misplaced(path.as_str(), error, edits.len()))?;
    let done = Suggested { ok: true, path: path.to_string(), status: "pending".into(), redacted };

    let workspace = writer.workspace();
    let others = waiting(workspace, Some(&writer.slug))?;
    if others.iter().any(|other| other.note().as_ref() == Some(&path) && other.edits.as_ref() == Some(&edits)) {
        return Ok(done);
    }
    if others.len() >= MAX_WAITING {
        let message = format!("{MAX_WAITING} of your suggestions wait for the owner, the maximum");
        let hint = Some("nothing was written; suggest more when some are decided".to_owned());
        return Err(RequestError { kind: ErrorKind::TooMuch, message, hint, now: None });
    }
    let front = json!({
        "private": true, "note": path.as_str(), "agent": writer.slug, "why": why, "created": now(),
        "base": source.hash.to_hex().as_str(), "edits": edits,
    });
    let file = composed(front.as_object().expect("it is a map"));
    let read_again = StoredSuggestion::of(path.clone(), file.as_bytes(), blake3::hash(file.as_bytes()));
    if read_again.edits.as_ref() != Some(&edits) {
        return Err(RequestError::invalid("the edits have characters that a suggestion cannot hold"));
    }
    // Nothing is purged from here on: else the note's text would be written down after it was forgotten.
    let files = workspace.files()?;
    let _one = files.one_generation();
    if files.read(&path)?.map(|(_, hash)| hash) != Some(source.hash) {
        return Err(RequestError::no_note(&path));
    }
    let asked = workspace.forgotten.ask()?;
    let brings = std::iter::once(&why).chain(edits.iter().map(|edit| &edit.new));
    let left_out = forgotten(writer, &asked, brings, &source.text);
    let act = writer.act(Action::Create, bytes);
    let folder = format!("agents/{}/{SUGGESTIONS}", writer.slug);
    writer.begin()?;
    let written = until_written(|| {
        let free = free_name(workspace.home.root(), &folder, &format!("{} {}", &now()[..10], path.stem()));
        Ok::<_, RequestError>(match left_out {
            Some(_) => files.leave(&free, None, act),
            None => files.replace(&free, None, &file, act),
        })
    });
    written.inspect_err(|_| writer.turn().rest())?;
    drop(asked);
    if let Some(tombstone) = left_out {
        workspace.forgotten.note(&format!("agent {}", writer.slug), path.as_str(), true, tombstone);
    }
    Ok(done)
}

/// The tombstone that texts of an agent meet which the note does not say already, as far as the agent could have read what was forgotten.
pub(super) fn forgotten<'t>(
    writer: &MemoryWriter,
    asked: &ForgottenLookup<'_>,
    mut texts: impl Iterator<Item = &'t String>,
    note: &str,
) -> Option<i64> {
    let says = |_: Option<&Fact>, part: &str| note.contains(part.trim());
    texts.find_map(|text| Some(asked.without_in_file(text, false, &writer.rights, &says)?.tombstone))
}

/// The suggestions that wait, each as it fits its note now.
///
/// # Errors
/// When the vault is not there.
pub(crate) fn suggestions(owner: &Owner) -> Result<Vec<SuggestionView>, RequestError> {
    let files = owner.workspace().files()?;
    let view = |suggestion: StoredSuggestion| {
        let there = suggestion.note().and_then(|note| files.read(&note).ok().flatten());
        let moved_on = there.as_ref().is_none_or(|(_, hash)| hash.to_hex().as_str() != suggestion.says("base"));
        let text = there.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned()).unwrap_or_default();
        let hunk = |edit: &TextEdit| HunkView {
            line: place(&text, &edit.old).ok().map(|span| text[..span.start].matches('\n').count() + 1),
            diff: words(&edit.old, &edit.new),
            old: edit.old.clone(),
            new: edit.new.clone(),
        };
        let problem = suggestion.edits.is_none() || suggestion.note().is_none();
        SuggestionView {
            id: suggestion.id(),
            agent: suggestion.agent().to_owned(),
            at: suggestion.says("created").to_owned(),
            path: suggestion.says("note").to_owned(),
            why: suggestion.says("why").to_owned(),
            file: suggestion.file.to_string(),
            moved_on,
            hunks: suggestion.edits.iter().flatten().map(hunk).collect(),
            problem: problem.then(|| format!("`{}` does not say `note` and `edits`", suggestion.file)),
        }
    };
    Ok(waiting(owner.workspace(), None)?.into_iter().map(view).collect())
}

/// The difference of two texts, word by word.
fn words(old: &str, new: &str) -> Vec<DiffPiece> {
    let mut pieces: Vec<DiffPiece> = Vec::new();
    for change in TextDiff::configure().timeout(SMALLEST).diff_words(old, new).iter_all_changes() {
        let kind = match change.tag() {
            ChangeTag::Equal => '=',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        match pieces.last_mut().filter(|last| last.change == kind) {
            Some(last) => last.text += change.value(),
            None => pieces.push(DiffPiece { change: kind, text: change.value().to_owned() }),
        }
    }
    pieces
}

/// A note as accepted edits make it.
struct EditedNote {
    text: String,
    before: Hash,
    agents: Vec<String>,
}

/// Accepts and rejects suggestions, or edits of them. What cannot be done is refused before anything is written.
///
/// # Errors
/// When there is no such suggestion or edit, a note has moved on so that an edit cannot be made any more, or the disk refuses.
pub(crate) fn decide_suggestions(
    owner: &Owner,
    params: &SuggestionDecisions,
) -> Result<SuggestionsDecided, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let mut all: BTreeMap<String, StoredSuggestion> =
        waiting(workspace, None)?.into_iter().map(|suggestion| (suggestion.id(), suggestion)).collect();
    let mut notes: BTreeMap<VaultPath, EditedNote> = BTreeMap::new();
    let (mut left, mut done) = (Vec::new(), SuggestionsDecided { ok: true, ..SuggestionsDecided::default() });
    for decision in &params.decisions {
        let absent = || {
            let message = format!("there is no suggestion `{}`, or it is named twice", decision.id);
            RequestError::not_found(message).hint("`vault review` lists all that wait")
        };
        // One that is named twice is gone the second time.
        let suggestion = all.remove(&decision.id).ok_or_else(absent)?;
        let edits = suggestion.edits.clone().unwrap_or_default();
        let is_meant = |at: usize| decision.hunks.as_ref().is_none_or(|hunks| hunks.contains(&(at + 1)));
        if let Some(hunk) = decision.hunks.iter().flatten().find(|hunk| !(1..=edits.len()).contains(*hunk)) {
            let message = format!("`{}` has no edit {hunk}; it has {}", decision.id, edits.len());
            return Err(RequestError::invalid(message));
        }
        let (meant, rest): (Vec<_>, Vec<_>) = edits.into_iter().enumerate().partition(|(at, _)| is_meant(*at));
        let numbers: Vec<usize> = meant.iter().map(|(at, _)| at + 1).collect();
        let [meant, rest] = [meant, rest].map(|edits| edits.into_iter().map(|(_, edit)| edit).collect::<Vec<_>>());
        if decision.accept {
            accept(files, &suggestion, &meant, &numbers, &mut notes)?;
            done.accepted += meant.len();
        } else {
            done.rejected += meant.len();
        }
        left.push((suggestion, rest));
    }
    let written = write(files, &notes, left);
    let undo = written.map_err(|(error, undo)| {
        // All or nothing.
        for id in undo.iter().rev() {
            if let Err(error) = files.restore(id, Action::Restore.into(), |_, _, _| false, |_, _| None) {
                tracing::warn!("a part of a review stays: {error}");
            }
        }
        RequestError::from(error)
    })?;
    for path in notes.keys() {
        workspace.settled_in_time(path);
    }
    done.changed = notes.keys().map(ToString::to_string).collect();
    done.checkpoint_ids = undo.iter().rev().map(ToString::to_string).collect();
    Ok(done)
}

/// Makes edits of a suggestion in the text of its note, as earlier decisions leave it.
fn accept(
    files: &Files,
    suggestion: &StoredSuggestion,
    edits: &[TextEdit],
    numbers: &[usize],
    notes: &mut BTreeMap<VaultPath, EditedNote>,
) -> Result<(), RequestError> {
    let (id, says) = (suggestion.id(), suggestion.says("note"));
    let gone = || {
        let message = format!("`{id}` cannot be accepted: it has no edits, or there is no note `{says}`");
        RequestError::conflict(message).hint("reject it; nothing was changed")
    };
    let path = suggestion.note().filter(|_| !edits.is_empty()).ok_or_else(gone)?;
    if !notes.contains_key(&path) {
        let (bytes, before) = files.read(&path)?.ok_or_else(gone)?;
        let text = String::from_utf8(bytes).map_err(|_| RequestError::conflict(format!("`{path}` is not text")))?;
        notes.insert(path.clone(), EditedNote { text, before, agents: Vec::new() });
    }
    let note = notes.get_mut(&path).ok_or_else(gone)?;
    note.text = with_edits(&note.text, edits).map_err(|MisplacedEdit { at, times }| {
        let number = numbers.get(at).copied().unwrap_or_default();
        let now = if times == 0 { "is no longer there".to_owned() } else { format!("is there {times} times") };
        let message = format!("`{path}` has moved on: the text that edit {number} of `{id}` replaces {now}");
        RequestError::conflict(message).hint("accept the other edits alone, or reject it; nothing was changed")
    })?;
    let agent = suggestion.agent().to_owned();
    if !note.agents.contains(&agent) {
        note.agents.push(agent);
    }
    Ok(())
}

/// Writes the notes, then what is left of the suggestions; gives what undoes it, also of the part that was done when it failed.
fn write(
    files: &Files,
    notes: &BTreeMap<VaultPath, EditedNote>,
    left: Vec<(StoredSuggestion, Vec<TextEdit>)>,
) -> Result<Vec<CheckpointId>, (WriteError, Vec<CheckpointId>)> {
    let mut undo = Vec::new();
    for (path, note) in notes {
        let by = format!("owner, suggested by {}", note.agents.join(", "));
        match files.replace(path, note.before, &note.text, Action::Edit.done_by(&by)) {
            Ok(id) => undo.push(id),
            Err(error) => return Err((error, undo)),
        }
    }
    for (mut suggestion, rest) in left {
        let decided = if rest.is_empty() {
            files.trash(&suggestion.file, suggestion.hash, Action::Trash)
        } else {
            suggestion.front.insert("edits".into(), json!(rest));
            files.replace(&suggestion.file, suggestion.hash, &composed(&suggestion.front), Action::Edit)
        };
        match decided {
            Ok(id) => undo.push(id),
            Err(error) => return Err((error, undo)),
        }
    }
    Ok(undo)
}

/// Removes all that was suggested for a note that is purged, or that says a part of what is, with the checkpoints and what is in the trash of it.
///
/// # Errors
/// When the disk refuses.
pub(super) fn purge_suggestions(
    workspace: &Workspace,
    files: &Files,
    path: &VaultPath,
    parts: &[TextPart],
) -> Result<(), RequestError> {
    let is_meant = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        let suggestion = StoredSuggestion::of(path.clone(), bytes, blake3::hash(bytes));
        let edits = suggestion.edits.iter().flatten().flat_map(|edit| [&edit.old, &edit.new]);
        let said: Vec<String> = edits.map(|text| plain(text)).chain([plain(&text)]).collect();
        suggestion.note().as_ref() == Some(path)
            || parts.iter().any(|part| said.iter().any(|said| said.contains(&part.words)))
    };
    let mut meant: Vec<VaultPath> = Vec::new();
    for file in waiting(workspace, None)? {
        let there = files.read(&file.file)?;
        if let Some((_, hash)) = there.filter(|(bytes, _)| is_meant(bytes)) {
            files.trash(&file.file, hash, Action::Forget)?;
            meant.push(file.file);
        }
    }
    let former = files.checkpoints()?.into_iter().map(|checkpoint| checkpoint.path).filter(is_suggestion);
    for path in former.collect::<BTreeSet<VaultPath>>() {
        if !meant.contains(&path) && files.former_contents(&path)?.any(|bytes| is_meant(&bytes)) {
            meant.push(path);
        }
    }
    // What is left of each of them, with those of the same name before.
    for file in meant {
        files.purge(&file)?;
    }
    // One that was decided is in the trash longer than a checkpoint says so.
    Ok(files.purge_trash("agents", is_suggestion, is_meant)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_suggestion_is_read_as_it_was_written() {
        let edits: Vec<TextEdit> = ["plain", " - [ ] task\n\n", "---\na: 1\n---", "'\"#%\t\\", "é\n\n  x  \n", "null"]
            .iter()
            .map(|text| TextEdit { old: (*text).into(), new: text.chars().rev().collect() })
            .collect();
        let front = json!({ "private": true, "note": "a/b.md", "agent": "ada", "why": "a: b #c", "edits": edits });
        let text = composed(front.as_object().unwrap());
        let file = VaultPath::new("agents/ada/suggestions/2026-01-05-b.md").unwrap();
        let read = StoredSuggestion::of(file, text.as_bytes(), blake3::hash(text.as_bytes()));
        assert_eq!((read.edits.unwrap(), read.front["why"].as_str()), (edits, Some("a: b #c")));
        assert!(Note::parse(&text, "").is_private());
    }

    #[test]
    fn a_difference_is_told_by_words() {
        let told: String = words("on Monday at noon", "on Tuesday at noon")
            .iter()
            .map(|p| format!("{}{}|", p.change, p.text))
            .collect();
        assert_eq!(told, "=on |-Monday|+Tuesday|= at noon|");
    }
}
