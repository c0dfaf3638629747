//! Entries, the working memory: look them up, add and change them, propose, and decide about proposals.
//!
//! What the person adds counts at once, what an agent adds waits, and the rest is the person's alone, as is the queue of what waits: what it
//! has, beside what is known, and what is decided.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::access::request::{
    MeaningAlike, MemoryWriter, Owner, RequestError, Viewer, Visibility, Workspace, limit, source_place, tags, text,
    trust_of_place, validity, within,
};
use crate::access::rules::Scope;
use crate::base::config::{MemoryKind, MemoryScope};
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::memory::items::{Acceptance, EntriesSnapshot, EntryWriter, REMOVED, entries_path};
use crate::serve::wire::{
    EntriesParams, EntriesRewriteParams, EntriesRewritten, EntriesView, EntryAddParams, EntryAdded, EntryChanged,
    EntryEditParams, EntryRemoveParams, EntryState, EntryView, ProposalView, ReviewDecisions, ReviewParams, ReviewView,
    Reviewed, Skipped, SourceQuote, citation, split_lines,
};
use crate::text::derive::entries::{
    EntryEdit, EntryFileKind, EntryStatus, MAX_ENTRY_BYTES, MemoryEntry, TrustLevel, Verdict, made_id, one_line,
    source_path, traced,
};
use crate::text::derive::facts::{Validity, has_tag};
use crate::text::note::Note;
use crate::vault::disk::{Action, CheckpointId, WriteError, is_folder_name};

/// Entries when nobody says how many.
const ENTRIES: usize = 200;

/// The entries that are asked for, as far as they are seen.
///
/// # Errors
/// When a parameter makes no sense, or a file cannot be read.
pub(crate) fn entries(viewer: &Viewer, params: &EntriesParams) -> Result<EntriesView, RequestError> {
    let found = found(viewer, params);
    let given = found.as_ref().map(|found| found.entries.iter().map(|entry| entry.citation.clone()).collect());
    viewer.log("entries", params.tag.as_deref().unwrap_or_default(), given.unwrap_or_default());
    found
}

fn found(viewer: &Viewer, params: &EntriesParams) -> Result<EntriesView, RequestError> {
    let limit = limit(params.limit, ENTRIES)?;
    let status = params.status.unwrap_or(EntryState::Active);
    let shelf = match status {
        EntryState::Active | EntryState::Superseded => EntryFileKind::Known,
        EntryState::Pending => EntryFileKind::Pending,
        EntryState::Rejected | EntryState::Archived => EntryFileKind::Archive,
    };
    let mut holders = Vec::new();
    match (params.agent.as_deref(), viewer.agent()) {
        (Some(named), Some(own)) if named != own => {}
        (Some(named), _) => holders.push(holder_named(viewer, Some(named))?),
        (None, Some(own)) => holders.extend([MemoryScope::Agent(own.to_owned()), MemoryScope::User]),
        (None, None) => holders.push(MemoryScope::User),
    }
    let visibility = Visibility::of(viewer)?;
    let limit = visibility.given.results(limit);
    let mut room = visibility.given.room();
    let mut found = EntriesView::default();
    let now = viewer.at().as_millisecond();
    'holders: for holder in &holders {
        // What waits is inert: nobody but the person sees it.
        if visibility.is_agents() && shelf != EntryFileKind::Known {
            continue;
        }
        let Some(book) = book(&visibility, holder, shelf)? else { continue };
        if !visibility.is_agents() {
            found.problems.extend(problems_of(viewer.workspace(), shelf, &book).map(|(line, message)| {
                let line = line.map(|line| format!(":{line}")).unwrap_or_default();
                format!("{}{line}: {message}", book.path)
            }));
        }
        let waiting = match shelf {
            EntryFileKind::Pending => viewer.workspace().entry_store.waiting(holder)?,
            EntryFileKind::Known | EntryFileKind::Archive => Vec::new(),
        };
        let all = if shelf == EntryFileKind::Pending { waiting.as_slice() } else { &book.entries };
        for entry in all {
            visibility.given.go_on()?;
            let is_meant = state_of(&entry.status) == status
                && params.kind.is_none_or(|kind| kind == entry.kind)
                && params.tag.as_deref().is_none_or(|tag| has_tag(&entry.tags, tag));
            // What is over is of no use to an agent.
            let is_over = visibility.is_agents() && status == EntryState::Active && !entry.counts_at(now);
            if !is_meant || is_over || !visibility.sees_derived(&entry.sources) {
                continue;
            }
            let said = entry.tags.iter().chain(&entry.sources).chain([&entry.text]);
            let chars = said.map(|text| text.chars().count()).sum::<usize>();
            if found.entries.len() >= limit || !room.take(chars) {
                found.cut = true;
                break 'holders;
            }
            let mut view = view(holder, &book, entry);
            if visibility.is_agents()
                && view
                    .superseded_by
                    .as_ref()
                    .is_some_and(|id| !book.get(id).is_some_and(|winner| visibility.sees_derived(&winner.sources)))
            {
                view.superseded_by = None;
            }
            found.entries.push(view);
        }
    }
    if !visibility.is_agents() {
        let holders = viewer.workspace().entry_store.holders().into_iter();
        found.agents = holders
            .filter_map(|holder| match holder {
                MemoryScope::Agent(slug) => Some(slug),
                _ => None,
            })
            .collect();
    }
    Ok(found)
}

