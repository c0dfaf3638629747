//! Why the state cannot be used.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

use crate::base::fs::FsError;

/// The state cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// SQLite refused.
    #[error("cannot use {}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
    /// The file is not as this program writes it.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// Another version of this program wrote it.
    #[error(
        "{} has format {found}, and this version knows only format {known}: use the version that wrote it, or move the file away; \
         the vault then starts with a new one, without tokens and without its list of purged texts",
        path.display()
    )]
    Format {
        /// The file.
        path: PathBuf,
        /// The format found.
        found: i64,
        /// The format that is known.
        known: i64,
    },
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl StateError {
    /// What SQLite said of the file at a path. A full disk is said as it is elsewhere.
    pub(super) fn of(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                let source = rustix::io::Errno::NOSPC.into();
                Self::Fs(FsError { operation: "write", path, source })
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, reason: source.to_string() }
            }
            _ => Self::Sqlite { path, source },
        }
    }

    /// Whether what the file holds is at fault, and not the disk, rights or another process.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}
