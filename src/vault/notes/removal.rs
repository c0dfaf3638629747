//! What goes out of one file: all of a note, a chunk or lines of it, an entry of memory, a fact.

use std::collections::BTreeSet;

use blake3::Hash;
use serde_json::Value;

use super::forget::{ForgetStep, SourceLines, citing, is_of};
use crate::access::request::{ErrorKind, Owner, RequestError, no_chunk, note_path};
use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::index::engine::FileEntry;
use crate::memory::items::{EntryWriter, FactsSnapshot, ItemError};
use crate::serve::wire::ForgetParams;
use crate::text::derive::entries::{EntriesFile, EntryEdit, EntryFileKind, MemoryEntry, shelf_of};
use crate::text::derive::facts::{Fact, FactChange, FactsFile, FactsHistory, full_name, split_name};
use crate::text::derive::generated::GeneratedNote;
use crate::text::derive::{ChunkId, Remainder, RemoveError, chunk, plain, without_chunk, without_lines};
use crate::text::note::{Note, summary_of, with_property, without_summary};
use crate::vault::disk::{Action, CheckpointId, WriteError};

/// The first and the last line.
pub(super) type LineSpan = (usize, usize);

/// What of a note is to go.
enum Part {
    Whole,
    Chunk(ChunkId),
    Lines(usize, usize),
}

/// Whether a file is as whoever asks has seen it.
type IsSeen<'a> = &'a dyn Fn(&VaultPath, Hash) -> bool;

/// What goes out of one file.
pub(super) struct Removal {
    pub(super) path: VaultPath,
    /// The lines that go, if not all of it does.
    pub(super) lines: Option<LineSpan>,
    /// What the file says, or said last.
    pub(super) had: String,
    /// The hash of that; `None` where nothing of the file is to change.
    pub(super) hash: Option<Hash>,
    /// What it says afterwards; `None` where all of it goes.
    pub(super) left: Option<String>,
    /// What goes, as it was.
    pub(super) removed: Vec<String>,
    /// The values of facts that go for good.
    pub(super) facts: Option<RemovedFacts>,
    /// The entry that goes.
    pub(super) entry: Option<MemoryEntry>,
}

impl Removal {
    /// What a request means.
    ///
    /// # Errors
    /// When its parameters make no sense, there is no such chunk, note or fact, or it has changed since.
    pub(super) fn asked(owner: &Owner, params: &ForgetParams) -> Result<Self, RequestError> {
        let purge = params.purge;
        let is_named = |path: &VaultPath, hash: Hash| {
            let name = |hash: Hash| ChunkId::of_note(path, hash.as_bytes()).to_string();
            params.seen.as_ref().is_none_or(|seen| *seen == name(hash))
        };
        if let Some(name) = &params.fact {
            if params.hash.is_some() || params.path.is_some() {
                return Err(RequestError::invalid("give `fact`, `hash` or `path`"));
            }
            return Self::of_fact(owner, params.scope.as_deref(), name, purge, None, &is_named);
        }
        let (path, part, indexed) = target(owner, params)?;
        let is_seen =
            |path: &VaultPath, hash: Hash| indexed.is_none_or(|seen| seen == *hash.as_bytes()) && is_named(path, hash);
        match Self::cut(owner, &path, &part, purge, &is_seen)? {
            Some(removal) => Ok(removal),
            None if purge && params.path.is_some() && matches!(part, Part::Whole) => Self::of_gone(owner, path),
            None => Err(WriteError::Gone(path).into()),
        }
    }

    /// The same of something that goes with what it was made of.
    ///
    /// # Errors
    /// When it is not there, or cannot be taken out of its file.
    pub(super) fn of(owner: &Owner, step: &ForgetStep, purge: bool) -> Result<Self, RequestError> {
        if let Some((path, id)) = step.derived.path.split_once("#^") {
            return Self::of_entry(owner, note_path(path)?, id, purge);
        }
        let path = note_path(&step.derived.path)?;
        if let Some(name) = &step.derived.fact {
            let scope = owner.workspace().fact_store.scope_of(&path).map(|scope| scope.to_string());
            return Self::of_fact(owner, scope.as_deref(), name, purge, step.place(), &|_, _| true);
        }
        let part = match step.place() {
            Some((_, Some((first, last)))) if step.is_copy => Part::Lines(first, last),
            _ => Part::Whole,
        };
        match Self::cut(owner, &path, &part, purge, &|_, _| true)? {
            Some(mut removal) => {
                if purge && step.is_copy {
                    removal.retitle();
                }
                Ok(removal)
            }
            None if purge => Self::of_gone(owner, path),
            None => Err(WriteError::Gone(path).into()),
        }
    }