/// How many entries of an agent's count now, as far as they are seen.
///
/// # Errors
/// When a file cannot be read.
pub(crate) fn count(viewer: &Viewer, slug: &str) -> Result<usize, RequestError> {
    let visibility = Visibility::of(viewer)?;
    let Some(book) = book(&visibility, &MemoryScope::Agent(slug.to_owned()), EntryFileKind::Known)? else {
        return Ok(0);
    };
    let now = viewer.at().as_millisecond();
    Ok(book.entries.iter().filter(|entry| entry.counts_at(now) && visibility.sees_derived(&entry.sources)).count())
}

fn state_of(status: &EntryStatus) -> EntryState {
    match status {
        EntryStatus::Pending => EntryState::Pending,
        EntryStatus::Active => EntryState::Active,
        EntryStatus::Superseded(_) => EntryState::Superseded,
        EntryStatus::Rejected(_) => EntryState::Rejected,
        EntryStatus::Archived => EntryState::Archived,
    }
}

/// An entry of a file.
fn view(holder: &MemoryScope, book: &EntriesSnapshot, entry: &MemoryEntry) -> EntryView {
    let (superseded_by, reason) = match &entry.status {
        EntryStatus::Superseded(id) => (Some(id.clone()), None),
        EntryStatus::Rejected(reason) => (None, Some(reason.clone())),
        _ => (None, None),
    };
    EntryView {
        id: entry.id.clone(),
        kind: entry.kind,
        text: entry.text.clone(),
        confidence: entry.confidence,
        tags: entry.tags.clone(),
        from: entry.window.from.as_ref().map(|from| from.text.clone()),
        until: entry.window.until.as_ref().map(|until| until.text.clone()),
        sources: entry.sources.clone(),
        evidence: entry.sources.iter().filter_map(|source| Some(traced(source)?.1)).collect(),
        status: state_of(&entry.status),
        superseded_by,
        reason,
        trust: entry.trust.word().to_owned(),
        agent: match holder {
            MemoryScope::Agent(slug) => Some(slug.clone()),
            _ => None,
        },
        citation: citation(book.path.as_str(), entry.line_start as u32, entry.line_end as u32),
    }
}

/// A file of entries, where it is seen by itself: an agent sees it as it is in the index, and none of what waits.
fn book(
    visibility: &Visibility,
    holder: &MemoryScope,
    shelf: EntryFileKind,
) -> Result<Option<Arc<EntriesSnapshot>>, RequestError> {
    let entry_store = &visibility.viewer.workspace().entry_store;
    if !visibility.is_agents() {
        return Ok(Some(entry_store.book(holder, shelf)?));
    }
    let path = entries_path(holder, shelf).ok();
    let Some(file) = path.and_then(|path| visibility.file_by_itself(path.as_str())) else { return Ok(None) };
    // What cannot be read, or has changed since, is not told from what is not there.
    Ok(entry_store.book(holder, shelf).ok().filter(|book| Some(file.stamp) == book.stamp))
}

