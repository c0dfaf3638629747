//! Removes a chunk or a note, so that it can be undone, or with `purge` so that it cannot: what is meant, what was made of it (remarks,
//! summaries, entries of memory, facts, generated pages), and what of that goes with it.

use std::collections::{BTreeSet, HashMap, HashSet};

use blake3::Hash;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::annotations::{ANNOTATIONS, annotations};
use super::purge::{NewTombstone, Purge, TellingWords, lift, swept_traces};
use super::removal::{LineSpan, Removal, is_generated, whole_texts};
use crate::access::request::{ErrorKind, Owner, ReadScope, RequestError, Workspace, note_path};
use crate::base::path::VaultPath;
use crate::memory::generated_files::{generated_of, generated_pages};
use crate::serve::wire::{DerivedNote, ForgetParams, Forgotten};
use crate::text::derive::entries::{EntryFileKind, MemoryEntry, shelf_of, traced};
use crate::text::derive::facts::{FactChange, FactsFile, full_name};
use crate::text::derive::{ChunkId, is_a_text, plain};
use crate::text::note::{Note, summary_of};
use crate::vault::disk::{WriteError, conflict_copy};
use crate::vault::forgotten::{TextPart, parts_of};

/// How often what was learned from events is looked for: what went with them may be said in events, too.
const TOLD_ROUNDS: usize = 2;

/// Removes a chunk, lines or a whole note. Returns when none of it can be found.
///
/// # Errors
/// When a parameter makes no sense, there is no such chunk or note, it has changed since, or the disk refuses.
pub fn forget(owner: &Owner, params: &ForgetParams) -> Result<Forgotten, RequestError> {
    let workspace = owner.workspace();
    let one = (!params.dry_run).then(|| workspace.files().map(|files| files.one_generation())).transpose()?;
    let mut root = Removal::asked(owner, params)?;
    let seen = root.hash.map(|hash| ChunkId::of_note(&root.path, hash.as_bytes()).to_string());
    let mut forgotten = Forgotten {
        ok: true,
        path: root.path.to_string(),
        whole: root.left.is_none(),
        content: if params.dry_run { root.removed.join("\n\n") } else { String::new() },
        seen: seen.unwrap_or_default(),
        searchable: true,
        ..Forgotten::default()
    };
    // Of a fact that has no value any more nothing was made.
    let is_there = root.hash.is_some() || root.left.is_none();
    let made = is_there.then(|| made_of(owner, &root, params.purge)).transpose()?;
    let (mut steps, other_copies) = made.unwrap_or_default();
    let told =
        |steps: Vec<ForgetStep>| steps.into_iter().filter(|step| !step.is_page).map(|step| step.derived).collect();
    if params.dry_run {
        forgotten.derived = told(steps);
        return Ok(forgotten);
    }
    let summary = root.left.as_deref().and_then(summary_of).filter(|_| params.derived);
    let summary = summary.map(|summary| root.add_summary(summary));
    for derived in steps.iter_mut().map(|step| &mut step.derived).filter(|derived| derived.summary) {
        derived.gone = summary == Some(true);
        derived.kept_because = (summary == Some(false)).then(|| "its lines are too complex; edit it yourself".into());
    }
    if params.derived && root.lines.is_some() {
        keep_of_other_lines(owner, &root.removed, &mut steps);
    }
    for step in steps.iter_mut().filter(|step| !step.derived.summary) {
        let is_meant = params.derived && step.derived.kept_because.is_none();
        if step.is_copy || is_meant || is_only_generated(owner, &step.derived) {
            step.plan(owner, &root, params.purge);
        }
    }
    add_pages(owner, &root, &mut steps, params.purge)?;
    if !params.purge {
        let (checkpoint, _) = root.remove(owner, false, || ())?;
        forgotten.checkpoint_id = checkpoint.map(|id| id.to_string());
        for step in steps.iter_mut().filter(|step| step.goes()) {
            let removed = Removal::again(owner, step, false).and_then(|removal| {
                let (checkpoint, _) = removal.remove(owner, false, || ())?;
                workspace.settled_in_time(&removal.path);
                Ok(checkpoint.map(|id| id.to_string()))
            });
            step.tell(removed);
        }
        forgotten.searchable = workspace.settled_in_time(&root.path).is_some();
        forgotten.derived = told(steps);
        return Ok(forgotten);
    }
    root.retitle();
    let remembered = NewTombstone::of(owner, &root, None)?;
    // What is still said: of what was made of it no more is forgotten than nobody else says.
    let staying = staying(owner, &root, &steps, params.derived)?;
    steps.iter_mut().for_each(|step| step.leave_out(&staying));
    add_learned(owner, &root, &remembered, &mut steps, &staying)?;

    let mut purge = Purge::begin(owner, &root, &remembered, &mut steps)?;
    purge.take(&root, remembered)?;
    purge.count_commits(&root.path);
    if steps.is_empty() && root.hash.is_none() && root.left.is_none() && root.facts.is_none() {
        purge.clear();
        if purge.is_of_nothing() {
            return Err(WriteError::Gone(root.path.clone()).into());
        }
    }
    let mut changed = Vec::new();
    for step in steps.iter_mut().filter(|step| step.goes()) {
        let taken = Removal::again(owner, step, true).and_then(|removal| {
            let remembered = step.remembered.take();
            purge.take(&removal, remembered.map_or_else(|| NewTombstone::of(owner, &removal, None), Ok)?)?;
            changed.push(removal.path);
            Ok(None)
        });
        if taken.is_err() {
            lift(workspace, step.tombstone);
        }
        step.tell(taken);
    }
    purge.clear();
    for path in &changed {
        workspace.settled_in_time(path);
    }
    forgotten.searchable = workspace.settled_in_time(&root.path).is_some();
    purge.look_for_remains(&root, &other_copies);
    // Who makes something waits for that with the index as it was in hand.
    drop(one);
    purge.erase(forgotten.searchable);
    forgotten.purged = Some(std::mem::take(&mut purge.view));
    forgotten.derived = told(steps);
    Ok(forgotten)
}

