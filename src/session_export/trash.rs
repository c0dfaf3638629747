//! What is too old, or one too many, goes to the trash.

use super::part::{BY, TRASHED};
use crate::fs::crash;
use crate::path::VaultPath;
use crate::request::Workspace;
use crate::state::{Digest, SessionNote, SessionSource, SessionTable, StateError};
use crate::vault::{Action, WriteError};

/// Moves the notes of a session to the trash, but for those that somebody has edited. Gives the one that could not go, and why: then it is
/// to be tried again.
///
/// # Errors
/// When the state cannot be read or written.
pub(super) fn take_away(
    workspace: &Workspace,
    table: &SessionTable,
    key: &Digest,
    before: Option<&SessionSource>,
) -> Result<Option<(String, String)>, StateError> {
    let Some(before) = before.filter(|before| !before.is_out) else { return Ok(None) };
    if let Some(stays) = take_notes_away(workspace, table, key, |_, _| true)? {
        return Ok(Some(stays));
    }
    table.keep_source(key, &SessionSource { is_out: true, ..before.clone() })?;
    Ok(None)
}

/// The same of those notes alone of which `goes` holds, given how often the file was begun and the part.
///
/// # Errors
/// As [`take_away`].
pub(super) fn take_notes_away(
    workspace: &Workspace,
    table: &SessionTable,
    key: &Digest,
    goes: impl Fn(u32, usize) -> bool,
) -> Result<Option<(String, String)>, StateError> {
    for (generation, note) in table.all_notes(key)? {
        let (Ok(path), part) = (VaultPath::new(note.path.clone()), note.part) else { continue };
        if !goes(generation, part as usize) {
            continue;
        }
        match trash(workspace, table, (key, generation), &path, note) {
            Ok(true) => table.drop_note(key, generation, part)?,
            // It is known still: what comes of the session is added to one that was edited, and one that was taken away stays away.
            Ok(false) => {}
            Err(error) => return Ok(Some((path.to_string(), error))),
        }
    }
    Ok(None)
}

/// Says whether it is in the trash.
fn trash(
    workspace: &Workspace,
    table: &SessionTable,
    (key, generation): (&Digest, u32),
    path: &VaultPath,
    note: SessionNote,
) -> Result<bool, String> {
    let files = workspace.files().map_err(|error| error.message)?;
    let said = |error: WriteError| error.to_string();
    let Some((_, hash)) = files.read(path).map_err(said)? else {
        return Ok(note.after.is_empty() || note.next == TRASHED);
    };
    if note.is_edited || hash.to_hex().as_str() != note.after {
        return Ok(false);
    }
    let note = SessionNote { next: TRASHED.into(), ..note };
    table.keep_note(key, generation, &note).map_err(|error| error.to_string())?;
    crash::point("session-trashing");
    files.trash_as(path, hash, Action::Trash.done_by(BY)).map_err(said)?;
    crash::point("session-trashed");
    Ok(true)
}
