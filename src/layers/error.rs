//! Why entries cannot be read or changed.

use crate::derive::entries::EntryEditError;
use crate::path::VaultPath;
use crate::vault::{ReadError, WriteError};

/// Entries cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayersError {
    /// A memory has no folder.
    #[error("`{0}` is no agent's folder")]
    Holder(String),
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// Which.
        path: VaultPath,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// The file would not say what it is to say.
    #[error("{path}: {source}")]
    Edit {
        /// Which.
        path: VaultPath,
        /// Why.
        #[source]
        source: EntryEditError,
    },
    /// A program would drop more than a quarter of the entries.
    #[error("{path}: that drops {} of {of} entries, more than a quarter; nothing was written", lost.len())]
    Loss {
        /// Which.
        path: VaultPath,
        /// What would be lost, as texts.
        lost: Vec<String>,
        /// How many there are.
        of: usize,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