/// What was made of something that goes, the copies with its very bytes among it, and its other copies.
fn made_of(owner: &Owner, root: &Removal, purge: bool) -> Result<(Vec<ForgetStep>, Vec<VaultPath>), RequestError> {
    let mut listed = notes_of(&owner.now()?, root.place())?;
    listed.extend(entries_of(owner, root.place(), &root.removed));
    listed.extend(learned_from(owner, root.place(), purge));
    let summary = root.left.as_deref().and_then(summary_of);
    listed.extend(summary.iter().map(|_| DerivedNote { summary: true, ..derived(root.path.to_string()) }));
    let mut steps: Vec<ForgetStep> = listed.into_iter().map(ForgetStep::of).collect();
    let Some(hash) = root.hash.filter(|_| purge) else { return Ok((steps, Vec::new())) };
    let (copies, other_copies) = copies_of(owner, &root.path, &hash)?;
    steps.extend(copies.into_iter().map(|copy| ForgetStep { is_copy: true, ..ForgetStep::of(copy) }));
    Ok((steps, other_copies))
}

/// Whether something is a note that the program has generated and nobody has edited: it is nobody's, and is made anew of what is left.
fn is_only_generated(owner: &Owner, derived: &DerivedNote) -> bool {
    let path = note_path(&derived.path).ok().filter(|path| !path.is_document() && derived.fact.is_none());
    let source = path.and_then(|path| owner.workspace().source(&path).ok());
    source.is_some_and(|source| is_generated(&source.text))
}