/// What of all files of entries cannot be read as it was meant, and which have more than count.
pub(crate) fn problems(owner: &Owner) -> Vec<Skipped> {
    let (workspace, mut found) = (owner.workspace(), Vec::new());
    for holder in workspace.entry_store.holders() {
        for shelf in EntryFileKind::ALL {
            // One that cannot be read at all is told by the index.
            let Ok(book) = workspace.entry_store.book(&holder, shelf) else { continue };
            found.extend(problems_of(workspace, shelf, &book).map(|(line, message)| {
                let line = line.map(|line| format!("line {line}: ")).unwrap_or_default();
                Skipped { path: book.path.to_string(), reason: line + &message }
            }));
        }
    }
    found
}

/// What of a file cannot be read as it was meant, by its line; and that a memory has more entries than may count, before some are moved.
fn problems_of(
    workspace: &Workspace,
    shelf: EntryFileKind,
    book: &EntriesSnapshot,
) -> impl Iterator<Item = (Option<usize>, String)> {
    let (max, active) = (workspace.config.memory.max_entries, book.active().count());
    let is_over = shelf == EntryFileKind::Known && max > 0 && active > max;
    let over = is_over.then(|| {
        let goes = active - max;
        let limit = format!("{active} entries are active, {goes} more than the limit of {max}");
        (None, format!("{limit}; these are archived when the next one is added"))
    });
    book.problems.iter().map(|problem| (problem.line, problem.message.clone())).chain(over)
}

/// How sure an agent's proposal is when it does not say.
const AGENTS_CONFIDENCE: f64 = 0.8;

/// Adds an entry of the person's; proposes one of an agent's.
///
/// What was forgotten for good is left out of what an agent brings, and so is what the person rejected and what is known: it hears the same
/// in any case.
///
/// # Errors
/// When a parameter makes no sense, who asks may not write there, the vault keeps none of agents, or the disk refuses.
pub(crate) fn add(viewer: &Viewer, params: &EntryAddParams) -> Result<EntryAdded, RequestError> {
    if viewer.agent().is_some() && !viewer.workspace().config.memory.enabled {
        return Err(RequestError::forbidden("this vault stores no entries").hint("`[memory] enabled` in memory.toml"));
    }
    let (text, redacted) = entry_text(viewer, &params.text)?;
    let mut entry = MemoryEntry::new(params.kind.unwrap_or(MemoryKind::Fact), &text);
    entry.tags = params.tags.as_deref().map(tags).transpose()?.unwrap_or_default();
    entry.window = window(params.from.as_deref(), params.until.as_deref())?;
    entry.sources = params.sources.as_deref().map(sources).transpose()?.unwrap_or_default();
    let confidence = confidence(params.confidence)?;
    let added = match viewer.agent() {
        None => {
            entry.confidence = confidence.unwrap_or(1.0);
            // Written down, as nobody knows what a source was once it is moved or gone.
            entry.trust = trust_at_most(viewer, &entry, TrustLevel::Person)?;
            add_as_person(viewer, params, entry)?
        }
        Some(slug) => {
            let named = holder_named(viewer, params.agent.as_deref().or(Some(slug)))?;
            entry.confidence = confidence.unwrap_or(AGENTS_CONFIDENCE);
            entry.trust = trust_at_most(viewer, &entry, TrustLevel::Agent)?;
            propose_as_agent(&viewer.memory_writer()?, &named, entry)?
        }
    };
    Ok(EntryAdded { redacted, ..added })
}

/// How far an entry is trusted of somebody's: no more than what it was learned from.
fn trust_at_most(viewer: &Viewer, entry: &MemoryEntry, own: TrustLevel) -> Result<TrustLevel, RequestError> {
    if entry.sources.is_empty() {
        return Ok(own);
    }
    let scope = viewer.read_scope()?;
    let files = scope.reader().files();
    Ok(entry.sources.iter().map(|place| trust_of_place(files, place)).fold(own, Ord::min))
}

