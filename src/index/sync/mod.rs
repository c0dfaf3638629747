//! Keeps the index what the files say.
//!
//! Events and scans name places; a plan compares those on disk with the catalog; files that may have changed are read,
//! parsed and cut on all cores; the one writer thread applies them in batches, and publishes a snapshot after each. Texts
//! are embedded in the background, newest first. While nothing else is to do, the stores are checked; what is damaged is
//! built anew.

mod embedding;
mod fresh;
mod lane;
mod reading;
mod shared;
mod syncer;
mod verify;
mod watching;
mod worker;

pub(crate) use fresh::FRESH_WITHIN;
pub(crate) use shared::{ModelStatus, NextModel, Phase, Shared};
pub use shared::{SyncProgress, Verification, Watching};
pub(crate) use syncer::{RefusedError, SyncOptions, Syncer};