/// Adds the generated pages that were made of what goes, and of those in turn.
fn add_pages(owner: &Owner, root: &Removal, steps: &mut Vec<ForgetStep>, purge: bool) -> Result<(), RequestError> {
    let (scope, mut at) = (owner.now()?, 0);
    while let Some(step) = steps.get(at) {
        at += 1;
        let Some(removal) = &step.removal else { continue };
        let mut pages = notes_of(&scope, removal.place())?;
        pages.retain(|page| {
            let is_step = |step: &ForgetStep| step.goes() && step.derived.path == page.path;
            !root.path.same_as(&page.path) && !steps.iter().any(is_step) && is_only_generated(owner, page)
        });
        let planned = |page| {
            let mut step = ForgetStep { is_page: true, ..ForgetStep::of(page) };
            step.plan(owner, removal, purge);
            step
        };
        let pages: Vec<ForgetStep> = pages.into_iter().map(planned).collect();
        steps.extend(pages);
    }
    Ok(())
}

/// Adds the entries that were learned from events of which something goes.
fn add_learned(
    owner: &Owner,
    root: &Removal,
    remembered: &NewTombstone,
    steps: &mut Vec<ForgetStep>,
    staying: &HashSet<TextPart>,
) -> Result<(), RequestError> {
    for _ in 0..TOLD_ROUNDS {
        let of_steps = steps.iter().filter_map(|step| step.remembered.as_ref());
        let gone: Vec<&NewTombstone> = std::iter::once(remembered).chain(of_steps).collect();
        let mut is_over = true;
        for path in learned_from_told(owner, &gone)? {
            let at = steps.iter().position(|step| step.derived.path == path).unwrap_or_else(|| {
                steps.push(ForgetStep::of(derived(path)));
                steps.len() - 1
            });
            let step = &mut steps[at];
            if !step.goes() && step.derived.kept_because.is_none() {
                step.plan(owner, root, true);
                step.leave_out(staying);
                is_over = false;
            }
        }
        if is_over {
            break;
        }
        add_pages(owner, root, steps, true)?;
    }
    Ok(())
}

/// What of that which goes with a note is said by what stays: by the rest of the note, and with `all` by any other note.
///
/// # Errors
/// When the index is not open yet.
fn staying(owner: &Owner, root: &Removal, steps: &[ForgetStep], all: bool) -> Result<HashSet<TextPart>, RequestError> {
    let wanted = steps.iter().filter_map(|step| step.remembered.as_ref());
    let wanted: HashSet<&TextPart> = wanted.flat_map(|remembered| &remembered.parts).collect();
    let mut staying: HashSet<TextPart> = HashSet::new();
    let mut stays = |path: &VaultPath, left: &str| {
        let mut texts = whole_texts(path, left);
        if owner.workspace().fact_store.scope_of(path).is_some() {
            texts.extend(FactsFile::read(left).facts().map(|fact| fact.text.clone()));
        }
        staying.extend(parts_of(&texts).into_iter().filter(|part| wanted.contains(part)));
    };
    stays(&root.path, root.left.as_deref().unwrap_or_default());
    if !all || wanted.is_empty() {
        return Ok(staying);
    }
    let mut of_files: HashMap<&VaultPath, Vec<&Removal>> = HashMap::new();
    for removal in steps.iter().filter_map(|step| step.removal.as_ref()) {
        of_files.entry(&removal.path).or_default().push(removal);
    }
    for file in owner.now()?.files().filter(|file| file.path != root.path) {
        // One that is not there stays with nobody.
        let Ok(source) = owner.workspace().source(&file.path) else { continue };
        let goes = |line: usize| of_files.get(&file.path).is_some_and(|all| all.iter().any(|one| one.has(line)));
        let lines = source.text.split_inclusive('\n').enumerate().filter(|(at, _)| !goes(at + 1));
        stays(&file.path, &lines.map(|(_, line)| line).collect::<String>());
    }
    Ok(staying)
}

/// A note, and the lines of it, if not all, of which something may have been made.
pub(super) type SourceLines<'a> = (&'a VaultPath, Option<LineSpan>);

