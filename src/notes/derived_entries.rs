//! Entries of memory that were learned from what is forgotten, and go with it.

use crate::derive::entries::shelf_of;
use crate::fs::crash;
use crate::layers::{EntryEdit, LayerWriter};
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, note_path};
use crate::vault::Action;
use crate::wire::ForgetParams;

/// Removes an entry of memory that was learned there; gives what undoes it.
pub(super) fn forget_entry(
    owner: &Owner,
    place: &str,
    purge: bool,
    forget: impl FnOnce(&ForgetParams) -> Result<Option<String>, RequestError>,
) -> Result<Option<String>, RequestError> {
    let (path, id) = place.split_once("#^").unwrap_or((place, ""));
    let (workspace, layers) = (owner.workspace(), owner.workspace().layers());
    let path = note_path(path)?;
    let absent = || RequestError::not_found(format!("`{path}` has no entry `{id}`"));
    let (holder, shelf) = shelf_of(&path).ok_or_else(absent)?;
    let writer = LayerWriter { files: workspace.files()?, act: Action::Forget.into(), is_program: false };
    if !purge {
        let edits = [EntryEdit::Remove(id.to_owned())];
        let checkpoint = layers.change(&writer, &holder, shelf, &edits)?.checkpoint;
        workspace.forget_given_entry(&path, id);
        return Ok(checkpoint.map(|checkpoint| checkpoint.to_string()));
    }
    let book = layers.book(&holder, shelf)?;
    let entry = book.get(id).ok_or_else(absent)?;
    let (line_start, line_end) = (Some(entry.line_start), Some(entry.line_end));
    let path_of = |path: &VaultPath| Some(path.to_string());
    forget(&ForgetParams { path: path_of(&path), line_start, line_end, purge, ..ForgetParams::default() })?;
    crash::point("entry-purged");
    // Nor is the list of sources to name what goes.
    let edits: Vec<EntryEdit> = entry.source_paths().map(|path| EntryEdit::Unlist(path.to_owned())).collect();
    layers.change(&writer, &holder, shelf, &edits)?;
    workspace.files()?.purge(&path)?;
    workspace.settled_in_time(&path);
    Ok(None)
}