    /// The same once more, before it goes.
    ///
    /// # Errors
    /// As [`Removal::of`], and where it has been changed since.
    pub(super) fn again(owner: &Owner, step: &ForgetStep, purge: bool) -> Result<Self, RequestError> {
        let removal = Self::of(owner, step, purge)?;
        match removal.digest().is_some_and(|now| step.seen != Some(now)) {
            true => Err(RequestError::conflict("it has changed since; check it, and remove it yourself")),
            false => Ok(removal),
        }
    }

    /// A part of a file; `None` where that is not there.
    fn cut(
        owner: &Owner,
        path: &VaultPath,
        part: &Part,
        purge: bool,
        is_seen: IsSeen<'_>,
    ) -> Result<Option<Self>, RequestError> {
        let workspace = owner.workspace();
        let changed = || RequestError::from(WriteError::Changed(path.clone()));
        let Some((bytes, hash)) = workspace.files()?.read(path)? else { return Ok(None) };
        if !is_seen(path, hash) {
            return Err(changed());
        }
        if path.is_document() && !matches!(part, Part::Whole) {
            let message = format!("`{path}` is an attachment; it can only be deleted whole");
            return Err(RequestError::invalid(message));
        }
        let had = match part {
            Part::Whole => workspace.text_of(path, bytes),
            _ => String::from_utf8(bytes)
                .map_err(|_| RequestError::invalid(format!("`{path}` is not text; it can only be deleted whole")))?,
        };
        let note = Note::of(path, &had);
        let (left, lines) = match part {
            Part::Whole => (Ok(Remainder { text: None, removed: vec![had.clone()] }), None),
            Part::Lines(first, last) => (without_lines(&note, &had, *first, *last), Some((*first, *last))),
            Part::Chunk(id) => {
                let chunks = chunk(path, &note, &had);
                let chunk = chunks.iter().find(|chunk| chunk.id == *id).ok_or_else(changed)?;
                (without_chunk(&note, &had, chunk), Some(chunk.lines))
            }
        };
        let Remainder { text: left, removed } = left.map_err(|error| refused(path, error))?;
        if purge && lines.is_some() {
            check_history(owner, path, &removed)?;
        }
        let facts = purge.then(|| RemovedFacts::of(owner, path, &had, left.as_deref())).flatten();
        let (path, lines) = (path.clone(), lines.filter(|_| left.is_some()));
        Ok(Some(Self { path, lines, had, hash: Some(hash), left, removed, facts, entry: None }))
    }

    /// A note that is gone already, of which something may be kept. What it said last is what goes.
    fn of_gone(owner: &Owner, path: VaultPath) -> Result<Self, RequestError> {
        let workspace = owner.workspace();
        let had = workspace.files()?.last_content(&path)?.map(|bytes| workspace.text_of(&path, bytes));
        Ok(Self::gone_from(owner, path, None, had.unwrap_or_default(), None, Vec::new()))
    }

    /// Something that has gone out of its file already, which said `had`, and says what is `left`.
    pub(super) fn gone_from(
        owner: &Owner,
        path: VaultPath,
        lines: Option<LineSpan>,
        had: String,
        left: Option<String>,
        removed: Vec<String>,
    ) -> Self {
        let facts = RemovedFacts::of(owner, &path, &had, left.as_deref());
        Self { path, lines, had, hash: None, left, removed, facts, entry: None }
    }