/// Something that was made of a note. Where it goes with the note it is a step of the journal, which is written before anything goes.
#[derive(Default, Serialize, Deserialize)]
pub(super) struct ForgetStep {
    pub(super) derived: DerivedNote,
    /// Whether it is a copy, of which the same lines go.
    #[serde(default)]
    pub(super) is_copy: bool,
    /// Digest of what goes of it, as that was then.
    pub(super) seen: Option<String>,
    /// What lifts what was remembered of it.
    #[serde(default)]
    pub(super) tombstone: Option<i64>,
    /// What it was made of and goes with; `None` where it stays.
    #[serde(skip)]
    pub(super) made_of: Option<(VaultPath, Option<LineSpan>)>,
    /// As it is now; `None` where it cannot go.
    #[serde(skip)]
    pub(super) removal: Option<Removal>,
    /// What is remembered of it, if it goes for good.
    #[serde(skip)]
    pub(super) remembered: Option<NewTombstone>,
    /// Whether it is a page that was made of something that goes, which nobody is told of.
    #[serde(skip)]
    is_page: bool,
}

impl ForgetStep {
    /// Something that is there, and stays until it is [planned](Self::plan).
    fn of(derived: DerivedNote) -> Self {
        Self { derived, ..Self::default() }
    }

    /// Has it go with what it was made of; a copy where it has the very bytes of its file.
    fn plan(&mut self, owner: &Owner, made_of: &Removal, purge: bool) {
        self.made_of = Some((made_of.path.clone(), made_of.lines));
        let removal = Removal::of(owner, self, purge).ok();
        self.removal = removal.filter(|removal| !self.is_copy || removal.hash == made_of.hash);
        self.seen = self.removal.as_ref().and_then(Removal::digest);
        let remembered = self.removal.as_ref().filter(|_| purge);
        self.remembered = remembered.and_then(|removal| NewTombstone::of(owner, removal, self.place()).ok());
    }

    /// Remembers nothing of it that stays elsewhere.
    fn leave_out(&mut self, staying: &HashSet<TextPart>) {
        self.remembered.iter_mut().for_each(|remembered| remembered.parts.retain(|part| !staying.contains(part)));
    }

    /// Whether it goes.
    pub(super) fn goes(&self) -> bool {
        self.made_of.is_some()
    }

    /// What it was made of, if it goes.
    pub(super) fn place(&self) -> Option<SourceLines<'_>> {
        self.made_of.as_ref().map(|(path, lines)| (path, *lines))
    }

    /// Notes what became of it.
    fn tell(&mut self, result: Result<Option<String>, RequestError>) {
        let derived = &mut self.derived;
        match result {
            Ok(checkpoint) => (derived.gone, derived.checkpoint_id) = (true, checkpoint),
            // Who keeps summaries may have taken it away just before.
            Err(error) if error.kind == ErrorKind::NotFound => derived.gone = true,
            Err(error) => derived.kept_because = Some(error.message),
        }
    }
}

/// Why an entry stays that names lines which say nothing of it.
const OTHER_LINES: &str = "the lines that it cites may have changed; check it, and remove it yourself";

/// Keeps the entries of memory that say nothing of what is removed: the lines that they cite may be others by now.
fn keep_of_other_lines(owner: &Owner, removed: &[String], steps: &mut [ForgetStep]) {
    let tells = TellingWords::of(removed);
    let says_other = |place: &str| {
        let (path, id) = place.split_once("#^")?;
        let (holder, shelf) = shelf_of(&note_path(path).ok()?)?;
        let book = owner.workspace().entry_store.book(&holder, shelf).ok()?;
        book.get(id).map(|entry| !tells.are_in(&entry.text))
    };
    for ForgetStep { derived, .. } in steps {
        if says_other(&derived.path) == Some(true) {
            derived.kept_because = Some(OTHER_LINES.into());
        }
    }
}

/// Something that was made of what goes, and is there.
fn derived(path: String) -> DerivedNote {
    DerivedNote { path, ..DerivedNote::default() }
}

