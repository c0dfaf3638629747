//! Copies of a vault in other places: commits by the person's own git, and archives of the whole folder.
//!
//! Nothing here forces, resets or overwrites: what cannot be done without that is said, with what to do next.

mod archive;
mod git;
mod repository;
mod task;

pub(crate) use archive::{Export, Import, Made, export, export_to, import};
pub(crate) use git::{BackupError, Cancel};
pub(crate) use repository::{Initialized, Repository, init_repository};
pub(crate) use task::{BackupState, Trust, back_up};
