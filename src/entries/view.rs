//! An entry as it is answered.

use std::sync::Arc;

use crate::derive::entries::{EntryShelf, EntryStatus, MemoryEntry, MemoryHolder, traced};
use crate::items::EntryBook;
use crate::request::{Owner, RequestError, Visibility, Workspace};
use crate::wire::{EntryState, EntryView, Skipped, citation};

pub(super) fn state_of(status: &EntryStatus) -> EntryState {
    match status {
        EntryStatus::Pending => EntryState::Pending,
        EntryStatus::Active => EntryState::Active,
        EntryStatus::Superseded(_) => EntryState::Superseded,
        EntryStatus::Rejected(_) => EntryState::Rejected,
        EntryStatus::Archived => EntryState::Archived,
    }
}

/// An entry of a file.
pub(super) fn view(holder: &MemoryHolder, book: &EntryBook, entry: &MemoryEntry) -> EntryView {
    let path = book.path.as_ref().map_or("", |path| path.as_str());
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
            MemoryHolder::Person => None,
            MemoryHolder::Agent(slug) => Some(slug.clone()),
        },
        citation: citation(path, entry.line_start as u32, entry.line_end as u32),
    }
}

/// A file of entries, where it is seen by itself: an agent sees it as it is in the index, and none of what waits.
pub(super) fn book(
    visibility: &Visibility,
    holder: &MemoryHolder,
    shelf: EntryShelf,
) -> Result<Option<Arc<EntryBook>>, RequestError> {
    let layers = visibility.viewer().workspace().layers();
    if !visibility.is_agents() {
        return Ok(Some(layers.book(holder, shelf)?));
    }
    let path = crate::items::entries_path(holder, shelf).ok();
    let Some(file) = path.and_then(|path| visibility.file_by_itself(path.as_str())) else { return Ok(None) };
    // What cannot be read, or has changed since, is not told from what is not there.
    Ok(layers.book(holder, shelf).ok().filter(|book| Some(file.stamp) == book.stamp))
}

/// What of all files of entries cannot be read as it was meant, and which have more than count.
pub(crate) fn problems(owner: &Owner) -> Vec<Skipped> {
    let (workspace, mut found) = (owner.workspace(), Vec::new());
    for holder in workspace.layers().holders() {
        for shelf in [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive] {
            // One that cannot be read at all is told by the index.
            let Ok(book) = workspace.layers().book(&holder, shelf) else { continue };
            let path = book.path.as_ref().map(ToString::to_string).unwrap_or_default();
            let unclear = book.file.problems.iter().map(|problem| {
                let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
                format!("{line}{}", problem.message)
            });
            let over = (shelf == EntryShelf::Known).then(|| over_the_cap(workspace, &book)).flatten();
            found.extend(unclear.chain(over).map(|reason| Skipped { path: path.clone(), reason }));
        }
    }
    found
}

/// That a memory has more entries than may count, before some of them are moved.
pub(super) fn over_the_cap(workspace: &Workspace, book: &EntryBook) -> Option<String> {
    let max = workspace.config().memory.max_entries;
    let active = book.entries().iter().filter(|entry| entry.status == EntryStatus::Active).count();
    let goes = active.checked_sub(max).filter(|over| *over > 0 && max > 0)?;
    Some(format!(
        "{active} entries count, {goes} more than `max_entries`; they go to the archive when the next one is added"
    ))
}
