//! Copies of a vault in other places: commits by the person's own git, and archives of the whole folder.
//!
//! Nothing here forces, resets or overwrites: what cannot be done without that is said, with what to do next.

mod archive;
mod changes;
mod error;
mod git;
mod git_config;
mod markers;
mod repository;
mod timer;
mod trust;

pub use archive::{ArchiveError, Export, Exported, Import, Imported, Made, export, export_to, import};
pub use changes::Counts;
pub use error::BackupError;
pub use git::Cancel;
pub use repository::{BackupCommit, BackupReport, HeldBack, Initialized, Repository, init_repository};
pub use timer::{BackupState, Timer};
pub use trust::Trust;
