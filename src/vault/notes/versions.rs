//! What a note said before each change that can be undone.

use crate::access::request::{Owner, RequestError, note_path};
use crate::serve::wire::{CheckpointsParams, TextParams, VersionParams, VersionText, VersionsView};
use crate::vault::disk::CheckpointId;

use super::history::checkpoints;

/// The versions of a note, newest first.
///
/// # Errors
/// When the path is none, or they cannot be listed.
pub(crate) fn versions(owner: &Owner, params: &TextParams) -> Result<VersionsView, RequestError> {
    let path = Some(note_path(&params.path)?.to_string());
    Ok(VersionsView { versions: checkpoints(owner, &CheckpointsParams { path })?.checkpoints })
}

/// The text of a version.
///
/// # Errors
/// When there is no such version, or it cannot be read.
pub(crate) fn version(owner: &Owner, params: &VersionParams) -> Result<VersionText, RequestError> {
    let id: CheckpointId =
        params.id.parse().map_err(|error| RequestError::invalid(format!("`{}`: {error}", params.id)))?;
    let (path, had) = owner.workspace().files()?.former(&id)?;
    let text = had.map(|had| owner.workspace().text_of(&path, had));
    Ok(VersionText { path: path.to_string(), text })
}