fn add_as_person(viewer: &Viewer, params: &EntryAddParams, mut entry: MemoryEntry) -> Result<EntryAdded, RequestError> {
    let workspace = viewer.workspace();
    let holder = holder_named(viewer, params.agent.as_deref())?;
    if let MemoryScope::Agent(slug) = &holder
        && workspace.agents.policy(slug).is_none()
    {
        return Err(RequestError::not_found(format!("there is no agent `{slug}`")));
    }
    let forgotten = &workspace.forgotten;
    let asked = forgotten.look()?;
    let meaning = MeaningAlike::of(workspace);
    let rules = meaning.rules(workspace, &asked, &Scope::Everything);
    let entry_store = &workspace.entry_store;
    let known = entry_store.entries(&holder)?;
    let active: Vec<&MemoryEntry> = known.active().collect();
    let mut added = EntryAdded { ok: true, status: "active".into(), ..EntryAdded::default() };
    let mut edits = Vec::new();
    entry.id = entry_store.new_id(&holder, &entry.text)?;
    let verdict = rules.verdict(&entry, &active);
    added.degraded = meaning.degraded();
    match verdict {
        Verdict::Duplicate(id) => return Ok(EntryAdded { id, status: "duplicate".into(), ..added }),
        Verdict::Contradicts(id) => added.contradicts = Some(id),
        Verdict::Supersedes(id) => {
            if let Some(loser) = known.get(&id) {
                let status = EntryStatus::Superseded(entry.id.clone());
                edits.push(EntryEdit::Change {
                    was: loser.clone(),
                    now: Box::new(MemoryEntry { status, ..loser.clone() }),
                });
            }
            added.supersedes = Some(id);
        }
        Verdict::New => {}
    }
    edits.insert(0, EntryEdit::Add(entry));
    let writer = EntryWriter { files: workspace.files()?, act: Action::Edit.into(), is_program: false };
    let (written, names) = entry_store.change(&writer, &holder, EntryFileKind::Known, &edits)?;
    added.id = names.into_iter().next().unwrap_or_default();
    let max = workspace.config.memory.max_entries;
    let new = [added.id.clone()];
    let (archived, undone) = entry_store.keep_to_cap(writer.files, &holder, &new, max)?;
    added.archived = archived;
    added.checkpoint_ids = undone.iter().chain(&written).map(ToString::to_string).collect();
    settle(workspace, &holder, EntryFileKind::Known);
    Ok(added)
}

fn propose_as_agent(
    agent: &MemoryWriter,
    holder: &MemoryScope,
    entry: MemoryEntry,
) -> Result<EntryAdded, RequestError> {
    let workspace = agent.workspace();
    agent.may_write_items("propose no entries")?;
    let path = entries_path(holder, EntryFileKind::Pending)?;
    let forgotten = &workspace.forgotten;
    let asked = forgotten.ask()?;
    let meaning = MeaningAlike::of(workspace);
    let rules = meaning.rules(workspace, &asked, &agent.rights);
    let act = agent.act(Action::Edit, entry.text.len());
    let writer = EntryWriter { files: workspace.files()?, act, is_program: true };
    agent.begin()?;
    // The name that it would have had is what it hears, whatever became of it.
    let id = made_id(&entry.text, |_| false);
    let proposed = workspace.entry_store.propose(&writer, holder, (vec![entry], true), &rules);
    agent.log_own("entry_propose", path.as_str(), Vec::new());
    let (written, left_out) = proposed.inspect_err(|_| agent.turn().rest())?;
    if let Some(tombstone) = left_out.first() {
        forgotten.note(&format!("agent {}", agent.slug), path.as_str(), true, *tombstone);
    }
    if written.is_none() {
        // What is left out counts against what it may write as well, so that this tells nothing.
        let before = writer.files.read(&path)?.map(|(_, hash)| hash);
        if let Err(error @ WriteError::TooMuch(_)) = writer.files.leave(&path, before, act) {
            return Err(error.into());
        }
    }
    drop(rules);
    drop(asked);
    Ok(EntryAdded { ok: true, id, status: "pending".into(), ..EntryAdded::default() })
}

