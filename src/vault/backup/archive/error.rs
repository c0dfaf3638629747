//! Why an archive was not written or read.

use std::io;
use std::path::PathBuf;

use crate::base::config::FILE_NAME;
use crate::base::fs::FsError;
use crate::base::state::StateError;
use crate::memory::trace_files::TraceFilesError;
use crate::vault::disk::WriteError;

/// Why an archive was not written, or not read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ArchiveError {
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// There is a file where the archive is to be.
    #[error("{} already exists, and was not changed. Name another file, or remove it", .0.display())]
    Exists(PathBuf),
    /// The archive would be part of what it holds.
    #[error("{} is in the vault, so the archive would contain itself; name a place outside", .0.display())]
    InsideVault(PathBuf),
    /// A file became shorter, or is written to without end.
    #[error("{0} changed during the export; export again")]
    Changed(String),
    /// The archive cannot be written.
    #[error("the archive cannot be written: {0}")]
    Write(#[source] io::Error),
    /// The archive cannot be read.
    #[error("the archive cannot be read: {0}")]
    Read(#[source] io::Error),
    /// There is something where the vault is to be.
    #[error("{} is not an empty folder, and was not changed. Name an empty folder, or one that does not exist yet", .0.display())]
    NotEmpty(PathBuf),
    /// It is something else.
    #[error("this is not an archive of a vault: {0}")]
    NotAnArchive(String),
    /// The end is missing.
    #[error("the archive is cut short: its end is missing. Nothing was imported")]
    CutShort,
    /// It is not what was written.
    #[error("the archive is damaged: {0}. Nothing was imported")]
    Damaged(String),
    /// It has something that `vault export` does not write.
    #[error("the archive has {path}, {why}, which no `vault export` writes. Nothing was imported")]
    Unsafe {
        /// The entry's path.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A newer program made it.
    #[error("the archive has format {0}, which this version does not know; use a newer `vault`")]
    Newer(u32),
    /// What was forgotten for good cannot be read, so nothing may be written.
    #[error("the list of purged texts cannot be read: {0}. Nothing was imported")]
    State(#[from] StateError),
    /// What was before cannot be left out.
    #[error(transparent)]
    Checkpoints(#[from] WriteError),
    /// Nor out of the traces of agents.
    #[error("purged texts cannot be removed from the traces of agents: {0}. Nothing was imported")]
    Traces(#[from] TraceFilesError),
    /// It holds no vault.
    #[error("the archive contains no vault: it has no {FILE_NAME}. Nothing was imported")]
    NoVault,
}
