//! Why a note was not written.

use super::checkpoint::CheckpointId;
use crate::base::fs::FsError;
use crate::base::path::VaultPath;

/// Why a note was not written. Whatever it is, the file is as it was.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No note may be there.
    #[error("`{path}` cannot be written: {reason}")]
    Refused {
        /// Where.
        path: String,
        /// Why, as the end of a sentence.
        reason: &'static str,
    },
    /// There is something already.
    #[error("`{0}` already exists")]
    Exists(VaultPath),
    /// There is nothing.
    #[error("there is no note `{0}`")]
    Gone(VaultPath),
    /// Somebody else has changed it since it was read.
    #[error("`{0}` has changed since; nothing was written")]
    Changed(VaultPath),
    /// No checkpoint has this name.
    #[error("there is no checkpoint {0}; `vault checkpoints` lists them all")]
    NoCheckpoint(CheckpointId),
    /// An agent has written as much as it may.
    #[error("the limit of {0} bytes per day is reached; nothing was written")]
    TooMuch(u64),
    /// The disk refused.
    #[error(transparent)]
    Fs(#[from] FsError),
}