    /// An entry of memory; nothing, where it is gone already and is to be purged.
    fn of_entry(owner: &Owner, path: VaultPath, id: &str, purge: bool) -> Result<Self, RequestError> {
        let workspace = owner.workspace();
        let absent = || RequestError::not_found(format!("`{path}` has no entry `{id}`"));
        let (holder, shelf) = shelf_of(&path).ok_or_else(absent)?;
        let entry = workspace.entry_store.book(&holder, shelf)?.get(id).cloned();
        if entry.is_none() && !purge {
            return Err(absent());
        }
        let (bytes, hash) = workspace.files()?.read(&path)?.unzip();
        let had = bytes.map(|bytes| workspace.text_of(&path, bytes)).unwrap_or_default();
        let lines = entry.as_ref().map_or((0, 0), |entry| (entry.line_start, entry.line_end));
        let removed = entry.iter().map(|entry| entry.text.clone()).collect();
        let hash = hash.filter(|_| entry.is_some());
        Ok(Self { path, lines: Some(lines), left: Some(had.clone()), had, hash, removed, facts: None, entry })
    }

    /// A fact by its name: its lines, and with `purge` all that it ever was. Of one that was learned at a place, where its value of now is
    /// from elsewhere, what it was from there alone.
    fn of_fact(
        owner: &Owner,
        scope: Option<&str>,
        name: &str,
        purge: bool,
        learned: Option<SourceLines<'_>>,
        is_seen: IsSeen<'_>,
    ) -> Result<Self, RequestError> {
        let scope = MemoryScope::parse(scope.unwrap_or("user"))
            .map_err(|error| RequestError::invalid(format!("`scope`: {error}")))?;
        let (namespace, key) = split_name(name);
        let namespace = namespace.to_lowercase();
        let book = owner.workspace().fact_store.book(&scope)?;
        let path = book.path.clone();
        let fact = book.facts.get(&namespace, key);
        let mut values: BTreeSet<String> =
            fact.into_iter().flat_map(said_by).chain(ever(&book, &namespace, key)).collect();
        if book.facts.times(&namespace, key) > 1 {
            let message = format!("`{name}` occurs more than once in {path}; remove the other lines first");
            return Err(RequestError::conflict(message));
        }
        if fact.is_none() && (values.is_empty() || !purge) {
            return Err(RequestError::not_found(format!("there is no fact `{name}`")));
        }
        let mut lines = fact.map(|fact| (fact.line, fact.last_line));
        if let Some((of, of_lines)) = learned {
            let is_meant =
                |change: &&FactChange| change.source.as_deref().is_some_and(|source| is_of(source, of, of_lines));
            let meant = book.history.of(&namespace, key).filter(is_meant);
            let meant: BTreeSet<&str> = meant.filter_map(|change| change.new.as_deref()).collect();
            let now = fact.map(|fact| fact.text.as_str()).filter(|text| !text.is_empty());
            if now.is_none_or(|now| !meant.contains(now)) {
                if !purge {
                    // It has been set anew since, and what it was before stays known until it is purged.
                    return Err(RequestError::conflict(format!("`{name}` has another value now")));
                }
                values.retain(|value| meant.contains(value.as_str()));
                lines = None;
            }
        }
        let removed = vec![Vec::from_iter(values.iter().map(String::as_str)).join("\n")];
        let values = values.into_iter().map(|value| (namespace.clone(), key.to_owned(), value)).collect();
        let facts = Some(RemovedFacts { scope, values }).filter(|_| purge);
        let absent = || RequestError::from(WriteError::Gone(path.clone()));
        match lines {
            Some((first, last)) => {
                let cut = Self::cut(owner, &path, &Part::Lines(first, last), purge, is_seen)?;
                Ok(Self { facts, ..cut.ok_or_else(absent)? })
            }
            // Without lines there is nothing of it in the file.
            None => {
                let (had, left) = (String::new(), Some(String::new()));
                Ok(Self { path, lines: Some((0, 0)), had, hash: None, left, removed, facts, entry: None })
            }
        }
    }

    /// Digest of what goes; `None` where nothing of it is in the file.
    pub(super) fn digest(&self) -> Option<String> {
        self.hash.map(|_| blake3::hash(self.removed.concat().as_bytes()).to_hex().to_string())
    }

