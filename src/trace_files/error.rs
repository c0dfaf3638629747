//! Why traces cannot be read or written.

use crate::fs::FsError;

/// Traces cannot be read or written. Several who wait for one write hear the same.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum TraceFilesError {
    /// The vault's folder is away.
    #[error("the vault's folder is not there")]
    Away,
    /// The disk refused.
    #[error("{0}")]
    Disk(String),
    /// An agent has sent as much as it may.
    #[error("{0}")]
    TooMuch(String),
    /// Nobody waits for the answer any more.
    #[error("it took too long")]
    GivenUp,
}

impl From<FsError> for TraceFilesError {
    fn from(error: FsError) -> Self {
        Self::Disk(error.to_string())
    }
}
