//! An entry as it is answered.

use crate::derive::entries::{EntryStatus, MemoryEntry, MemoryHolder, traced};
use crate::layers::EntryBook;
use crate::wire::{EntryState, EntryView, citation};

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