/// Changes an entry in its line. What the person writes is the person's word.
///
/// # Errors
/// When a parameter makes no sense, there is no such entry, or the file cannot be changed so.
pub(crate) fn edit(owner: &Owner, params: &EntryEditParams) -> Result<EntryChanged, RequestError> {
    let workspace = owner.workspace();
    let holder = holder_named(owner, params.agent.as_deref())?;
    let entry_store = &workspace.entry_store;
    let (known, pending) = (entry_store.entries(&holder)?, entry_store.pending(&holder)?);
    let (shelf, before) = match (known.get(&params.id), pending.get(&params.id)) {
        (Some(entry), _) => (EntryFileKind::Known, entry),
        (None, Some(entry)) => (EntryFileKind::Pending, entry),
        (None, None) => return Err(absent(&params.id)),
    };
    let mut entry: MemoryEntry = before.clone();
    if let Some(text) = &params.text {
        entry.text = entry_text(owner, text)?.0;
        entry.trust = TrustLevel::Person;
    }
    entry.kind = params.kind.unwrap_or(entry.kind);
    entry.confidence = confidence(params.confidence)?.unwrap_or(entry.confidence);
    if let Some(given) = &params.tags {
        entry.tags = tags(given)?;
    }
    let said = window(params.from.as_deref(), params.until.as_deref())?;
    if params.from.is_some() {
        entry.window.from = said.from;
    }
    if params.until.is_some() {
        entry.window.until = said.until;
    }
    if entry.window.is_empty_span() {
        return Err(RequestError::invalid("`until` is not after `from`"));
    }
    let writer = EntryWriter { files: workspace.files()?, act: Action::Edit.into(), is_program: false };
    let change = EntryEdit::Change { was: before.clone(), now: Box::new(entry) };
    let (written, _) = entry_store.change(&writer, &holder, shelf, &[change])?;
    settle(workspace, &holder, shelf);
    Ok(changed(&params.id, written))
}

/// Takes an entry away, or sets it aside. What is taken away leaves a mark in the archive; taken away there as well, it is gone.
///
/// # Errors
/// When there is no such entry, or the file cannot be changed so.
pub(crate) fn remove(owner: &Owner, params: &EntryRemoveParams) -> Result<EntryChanged, RequestError> {
    let workspace = owner.workspace();
    let holder = holder_named(owner, params.agent.as_deref())?;
    let entry_store = &workspace.entry_store;
    let mut shelf = None;
    for candidate in EntryFileKind::ALL {
        // A shelf behind it need not be readable.
        if entry_store.book(&holder, candidate)?.get(&params.id).is_some() {
            shelf = Some(candidate);
            break;
        }
    }
    let shelf = shelf.ok_or_else(|| absent(&params.id))?;
    let archives = params.archive == Some(true);
    if archives && shelf != EntryFileKind::Known {
        return Err(RequestError::conflict(format!("`{}` is not an active entry", params.id)));
    }
    let act = if archives { Action::Edit } else { Action::Forget };
    let writer = EntryWriter { files: workspace.files()?, act: act.into(), is_program: false };
    let checkpoints = match shelf {
        EntryFileKind::Known | EntryFileKind::Pending => {
            let rejected = (!archives).then_some(REMOVED);
            entry_store.set_aside(&writer, &holder, shelf, std::slice::from_ref(&params.id), rejected)?
        }
        EntryFileKind::Archive => {
            let edits = [EntryEdit::Remove(params.id.clone())];
            entry_store.change(&writer, &holder, shelf, &edits)?.0.into_iter().collect()
        }
    };
    settle(workspace, &holder, shelf);
    Ok(changed(&params.id, checkpoints))
}

