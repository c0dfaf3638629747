//! Changing entries, and taking them away: the person's alone.

use super::input::{confidence, entry_text, holder_named, window};
use crate::derive::entries::{EntryShelf, MemoryEntry, TrustLevel};
use crate::items::{EntryEdit, LayerWriter, entries_path};
use crate::request::{Owner, RequestError, tags};
use crate::vault::{Action, CheckpointId};
use crate::wire::{EntriesRewriteParams, EntriesRewritten, EntryChanged, EntryEditParams, EntryRemoveParams};

/// Changes an entry in its line. What the person writes is the person's word.
///
/// # Errors
/// When a parameter makes no sense, there is no such entry, or the file cannot be changed so.
pub(crate) fn edit(owner: &Owner, params: &EntryEditParams) -> Result<EntryChanged, RequestError> {
    let workspace = owner.workspace();
    let holder = holder_named(owner, params.agent.as_deref())?;
    let layers = workspace.layers();
    let (known, pending) = (layers.entries(&holder)?, layers.pending(&holder)?);
    let (shelf, before) = match (known.get(&params.id), pending.get(&params.id)) {
        (Some(entry), _) => (EntryShelf::Known, entry),
        (None, Some(entry)) => (EntryShelf::Pending, entry),
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
    let writer = LayerWriter { files: workspace.files()?, act: Action::Edit.into(), is_program: false };
    let change = EntryEdit::Change { was: before.clone(), now: Box::new(entry) };
    let written = layers.change(&writer, &holder, shelf, &[change])?;
    if let Ok(path) = entries_path(&holder, shelf) {
        workspace.settled_in_time(&path);
    }
    Ok(changed(&params.id, written.checkpoint))
}

/// Takes an entry away, or sets it aside. What is taken away leaves a mark in the archive; taken away there as well, it is gone.
///
/// # Errors
/// When there is no such entry, or the file cannot be changed so.
pub(crate) fn remove(owner: &Owner, params: &EntryRemoveParams) -> Result<EntryChanged, RequestError> {
    let workspace = owner.workspace();
    let holder = holder_named(owner, params.agent.as_deref())?;
    let layers = workspace.layers();
    let shelves = [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive];
    let mut shelf = None;
    for candidate in shelves {
        if layers.book(&holder, candidate)?.get(&params.id).is_some() {
            shelf = Some(candidate);
            break;
        }
    }
    let shelf = shelf.ok_or_else(|| absent(&params.id))?;
    let writer = LayerWriter { files: workspace.files()?, act: Action::Forget.into(), is_program: false };
    let checkpoints = match (params.archive == Some(true), shelf) {
        (true, EntryShelf::Known) => {
            let writer = LayerWriter { act: Action::Edit.into(), ..writer };
            layers.archive_entry(&writer, &holder, &params.id)?
        }
        (true, _) => return Err(RequestError::conflict(format!("`{}` is not among what counts", params.id))),
        (false, shelf @ (EntryShelf::Known | EntryShelf::Pending)) => {
            layers.remove(&writer, &holder, shelf, &params.id)?
        }
        (false, shelf) => {
            let edits = [EntryEdit::Remove(params.id.clone())];
            layers.change(&writer, &holder, shelf, &edits)?.checkpoint.into_iter().collect()
        }
    };
    if let Ok(path) = entries_path(&holder, shelf) {
        if params.archive != Some(true) {
            workspace.forget_given_entry(&path, &params.id);
        }
        workspace.settled_in_time(&path);
    }
    Ok(changed(&params.id, checkpoints))
}

/// Writes another text in the place of a file of entries. What would drop more than a quarter of them is refused and shown.
///
/// # Errors
/// When it would drop too much, or the disk refuses.
pub(crate) fn rewrite(owner: &Owner, params: &EntriesRewriteParams) -> Result<EntriesRewritten, RequestError> {
    let workspace = owner.workspace();
    let holder = holder_named(owner, params.agent.as_deref())?;
    let max = workspace.config().index.max_file_bytes;
    if params.content.len() as u64 > max {
        return Err(RequestError::invalid(format!("`content` has {} bytes; it takes {max}", params.content.len())));
    }
    let is_program = params.allow_loss != Some(true);
    let writer = LayerWriter { files: workspace.files()?, act: Action::Edit.into(), is_program };
    let written = workspace.layers().rewrite(&writer, &holder, EntryShelf::Known, &params.content)?;
    if let Ok(path) = entries_path(&holder, EntryShelf::Known) {
        workspace.settled_in_time(&path);
    }
    let entries = workspace.layers().entries(&holder)?.entries().len();
    Ok(EntriesRewritten { ok: true, entries, checkpoint_id: written.checkpoint.map(|id| id.to_string()) })
}

fn absent(id: &str) -> RequestError {
    let hint = Some("`vault memory list` shows those there are".into());
    RequestError { hint, ..RequestError::not_found(format!("there is no entry `{id}`")) }
}

fn changed(id: &str, checkpoints: impl IntoIterator<Item = CheckpointId>) -> EntryChanged {
    let checkpoint_ids = checkpoints.into_iter().map(|id| id.to_string()).collect();
    EntryChanged { ok: true, id: id.to_owned(), checkpoint_ids }
}