/// The notes whose frontmatter names a place (`annotates`, `sources`), in the order of their paths: of lines, remarks on them, and what cites
/// them or the whole note. One that was generated a moment ago, and that the index does not know yet, is among them.
///
/// # Errors
/// When the index is damaged, or the disk refuses.
fn notes_of(scope: &ReadScope, (path, lines): SourceLines<'_>) -> Result<Vec<DerivedNote>, RequestError> {
    let workspace = scope.workspace();
    let mut found: BTreeSet<String> = BTreeSet::new();
    for file in scope.files().filter(|file| file.sources.iter().any(|source| source == path.as_str())) {
        let is_remark = lines.is_some() && file.path.collection() == ANNOTATIONS;
        // Of files of entries each entry has its own sources.
        if file.path == *path || is_remark || shelf_of(&file.path).is_some() {
            continue;
        }
        let metadata = scope.reader().metadata(file.id).map_err(|error| workspace.damaged(error))?;
        let metadata: Value = metadata.as_deref().and_then(|json| serde_json::from_str(json).ok()).unwrap_or_default();
        let mut cited = Vec::new();
        citations(&metadata, path.as_str(), &mut cited);
        if cited.is_empty() || cited.iter().any(|cited| cited.is_none_or(|cited| meet(cited, lines))) {
            found.insert(file.path.to_string());
        }
    }
    if lines.is_some() {
        let remarks = annotations(scope, path.as_str())?.into_iter().filter(|remark| remark.source == path.as_str());
        let on_them = remarks.filter(|remark| meet((remark.line_start as usize, remark.line_end as usize), lines));
        found.extend(on_them.map(|remark| remark.path));
    }
    let mut found: Vec<String> = found.into_iter().collect();
    let files = workspace.files()?;
    let is_indexed =
        |page: &VaultPath| scope.reader().files().at(page.as_str()).is_some_and(|file| workspace.has_stamp(file));
    for page in generated_pages(workspace.home.root()) {
        let is_known = page == *path || found.iter().any(|known| page.same_as(known)) || is_indexed(&page);
        // One that cannot be read is in nobody's way.
        if !is_known && matches!(files.read(&page), Ok(Some((bytes, _))) if generated_of(&bytes, path)) {
            found.push(page.to_string());
        }
    }
    Ok(found.into_iter().map(derived).collect())
}

/// The entries of all memories that `is_meant` takes, each as `memories/user.md#^e-7f3a2b9c`, but for those of one file.
fn entries(workspace: &Workspace, but: Option<&VaultPath>, is_meant: impl Fn(&MemoryEntry) -> bool) -> Vec<String> {
    let entry_store = &workspace.entry_store;
    let mut found = Vec::new();
    for holder in entry_store.holders() {
        for shelf in EntryFileKind::ALL {
            // A file that cannot be read says so where it is asked for.
            let Ok(book) = entry_store.book(&holder, shelf) else { continue };
            if Some(&book.path) != but {
                let meant = book.entries.iter().filter(|entry| is_meant(entry));
                found.extend(meant.map(|entry| format!("{}#^{}", book.path, entry.id)));
            }
        }
    }
    found
}

/// The entries that were learned at a place, or say in its own words what is removed, wherever they are from.
fn entries_of(owner: &Owner, (path, lines): SourceLines<'_>, removed: &[String]) -> Vec<DerivedNote> {
    let removed: Vec<String> = removed.iter().map(|text| format!(" {} ", plain(text))).collect();
    let says = |entry: &MemoryEntry| {
        let words = plain(&entry.text);
        is_a_text(&words) && removed.iter().any(|text| text.contains(&format!(" {words} ")))
    };
    let may_be_of =
        |source: &String| named_by(source, path.as_str()).is_some_and(|of| of.is_none_or(|of| meet(of, lines)));
    let found = entries(owner.workspace(), Some(path), |entry| entry.sources.iter().any(may_be_of) || says(entry));
    found.into_iter().map(derived).collect()
}

