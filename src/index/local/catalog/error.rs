//! How the catalog fails.

/// The catalog failed.
#[derive(Debug, thiserror::Error)]
pub enum CatalogError {
    /// SQLite refused.
    #[error("the catalog: {0}")]
    Sqlite(#[from] rusqlite::Error),
    /// It was written by a version with other tables.
    #[error("the catalog has format {found}; this version reads {wanted}")]
    Format {
        /// The format found.
        found: i64,
        /// The format of this version.
        wanted: i64,
    },
    /// A row does not hold what it should.
    #[error("the catalog is damaged: {0}")]
    Damaged(String),
}

impl CatalogError {
    /// Whether the file's content is at fault, and not the disk or rights.
    pub fn is_damage(&self) -> bool {
        use rusqlite::ErrorCode as Code;
        let environment = [
            Code::CannotOpen,
            Code::DatabaseBusy,
            Code::DatabaseLocked,
            Code::DiskFull,
            Code::FileLockingProtocolFailed,
            Code::OutOfMemory,
            Code::PermissionDenied,
            Code::ReadOnly,
            Code::SystemIoFailure,
        ];
        match self {
            Self::Sqlite(error) => !error.sqlite_error_code().is_some_and(|code| environment.contains(&code)),
            Self::Format { .. } | Self::Damaged(_) => true,
        }
    }
}
