//! Looking entries up, and an entry as it is answered.

use std::sync::Arc;

use super::write::holder_named;
use crate::access::request::{Owner, RequestError, Viewer, Visibility, Workspace, limit};
use crate::base::config::MemoryScope;
use crate::memory::items::EntriesSnapshot;
use crate::serve::wire::{EntriesParams, EntriesView, EntryState, EntryView, Skipped, citation};
use crate::text::derive::entries::{EntryFileKind, EntryStatus, MemoryEntry, traced};
use crate::text::derive::facts::has_tag;

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
    let limit = visibility.given().results(limit);
    let mut room = visibility.given().room();
    let mut found = EntriesView::default();
    let now = viewer.at().as_millisecond();
    'holders: for holder in &holders {
        // What waits is inert: nobody but the person sees it.
        if visibility.is_agents() && shelf != EntryFileKind::Known {
            continue;
        }
        let Some(book) = book(&visibility, holder, shelf)? else { continue };
        if !visibility.is_agents() {
            let path = &book.path;
            found.problems.extend(book.problems.iter().map(|problem| {
                let line = problem.line.map(|line| format!(":{line}")).unwrap_or_default();
                format!("{path}{line}: {}", problem.message)
            }));
            let over = (shelf == EntryFileKind::Known).then(|| over_the_cap(viewer.workspace(), &book)).flatten();
            found.problems.extend(over.map(|over| format!("{path}: {over}")));
        }
        let waiting = match shelf {
            EntryFileKind::Pending => viewer.workspace().entry_store.waiting(holder)?,
            EntryFileKind::Known | EntryFileKind::Archive => Vec::new(),
        };
        let all = if shelf == EntryFileKind::Pending { waiting.as_slice() } else { &book.entries };
        for entry in all {
            visibility.given().go_on()?;
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
pub(super) fn view(holder: &MemoryScope, book: &EntriesSnapshot, entry: &MemoryEntry) -> EntryView {
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
    let entry_store = &visibility.viewer().workspace().entry_store;
    if !visibility.is_agents() {
        return Ok(Some(entry_store.book(holder, shelf)?));
    }
    let path = crate::memory::items::entries_path(holder, shelf).ok();
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
            let unclear = book.problems.iter().map(|problem| {
                let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
                format!("{line}{}", problem.message)
            });
            let over = (shelf == EntryFileKind::Known).then(|| over_the_cap(workspace, &book)).flatten();
            found.extend(unclear.chain(over).map(|reason| Skipped { path: book.path.to_string(), reason }));
        }
    }
    found
}

/// That a memory has more entries than may count, before some of them are moved.
fn over_the_cap(workspace: &Workspace, book: &EntriesSnapshot) -> Option<String> {
    let max = workspace.config.memory.max_entries;
    let active = book.active().count();
    let goes = active.checked_sub(max).filter(|over| *over > 0 && max > 0)?;
    Some(format!(
        "{active} entries are active, {goes} more than `max_entries`; these are archived when the next one is added"
    ))
}