    /// Where it is.
    pub(super) fn place(&self) -> SourceLines<'_> {
        (&self.path, self.lines)
    }

    /// Whether a line of the file goes.
    pub(super) fn has(&self, line: usize) -> bool {
        self.lines.is_none_or(|(first, last)| (first..=last).contains(&line))
    }

    /// What is to be known again: of a generated page what cites the place that it was made of, as the rest was made of what stays.
    pub(super) fn said(&self, made_of: Option<SourceLines<'_>>) -> Vec<String> {
        let mut said = match made_of.filter(|_| is_generated(&self.had)) {
            Some(place) => citing(&self.path, &self.had, place),
            None if self.left.is_none() => whole_texts(&self.path, &self.had),
            None => self.removed.clone(),
        };
        // An entry is known again whatever is noted beside it.
        if shelf_of(&self.path).is_some() {
            let entries = said.iter().flat_map(|text| EntriesFile::read(text, EntryFileKind::Known).entries);
            let entries: Vec<String> = entries.map(|entry| entry.text).collect();
            said.extend(entries);
        }
        said.extend(self.facts.iter().flat_map(|facts| facts.values.iter().map(|(_, _, value)| value.clone())));
        said
    }

    /// Takes the summary out of the frontmatter as well; says whether that could be done.
    pub(super) fn add_summary(&mut self, summary: String) -> bool {
        let Some(without) = self.left.as_deref().and_then(without_summary) else { return false };
        self.left = Some(without);
        self.removed.push(summary);
        true
    }

    /// Gives a captured conversation the name of its session for a title, in place of one that is words of what goes, where nothing but that
    /// line becomes another.
    pub(super) fn retitle(&mut self) {
        let new = self.left.as_deref().and_then(|left| retitled(&self.path, left, &self.removed));
        self.left = new.or_else(|| self.left.take());
    }

    /// Whether the title of what is left is words of what goes.
    pub(super) fn title_says(&self) -> bool {
        self.left.as_deref().is_some_and(|left| title_says(&Note::parse(left, self.path.stem()), &self.removed))
    }

    /// Takes it out of its file, and with `purge` the values of facts out of their history; `then` is done in between. Gives what undoes it,
    /// and why the history may have the values still.
    ///
    /// # Errors
    /// When the file has changed since, or the disk refuses: then nothing is done.
    pub(super) fn remove(
        &self,
        owner: &Owner,
        purge: bool,
        then: impl FnOnce(),
    ) -> Result<(Option<CheckpointId>, Option<ItemError>), RequestError> {
        let workspace = owner.workspace();
        let files = workspace.files()?;
        let remove = || {
            let id = match (&self.entry, self.hash, &self.left) {
                (Some(entry), ..) => self.remove_entry(owner, entry, purge)?,
                (None, None, _) => None,
                (None, Some(hash), None) => Some(files.trash(&self.path, hash, Action::Trash)?),
                (None, Some(hash), Some(left)) => Some(files.replace(&self.path, hash, left, Action::Forget)?),
            };
            then();
            Ok::<_, RequestError>(id)
        };
        let removed = match &self.facts {
            // Meanwhile nobody notes them anew.
            Some(facts) => {
                workspace.fact_store.purge(files, &self.path, |change, text| facts.means(change, text), remove)?
            }
            None => (remove()?, None),
        };
        Ok(removed)
    }

    fn remove_entry(
        &self,
        owner: &Owner,
        entry: &MemoryEntry,
        purge: bool,
    ) -> Result<Option<CheckpointId>, RequestError> {
        let Some((holder, shelf)) = shelf_of(&self.path) else { return Ok(None) };
        let files = owner.workspace().files()?;
        let writer = EntryWriter { files, act: Action::Forget.into(), is_program: false };
        let mut edits = vec![EntryEdit::Remove(entry.id.clone())];
        // Nor is the list of sources to name what goes.
        edits.extend(entry.source_paths().filter(|_| purge).map(|path| EntryEdit::Unlist(path.to_owned())));
        Ok(owner.workspace().entry_store.change(&writer, &holder, shelf, &edits)?.0)
    }
}

