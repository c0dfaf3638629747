//! Why an index cannot be used.

use std::path::{Path, PathBuf};

use crate::fs::FsError;

/// Why an index cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QmdError {
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The name of an index is none.
    #[error("{0:?} is no name of an index: it takes letters, digits, `-`, `_` and `.`, and begins with no dot")]
    Name(String),
    /// There is no home folder to keep anything in.
    #[error("you have no home folder to keep an index in; set XDG_CACHE_HOME, XDG_CONFIG_HOME and XDG_STATE_HOME")]
    Homeless,
    /// A collection cannot be one.
    #[error("{0}")]
    Collection(String),
    /// What was written of an index is not as this program writes it.
    #[error("{} cannot be read: {reason}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// SQLite refused.
    #[error("cannot use {}: {source}", path.display())]
    Sqlite {
        /// The file.
        path: PathBuf,
        /// Why.
        #[source]
        source: rusqlite::Error,
    },
}

impl QmdError {
    /// Whether the file is no database that can be read, or not one with our tables.
    pub(super) fn is_damage(&self) -> bool {
        use rusqlite::Error as Sqlite;
        use rusqlite::ErrorCode::{DatabaseCorrupt, NotADatabase};
        let Self::Sqlite { source, .. } = self else { return false };
        match source {
            // What stands in a row is none of what is written there.
            Sqlite::FromSqlConversionFailure(..)
            | Sqlite::IntegralValueOutOfRange(..)
            | Sqlite::Utf8Error(..)
            | Sqlite::InvalidColumnType(..) => true,
            source => {
                let is_corrupt = matches!(source.sqlite_error_code(), Some(DatabaseCorrupt | NotADatabase));
                is_corrupt || source.to_string().starts_with("no such ")
            }
        }
    }

    /// What SQLite said of a file.
    pub(super) fn of(path: &Path) -> impl Fn(rusqlite::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Sqlite { path: path.clone(), source }
    }
}
