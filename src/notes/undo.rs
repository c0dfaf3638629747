//! What was changed, and how to have it back.

use crate::request::{ErrorKind, Owner, RequestError};
use crate::vault::{Checkpoint, CheckpointId, WriteError};
use crate::wire::{CheckpointView, CheckpointsParams, CheckpointsView, RestoreParams, Restored};

/// The changes that can be undone, newest first.
///
/// # Errors
/// When they cannot be listed.
pub(crate) fn checkpoints(owner: &Owner, params: &CheckpointsParams) -> Result<CheckpointsView, RequestError> {
    let of = |checkpoint: &Checkpoint| params.path.as_ref().is_none_or(|path| checkpoint.path.same_as(path));
    let checkpoints = owner.workspace().files()?.checkpoints()?.into_iter().filter(of).map(view).collect();
    Ok(CheckpointsView { checkpoints })
}

/// Makes a note again what it was before a change. Returns when the index agrees.
///
/// # Errors
/// When there is no such checkpoint, the note has changed since and `force` is not said, or the disk refuses.
pub fn restore(owner: &Owner, id: &str, params: RestoreParams) -> Result<Restored, RequestError> {
    let id: CheckpointId = id.parse().map_err(|error| RequestError::invalid(format!("`{id}`: {error}")))?;
    let (path, undo) = owner.workspace().files()?.restore(&id, params.force).map_err(|error| match error {
        WriteError::Changed(path) => RequestError {
            kind: ErrorKind::Conflict,
            message: format!("`{path}` has changed since; nothing was written"),
            hint: Some("`--force`, or `force` over HTTP, restores it all the same, and keeps what it has now".into()),
        },
        error => error.into(),
    })?;
    let searchable = owner.workspace().settled_in_time(&path).is_some();
    Ok(Restored { ok: true, path: path.to_string(), checkpoint_id: undo.to_string(), searchable })
}

fn view(checkpoint: Checkpoint) -> CheckpointView {
    let action = serde_json::to_value(checkpoint.action).ok();
    CheckpointView {
        id: checkpoint.id.to_string(),
        at: checkpoint.at.to_string(),
        path: checkpoint.path.to_string(),
        action: action.and_then(|action| action.as_str().map(str::to_owned)).unwrap_or_default(),
        by: checkpoint.by,
        bytes: checkpoint.bytes,
    }
}