/// Writes another text in the place of a file of entries. What would drop more than a quarter of them is refused and shown.
///
/// # Errors
/// When it would drop too much, or the disk refuses.
pub(crate) fn rewrite(owner: &Owner, params: &EntriesRewriteParams) -> Result<EntriesRewritten, RequestError> {
    let workspace = owner.workspace();
    let holder = holder_named(owner, params.agent.as_deref())?;
    let max = workspace.config.index.max_file_bytes;
    if params.content.len() as u64 > max {
        return Err(RequestError::invalid(format!("`content` has {} bytes; it takes {max}", params.content.len())));
    }
    let is_program = params.allow_loss != Some(true);
    let writer = EntryWriter { files: workspace.files()?, act: Action::Edit.into(), is_program };
    let written = workspace.entry_store.rewrite(&writer, &holder, EntryFileKind::Known, &params.content)?;
    settle(workspace, &holder, EntryFileKind::Known);
    let entries = workspace.entry_store.entries(&holder)?.entries.len();
    Ok(EntriesRewritten { ok: true, entries, checkpoint_id: written.map(|id| id.to_string()) })
}

fn absent(id: &str) -> RequestError {
    RequestError::not_found(format!("there is no entry `{id}`")).hint("`vault memory list` lists all entries")
}

fn changed(id: &str, checkpoints: impl IntoIterator<Item = CheckpointId>) -> EntryChanged {
    let checkpoint_ids = checkpoints.into_iter().map(|id| id.to_string()).collect();
    EntryChanged { ok: true, id: id.to_owned(), checkpoint_ids }
}

/// Maximum number of sources.
const MAX_SOURCES: usize = 20;
/// Maximum length of a text.
const MAX_TEXT_BYTES: usize = MAX_ENTRY_BYTES / 2;

/// Waits until the index has a file of entries as it is.
pub(super) fn settle(workspace: &Workspace, holder: &MemoryScope, shelf: EntryFileKind) {
    if let Ok(path) = entries_path(holder, shelf) {
        workspace.settled_in_time(&path);
    }
}

/// The memory of an agent, or the person's.
fn holder_named(viewer: &Viewer, agent: Option<&str>) -> Result<MemoryScope, RequestError> {
    let Some(slug) = agent.filter(|slug| !slug.is_empty()) else { return Ok(MemoryScope::User) };
    if viewer.agent().is_some_and(|own| own != slug) {
        return Err(RequestError::forbidden("an agent can use only its own memory"));
    }
    if !is_folder_name(slug) {
        return Err(RequestError::invalid(format!("`agent` is {slug:?}, which is not an agent's folder")));
    }
    Ok(MemoryScope::Agent(slug.to_owned()))
}

/// What an entry says, on one line, and whether secrets were taken out of it.
pub(super) fn entry_text(viewer: &Viewer, given: &str) -> Result<(String, bool), RequestError> {
    let given = one_line(&text("text", given)?);
    if given.len() > MAX_TEXT_BYTES {
        return Err(RequestError::invalid(format!("`text` has {} bytes; it takes {MAX_TEXT_BYTES}", given.len())));
    }
    let kept = if viewer.workspace().redacts() { redact(&given).into_owned() } else { given.clone() };
    // All of the file would be.
    if Note::parse(&format!("- x {kept}\n"), "").is_private() {
        return Err(RequestError::invalid("`text` has a tag `private`, which would hide the whole file from agents"));
    }
    let redacted = kept != given;
    Ok((kept, redacted))
}

fn confidence(given: Option<f64>) -> Result<Option<f64>, RequestError> {
    // More digits say nothing.
    Ok(within("confidence", given, 0.0..=1.0)?.map(|given| (given * 1000.0).round() / 1000.0))
}

fn window(from: Option<&str>, until: Option<&str>) -> Result<Validity, RequestError> {
    let is_said = |text: &&str| !text.trim().is_empty();
    validity(from.filter(is_said), until.filter(is_said))
}