/// The entries that were learned from events of agents' traces which say what is gone: by what the events say alone it is known which they are.
///
/// # Errors
/// When the traces cannot be read.
fn learned_from_told(owner: &Owner, gone: &[&NewTombstone]) -> Result<Vec<String>, RequestError> {
    let is_learned = |entry: &MemoryEntry| entry.sources.iter().any(|source| traced(source).is_some());
    if entries(owner.workspace(), None, is_learned).is_empty() {
        return Ok(Vec::new());
    }
    let told = swept_traces(owner, gone, false)?.of;
    let is_told = |source: &String| traced(source).is_some_and(|(agent, id)| told.contains(&(agent.to_owned(), id)));
    Ok(entries(owner.workspace(), None, |entry| entry.sources.iter().any(is_told)))
}

/// Whether a source, as `notes/api.md#L12`, is in a note, and among its lines where some are named: one that names no lines is then none of
/// theirs, for the note that it names stays.
pub(super) fn is_of(source: &str, path: &VaultPath, lines: Option<LineSpan>) -> bool {
    named_by(source, path.as_str()).is_some_and(|named| named.map_or(lines.is_none(), |named| meet(named, lines)))
}

fn meet((first, last): LineSpan, lines: Option<LineSpan>) -> bool {
    lines.is_none_or(|(from, to)| first <= to && from <= last)
}

/// The lines of a note that a citation names; `Some(None)` for all of it, `None` where it is of another.
fn named_by(citation: &str, path: &str) -> Option<Option<LineSpan>> {
    let text = citation.trim();
    let text = text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]")).unwrap_or(text);
    let text = text.split_once('|').map_or(text, |(target, _)| target);
    let text = text.strip_prefix("vault://").unwrap_or(text);
    let (named, lines) = text.split_once('#').map_or((text, None), |(named, lines)| (named, Some(lines)));
    (named == path || path.strip_suffix(".md") == Some(named)).then(|| lines.and_then(lines_of))
}