/// What a request names: a note, what of it, and the hash of the note as the caller knows it.
fn target(owner: &Owner, params: &ForgetParams) -> Result<(VaultPath, Part, Option<[u8; 32]>), RequestError> {
    let lines = match (params.line_start, params.line_end) {
        (None, None) => None,
        (Some(first), last) if first > 0 && last.unwrap_or(first) >= first => Some((first, last.unwrap_or(first))),
        _ => {
            return Err(RequestError::invalid("`line_start` and `line_end` must be lines of the note, counted from 1"));
        }
    };
    match (&params.hash, &params.path, lines) {
        (Some(hash), None, None) => {
            let id: ChunkId =
                hash.parse().map_err(|error| RequestError::invalid(format!("`{hash}` is not a hash: {error}")))?;
            let scope = owner.now()?;
            let of = |file: &FileEntry, part| (file.path.clone(), part, Some(file.hash));
            if let Some((file, _)) = scope.chunk_of(id)? {
                return Ok(of(file, Part::Chunk(id)));
            }
            scope.note_of(id).map(|file| of(file, Part::Whole)).ok_or_else(|| no_chunk(hash))
        }
        (None, Some(path), lines) => {
            let path = note_path(path)?;
            let Some((first, last)) = lines else { return Ok((path, Part::Whole, None)) };
            if params.seen.is_some() {
                return Ok((path, Part::Lines(first, last), None));
            }
            // Lines are those of the note as the index, and so a search, has told of it.
            let seen = owner.now()?.reader().files().at(path.as_str()).map(|file| file.hash);
            if seen.is_none() && !params.dry_run && path.on_disk(owner.workspace().home.root()).is_file() {
                let message = format!("`{path}` is not indexed, so its lines may differ from what you saw");
                return Err(RequestError::conflict(message).hint("send `seen`, which `dry_run` returns"));
            }
            Ok((path, Part::Lines(first, last), seen))
        }
        _ => Err(RequestError::invalid("give `hash`, or `path` with or without lines")),
    }
}

fn refused(path: &VaultPath, error: RemoveError) -> RequestError {
    let kind = match error {
        RemoveError::Nothing | RemoveError::Outside => ErrorKind::Invalid,
        RemoveError::Entangled | RemoveError::KeepsPrivate => ErrorKind::Conflict,
    };
    RequestError { kind, message: format!("`{path}`: {error}"), hint: None, now: None }
}

/// Whether the program has made a note, and nobody has edited it since.
pub(super) fn is_generated(text: &str) -> bool {
    GeneratedNote::read(text).is_some_and(|note| !note.is_edited)
}

/// What goes with all of a note that says `text`: but for the summary frontmatter says nothing that would come again.
pub(super) fn whole_texts(path: &VaultPath, text: &str) -> Vec<String> {
    let note = Note::of(path, text);
    let summary = summary_of(text).filter(|_| !path.is_document());
    summary.into_iter().chain([text[note.body].to_owned()]).collect()
}

/// Values that go for good, of one memory scope.
pub(super) struct RemovedFacts {
    scope: MemoryScope,
    /// Namespace, key and value as written.
    values: BTreeSet<(String, String, String)>,
}

impl RemovedFacts {
    /// Those that a file of facts loses: with the last line of a fact goes all that it ever was, and with the file all that was ever in it.
    /// `None` where it is none, or loses none.
    fn of(owner: &Owner, path: &VaultPath, before: &str, after: Option<&str>) -> Option<Self> {
        let fact_store = &owner.workspace().fact_store;
        let scope = fact_store.scope_of(path)?;
        let known = fact_store.book(&scope).ok();
        let left = after.map(FactsFile::read).unwrap_or_default();
        let mut values = BTreeSet::new();
        let mut add = |namespace: &str, key: &str, text: String| {
            values.insert((namespace.to_owned(), key.to_owned(), text));
        };
        for fact in FactsFile::read(before).facts() {
            let (namespace, key) = fact.name();
            let stays = left.get(namespace, key);
            let goes = |text: &String| stays.is_none_or(|left| left.text != *text && !left.retracted.contains(text));
            said_by(fact).filter(goes).for_each(|text| add(namespace, key, text));
            for book in known.iter().filter(|_| stays.is_none()) {
                ever(book, namespace, key).for_each(|text| add(namespace, key, text));
            }
        }
        for book in known.iter().filter(|_| after.is_none()) {
            for (namespace, key) in book.history.names() {
                ever(book, namespace, key).for_each(|text| add(namespace, key, text));
            }
        }
        (!values.is_empty()).then_some(Self { scope, values })
    }