/// Places in the vault: `notes/api.md#L12`.
fn sources(given: &[String]) -> Result<Vec<String>, RequestError> {
    if given.len() > MAX_SOURCES {
        return Err(RequestError::invalid(format!("`sources` has {} places; it takes {MAX_SOURCES}", given.len())));
    }
    given.iter().map(|text| source_place("sources", text, false)).collect()
}

/// Maximum length of what is quoted of a source, in characters.
const MAX_QUOTE_CHARS: usize = 1_000;
/// Maximum number of decisions at a time.
const MAX_DECISIONS: usize = 1_000;
/// Maximum length of a reason.
const MAX_REASON_CHARS: usize = 300;
/// Proposals that are given when nobody says how many.
const USUAL_PROPOSALS: usize = 100;

/// The proposals that wait, each beside what is known.
///
/// # Errors
/// When a parameter makes no sense, or a file cannot be read.
pub(crate) fn review(owner: &Owner, params: &ReviewParams) -> Result<ReviewView, RequestError> {
    let most = limit(params.limit, USUAL_PROPOSALS)?;
    let entry_store = &owner.workspace().entry_store;
    let holders = match params.agent.as_deref() {
        Some(agent) => vec![holder_named(owner, Some(agent))?],
        None => entry_store.holders(),
    };
    let asked = owner.workspace().forgotten.look()?;
    let meaning = MeaningAlike::of(owner.workspace());
    let rules = meaning.rules(owner.workspace(), &asked, &Scope::Everything);
    let mut found = ReviewView::default();
    for holder in &holders {
        let (known, pending) = (entry_store.entries(holder)?, entry_store.pending(holder)?);
        let active: Vec<&MemoryEntry> = known.active().collect();
        for entry in entry_store.waiting(holder)? {
            if params.source.as_deref().is_some_and(|source| !entry.source_paths().any(|path| path == source)) {
                continue;
            }
            if found.proposals.len() == most {
                found.more += 1;
                continue;
            }
            found.proposals.push(proposal(owner, holder, &entry, (&known, &pending), rules.verdict(&entry, &active)));
        }
    }
    found.degraded = meaning.degraded();
    Ok(found)
}

fn proposal(
    owner: &Owner,
    holder: &MemoryScope,
    entry: &MemoryEntry,
    (known, pending): (&EntriesSnapshot, &EntriesSnapshot),
    verdict: Verdict,
) -> ProposalView {
    let (word, id) = match verdict {
        Verdict::New => ("new", None),
        Verdict::Duplicate(id) => ("duplicate", Some(id)),
        Verdict::Contradicts(id) => ("contradicts", Some(id)),
        Verdict::Supersedes(id) => ("supersedes", Some(id)),
    };
    let other = id.and_then(|id| known.get(&id)).map(|entry| view(holder, known, entry));
    let entry_view = view(holder, pending, entry);
    let line = |entry: &EntryView| format!("[{}] {}", entry.kind.word(), entry.text);
    let diff = other.iter().map(|known| format!("- {}", line(known))).chain([format!("+ {}", line(&entry_view))]);
    ProposalView {
        verdict: word.to_owned(),
        diff: diff.collect(),
        quotes: entry.sources.iter().map(|source| quote(owner, source)).collect(),
        known: other,
        entry: entry_view,
    }
}

/// The lines that a source names.
fn quote(owner: &Owner, source: &str) -> SourceQuote {
    let lines = split_lines(source).1.filter(|(first, _)| *first > 0);
    let text = VaultPath::new(source_path(source)).ok().and_then(|path| owner.workspace().source(&path).ok());
    let text = text.and_then(|read| {
        let (first, last) = lines?;
        let count = last.unwrap_or(first).saturating_sub(first - 1);
        let lines: Vec<&str> = read.text.lines().skip(first - 1).take(count).collect();
        (!lines.is_empty()).then(|| lines.join("\n").chars().take(MAX_QUOTE_CHARS).collect())
    });
    SourceQuote { citation: source.to_owned(), text }
}

/// What is decided about the proposals of one memory.
#[derive(Default)]
struct Decided {
    accepts: Vec<Acceptance>,
    rejects: Vec<(String, Vec<String>)>,
}

