//! Entries of memory that were learned from events of agents' traces. Where something of an event goes for good they go before it does: by
//! what the event says alone it is known which they are.

use std::collections::BTreeSet;

use super::purge::{GoneTexts, told_in_traces};
use crate::derive::entries::{EntryShelf, shelf_of, traced};
use crate::forgotten::ForgottenPlace;
use crate::layers::{EntryEdit, LayerWriter};
use crate::request::{Owner, RequestError, Workspace, note_path};
use crate::vault::{Action, Files};

/// The entries that were learned from events which say what is gone, each as `agents/ada/MEMORY.md#^e-7f3a2b9c`.
///
/// # Errors
/// When the traces cannot be read.
pub(super) fn learned_from_told(owner: &Owner, gone: &[GoneTexts]) -> Result<Vec<String>, RequestError> {
    let learned = learned_from_events(owner.workspace());
    if learned.is_empty() {
        return Ok(Vec::new());
    }
    let told = told_in_traces(owner, gone)?.of;
    let is_told = |events: &BTreeSet<(String, String)>| !events.is_disjoint(&told);
    Ok(learned.into_iter().filter(|(_, events)| is_told(events)).map(|(place, _)| place).collect())
}

/// The entries of all memories that were learned from events, each with those: the agent, and the event.
fn learned_from_events(workspace: &Workspace) -> Vec<(String, BTreeSet<(String, String)>)> {
    let layers = workspace.layers();
    let mut found = Vec::new();
    for holder in layers.holders() {
        for shelf in [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive] {
            let Ok(book) = layers.book(&holder, shelf) else { continue };
            let Some(file) = &book.path else { continue };
            for entry in book.entries() {
                let events = entry.sources.iter().filter_map(|source| traced(source));
                let events: BTreeSet<_> = events.map(|(agent, id)| (agent.to_owned(), id)).collect();
                if !events.is_empty() {
                    found.push((format!("{file}#^{}", entry.id), events));
                }
            }
        }
    }
    found
}

/// Removes those entries while there is no index yet, with what is kept of their files; gives what they said, which may be in events, too.
///
/// # Errors
/// When the traces cannot be read, or the disk refuses.
pub(super) fn remove_told(owner: &Owner, files: &Files, gone: &[GoneTexts]) -> Result<Vec<GoneTexts>, RequestError> {
    let workspace = owner.workspace();
    let mut removed = Vec::new();
    for place in learned_from_told(owner, gone)? {
        let Some((path, id)) = place.split_once("#^") else { continue };
        let path = note_path(path)?;
        let Some((holder, shelf)) = shelf_of(&path) else { continue };
        let book = workspace.layers().book(&holder, shelf)?;
        let Some(entry) = book.get(id) else { continue };
        let text = entry.text.clone();
        // Nobody but its holder could read it, as far as can be told now.
        let place = ForgottenPlace {
            path: path.clone(),
            tags: Vec::new(),
            private: true,
            derived: true,
            readers: Vec::new(),
            gone: false,
        };
        workspace.forgotten().remember(&place, &[&text])?;
        let writer = LayerWriter { files, act: Action::Forget.into(), is_program: false };
        workspace.layers().change(&writer, &holder, shelf, &[EntryEdit::Remove(id.to_owned())])?;
        files.purge(&path)?;
        removed.push(GoneTexts { path, readers: Vec::new(), texts: vec![text] });
    }
    Ok(removed)
}
