//! Copies of a vault in other places: commits by the person's own git, and archives of the whole folder.
//!
//! Nothing here forces, resets or overwrites: what cannot be done without that is said, with what to do next.

mod contents;
mod export;
mod import;
mod repository;

pub(crate) use crate::vault::disk::BackupError;
pub(crate) use export::{Made, export, export_to};
pub(crate) use import::import;
pub(crate) use repository::{Repository, Trust, back_up, init_repository};
