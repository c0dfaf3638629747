//! Setting the indexer to work.

use crate::request::{Owner, RequestError, rfc3339};
use crate::sync::Verified;
use crate::wire::{Reindexing, Verification};

/// Starts to compare every note with the index, or with `full` to build it from nothing.
///
/// # Errors
/// When another process writes the index, or it cannot be written.
pub fn reindex(owner: &Owner, full: bool) -> Result<Reindexing, RequestError> {
    owner.workspace().syncer()?.reindex(full)?;
    Ok(Reindexing { ok: true })
}

/// Compares everything in the index with its checksums. What is damaged is mended from then on.
///
/// # Errors
/// When another process writes the index, or it cannot be read.
pub fn verify(owner: &Owner) -> Result<Verification, RequestError> {
    Ok(verification(owner.workspace().syncer()?.verify()?))
}

/// What a check came to, as it is told.
pub(crate) fn verification(verified: Verified) -> Verification {
    let Verified { at_ms, took_ms, counts: [files, chunks, embeddings], damage } = verified;
    Verification { at: rfc3339(at_ms), took_ms, files, chunks, embeddings, damage }
}