/// The lines that citations of a note name, wherever they stand in a value; none for one of the whole note.
fn citations(value: &Value, path: &str, found: &mut Vec<Option<LineSpan>>) {
    match value {
        Value::String(text) => found.extend(named_by(text, path)),
        Value::Array(items) => items.iter().for_each(|item| citations(item, path, found)),
        Value::Object(map) => map.values().for_each(|value| citations(value, path, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// `L3` or `L3-L5`.
fn lines_of(text: &str) -> Option<(usize, usize)> {
    let line = |text: &str| text.strip_prefix('L').unwrap_or(text).parse().ok();
    match text.split_once('-') {
        Some((first, last)) => line(first).zip(line(last)),
        None => line(text).map(|line| (line, line)),
    }
}

/// The facts whose value is from there; with `purge` those that ever had one from there. In the order of their files.
fn learned_from(owner: &Owner, (path, lines): SourceLines<'_>, purge: bool) -> Vec<DerivedNote> {
    let fact_store = &owner.workspace().fact_store;
    let is_meant = |change: &FactChange| change.source.as_deref().is_some_and(|source| is_of(source, path, lines));
    let mut found = Vec::new();
    // What was edited by hand and is not noted yet is from nowhere.
    if let Ok(files) = owner.workspace().files() {
        for scope in fact_store.scopes() {
            if let Err(error) = fact_store.notice(files, &scope) {
                tracing::warn!("the history of the facts of `{scope}` does not follow: {error}");
            }
        }
    }
    // A file that cannot be read is none of which facts are known.
    for book in
        fact_store.scopes().iter().filter_map(|scope| fact_store.book(scope).ok()).filter(|book| book.path != *path)
    {
        for (namespace, key) in book.history.names() {
            let mut changes = book.history.of(namespace, key);
            let is_learned = match purge {
                true => changes.any(is_meant),
                false => {
                    let said = book.facts.get(namespace, key).is_some_and(|fact| !fact.text.is_empty());
                    said && changes.rfind(|change| change.kind.is_said()).is_some_and(is_meant)
                }
            };
            if is_learned {
                let fact = Some(full_name(namespace, key));
                found.push(DerivedNote { fact, ..derived(book.path.to_string()) });
            }
        }
    }
    found
}

/// The copies of a note: those that have its very bytes, and the others.
///
/// # Errors
/// When the index is not open yet.
fn copies_of(owner: &Owner, path: &VaultPath, hash: &Hash) -> Result<(Vec<DerivedNote>, Vec<VaultPath>), RequestError> {
    let scope = owner.now()?;
    let files = scope.reader().files();
    let is_copy = |copy: &VaultPath| {
        let of = conflict_copy(copy, |path| files.at(path).is_some());
        of.is_some_and(|(of, _)| path.same_as(&of))
    };
    let copies = files.iter().filter(|file| is_copy(&file.path));
    let (same, other): (Vec<_>, Vec<_>) = copies.partition(|file| file.hash == *hash.as_bytes());
    let same = same.into_iter().map(|file| derived(file.path.to_string())).collect();
    Ok((same, other.into_iter().map(|file| file.path.clone()).collect()))
}

/// What the lines of a generated page say that cite what goes, without what they cite. The others were made of what stays.
pub(super) fn citing(page: &VaultPath, text: &str, place: SourceLines<'_>) -> Vec<String> {
    let body = Note::parse(text, page.stem()).body;
    text[body].lines().filter_map(|line| said_of(line, place)).collect()
}

/// What a line says, if it cites what goes: `- Buy rye (conversations/a.md#L3)`, `- Likes tea. ^[notes/a.md#L7]`.
fn said_of(line: &str, (path, lines): SourceLines<'_>) -> Option<String> {
    let cites = |at: &usize| {
        let rest = &line[at + path.as_str().len()..];
        let end = rest.find([')', ']', ',', ';', ' ']).unwrap_or(rest.len());
        is_of(&format!("{path}{}", &rest[..end]), path, lines)
    };
    let at = line.match_indices(path.as_str()).map(|(at, _)| at).find(cites)?;
    let before = &line[..at];
    let end = before.find(" ^[").or_else(|| before.rfind(" (")).unwrap_or(at);
    Some(line[..end].trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn citations_name_lines_or_the_whole_note() {
        let of = |value: Value| {
            let mut found = Vec::new();
            citations(&value, "notes/a.md", &mut found);
            found
        };
        let cited =
            json!({ "sources": ["notes/a.md#L3-L5", "[[notes/a#L7|x]]", "notes/b.md#L1", { "path": "notes/a.md" }] });
        assert_eq!(of(cited), [Some((3, 5)), Some((7, 7)), None]);
        assert_eq!(of(json!({ "sources": "notes/a.md#heading" })), [None]);
    }

    #[test]
    fn what_cites_all_of_a_note_is_of_none_of_its_lines() {
        let path = VaultPath::new("notes/a.md").unwrap();
        for (source, of_line, of_note) in [
            ("notes/a.md", false, true),
            ("notes/a.md#heading", false, true),
            ("notes/a.md#L3-L5", true, true),
            ("notes/a.md#L6", false, true),
            ("notes/b.md#L4", false, false),
        ] {
            assert_eq!(is_of(source, &path, Some((4, 4))), of_line, "{source}");
            assert_eq!(is_of(source, &path, None), of_note, "{source}");
        }
    }

    #[test]
    fn of_a_page_what_cites_what_goes_is_remembered() {
        let page = VaultPath::new("summaries/a.md").unwrap();
        let path = VaultPath::new("conversations/my talk.md").unwrap();
        let text = "---\ngenerated: true\n---\n\n## In short\n\n- Buy rye (conversations/my talk.md#L3)\n- Bake (it) (conversations/b.md#L3, \
                    conversations/my talk.md#L7-L9)\n- Likes tea. ^[memories/user.md#^e-1] ^[conversations/my talk.md#L3]\n- Other (conversations/my talk.md)\n";
        assert_eq!(citing(&page, text, (&path, Some((3, 3)))), ["- Buy rye", "- Likes tea."]);
        assert_eq!(citing(&page, text, (&path, Some((8, 8)))), ["- Bake (it)"]);
        assert_eq!(citing(&page, text, (&path, None)), ["- Buy rye", "- Bake (it)", "- Likes tea.", "- Other"]);
    }
}
