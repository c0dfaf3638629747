//! Whose a text is that is kept or dropped: the person's is a note, an agent's is in its own memory.

use crate::request::{RequestError, Viewer};
use crate::wire::{ForgetParams, SaveParams, Saved};
use crate::{memory, notes};

/// Keeps a text.
///
/// # Errors
/// As [`notes::save`] and [`memory::keep`].
pub(crate) fn keep(viewer: &Viewer, params: &SaveParams) -> Result<Saved, RequestError> {
    match viewer.owner() {
        Some(owner) => notes::save(&owner, params),
        None => memory::keep(&viewer.memory_writer()?, params),
    }
}

/// Drops the chunk with a hash, and says what brings it back.
///
/// # Errors
/// As [`notes::forget`] and [`memory::drop_chunk`].
pub(crate) fn drop_chunk(viewer: &Viewer, hash: &str) -> Result<Option<String>, RequestError> {
    match viewer.owner() {
        Some(owner) => {
            let params = ForgetParams { hash: Some(hash.to_owned()), ..ForgetParams::default() };
            notes::forget(&owner, &params).map(|forgotten| forgotten.checkpoint_id)
        }
        None => memory::drop_chunk(&viewer.memory_writer()?, hash).map(|change| Some(change.checkpoint_id)),
    }
}