    /// Whether a value that a line of the history names is one of them.
    fn means(&self, change: &FactChange, text: &str) -> bool {
        self.values.contains(&(change.namespace.clone(), change.key.clone(), text.to_owned()))
    }

    /// Their memory scope, and each with its name.
    pub(super) fn named(&self) -> (String, Vec<(String, &str)>) {
        let named = self.values.iter();
        let named = named.map(|(namespace, key, value)| (full_name(namespace, key), value.as_str()));
        (self.scope.to_string(), named.collect())
    }
}

/// Refuses to purge `lines` of a history: other lines have the same values, and what is there next names them.
///
/// # Errors
/// When one of the lines is of a fact.
fn check_history(owner: &Owner, path: &VaultPath, lines: &[String]) -> Result<(), RequestError> {
    let fact_store = &owner.workspace().fact_store;
    let Some(facts) = fact_store.facts_of_history(path) else { return Ok(()) };
    let history = FactsHistory::read(&lines.join("\n"));
    let Some(name) = history.names().map(|(namespace, key)| full_name(namespace, key)).next() else { return Ok(()) };
    let scope = fact_store.scope_of(&facts).filter(|scope| *scope != MemoryScope::User);
    let scope = scope.map(|scope| format!(" --scope {scope}")).unwrap_or_default();
    let message = format!("`{path}` has values of `{name}` on other lines too; one line alone cannot be purged");
    let hint = format!("purge the fact with all its values: `vault forget fact:{name}{scope} --purge`");
    Err(RequestError::invalid(message).hint(hint))
}

/// What a line says of a fact, as it is written: its value, and those that are struck out.
fn said_by(fact: &Fact) -> impl Iterator<Item = String> {
    fact.retracted.iter().chain([&fact.text]).filter(|text| !text.is_empty()).cloned()
}

/// What a fact ever was, by its history.
fn ever(book: &FactsSnapshot, namespace: &str, key: &str) -> impl Iterator<Item = String> {
    let changes = book.history.of(namespace, key);
    changes.flat_map(|change| change.old.iter().chain(&change.new).cloned())
}

/// Whether a note's frontmatter has a title that is words of what was removed.
fn title_says(note: &Note, removed: &[String]) -> bool {
    let title = note.metadata.get("title").and_then(Value::as_str).map(plain).unwrap_or_default();
    !title.is_empty() && removed.iter().any(|text| plain(text).contains(&title))
}

fn retitled(path: &VaultPath, text: &str, removed: &[String]) -> Option<String> {
    let note = Note::parse(text, path.stem());
    let of = |key: &str| note.metadata.get(key).and_then(Value::as_str);
    let session = of("session").filter(|_| of("source") == Some("capture") && title_says(&note, removed))?;
    let new = with_property(text, "title", &format!("Conversation {session}").into())?;
    (!title_says(&Note::parse(&new, path.stem()), removed)).then_some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_not_called_by_what_was_removed_of_it() {
        let path = VaultPath::new("conversations/a.md").unwrap();
        let text = |title: &str| {
            format!("---\ntitle: {title}\nsource: capture\nsession: \"s: 1\"\ntags:\n- x\n---\n\n**10:00 · a:** Bye\n")
        };
        let removed = vec!["**09:59 · a:** The code of the garage is 4711, and so on.".to_owned()];
        let retitled = |text: &str| super::retitled(&path, text, &removed);
        assert_eq!(retitled(&text("\"The code of the garage is 4711\"")).unwrap(), text("'Conversation s: 1'"));
        assert_eq!(retitled(&text("Garages")), None);
        assert_eq!(retitled(&text(">-\n  The code of\n  the garage")), None, "it is told, and left alone");
        assert_eq!(retitled(&text("The code of the garage").replace("source: capture", "source: me")), None);
    }
}
