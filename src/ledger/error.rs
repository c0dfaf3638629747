//! Why facts cannot be read or changed.

use crate::config::MemoryScope;
use crate::derive::facts::FactEditError;
use crate::path::VaultPath;
use crate::vault::{ReadError, WriteError};

/// Facts cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LedgerError {
    /// A scope has no folder.
    #[error("the memory scope `{0}` has no folder; `[memory_scopes]` in memory.toml names those there are")]
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
        source: FactEditError,
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
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}
