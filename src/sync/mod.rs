//! Keeps the index what the files say.
//!
//! Events and scans name places; [`plan`] compares those on disk with the catalog; files that may have changed are read,
//! parsed and cut on all cores; the one writer thread applies them in batches, and publishes a snapshot after each. Texts
//! are embedded in the background, newest first.

mod backlog;
mod dispatch;
mod embedding;
mod open;
mod plan;
mod prepare;
mod reading;
mod shared;
mod syncer;
mod watching;
mod worker;

pub use open::open_store;
pub use plan::{Plan, plan};
pub use prepare::{Outcome, prepare};
pub use shared::{ModelStatus, Phase, Progress, Shared};
pub use syncer::{LoadModel, Options, ReindexError, Syncer};
pub use watching::WatchState;
