//! Why facts and entries cannot be read or changed.

use crate::config::MemoryScope;
use crate::derive::ItemEditError;
use crate::path::VaultPath;
use crate::vault::{ReadError, WriteError};

/// Facts or entries cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ItemError {
    /// A scope has no folder.
    #[error("the memory scope `{0}` has no folder")]
    Scope(MemoryScope),
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
        source: ItemEditError,
    },
    /// The value is another than the one who sets it believes.
    #[error("{path}: `{key}` is {now} now; nothing was written")]
    Other {
        /// Which file.
        path: VaultPath,
        /// Which fact.
        key: String,
        /// What it is.
        now: String,
    },
    /// A memory has no folder.
    #[error("`{0}` is no agent's folder")]
    Holder(String),
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