/// Accepts and rejects proposals. What makes no sense is refused before anything is written.
///
/// # Errors
/// When a decision makes no sense, or a file cannot be changed.
pub(crate) fn decide(owner: &Owner, params: &ReviewDecisions) -> Result<Reviewed, RequestError> {
    if params.decisions.is_empty() || params.decisions.len() > MAX_DECISIONS {
        let message = format!("`decisions` has {}; it takes 1 to {MAX_DECISIONS}", params.decisions.len());
        return Err(RequestError::invalid(message));
    }
    let (workspace, entry_store) = (owner.workspace(), &owner.workspace().entry_store);
    let mut done = Reviewed { ok: true, ..Reviewed::default() };
    let mut all: BTreeMap<MemoryScope, Decided> = BTreeMap::new();
    for decision in &params.decisions {
        let holder = holder_named(owner, decision.agent.as_deref())?;
        let waiting = entry_store.waiting(&holder)?;
        let ids: Vec<String> = match (&decision.id, &decision.all_of) {
            (Some(id), None) if waiting.iter().any(|entry| entry.id == *id) => vec![id.clone()],
            (Some(id), None) => {
                done.absent.push(id.clone());
                Vec::new()
            }
            (None, Some(source)) => {
                let of = waiting.iter().filter(|entry| entry.source_paths().any(|path| path == source_path(source)));
                of.map(|entry| entry.id.clone()).collect()
            }
            _ => return Err(RequestError::invalid("a decision takes `id`, or `all_of`")),
        };
        let reason = decision.reason.as_deref().unwrap_or_default();
        if reason.chars().count() > MAX_REASON_CHARS {
            return Err(RequestError::invalid(format!("`reason` takes up to {MAX_REASON_CHARS} characters")));
        }
        if (decision.text.is_some() || decision.supersedes.is_some()) && (decision.id.is_none() || !decision.accept) {
            return Err(RequestError::invalid("`text` and `supersedes` need a single accepted proposal"));
        }
        if let Some(id) = &decision.supersedes
            && entry_store.entries(&holder)?.get(id).is_none_or(|entry| entry.status != EntryStatus::Active)
        {
            return Err(RequestError::not_found(format!("there is no active entry `{id}`")));
        }
        let text = decision.text.as_deref().map(|text| entry_text(owner, text)).transpose()?.map(|(text, _)| text);
        let decided = all.entry(holder).or_default();
        if decision.accept {
            decided.accepts.extend(ids.into_iter().map(|id| Acceptance {
                id,
                text: text.clone(),
                supersedes: decision.supersedes.clone(),
            }));
        } else {
            decided.rejects.push((reason.to_owned(), ids));
        }
    }
    let asked = workspace.forgotten.look()?;
    let meaning = MeaningAlike::of(workspace);
    let rules = meaning.rules(workspace, &asked, &Scope::Everything);
    let writer = EntryWriter { files: workspace.files()?, act: Action::Edit.into(), is_program: false };
    for (holder, decided) in &all {
        let mut undo = Vec::new();
        if !decided.accepts.is_empty() {
            undo = entry_store.accept(&writer, holder, &decided.accepts, &rules)?;
            let accepted: Vec<String> = decided.accepts.iter().map(|choice| choice.id.clone()).collect();
            let max = workspace.config.memory.max_entries;
            let (archived, more) = entry_store.keep_to_cap(writer.files, holder, &accepted, max)?;
            done.accepted.extend(accepted);
            done.archived.extend(archived);
            undo.splice(0..0, more);
        }
        for (reason, ids) in decided.rejects.iter().filter(|(_, ids)| !ids.is_empty()) {
            let reason = if reason.is_empty() { "not wanted" } else { reason };
            undo.splice(0..0, entry_store.set_aside(&writer, holder, EntryFileKind::Pending, ids, Some(reason))?);
            done.rejected.extend(ids.iter().cloned());
        }
        done.checkpoint_ids.splice(0..0, undo.iter().map(ToString::to_string));
        settle(workspace, holder, EntryFileKind::Known);
    }
    Ok(done)
}
