//! The use cases, each for a principal. What the transports and the command line call.

mod capture;
mod error;
mod model;
mod read;
mod save;
mod start;
mod time;
mod views;
mod watching;

pub use capture::{CaptureSettings, CaptureSettingsParams, CaptureState, EventsAccepted};
pub use error::{ErrorKind, ServiceError};
pub use read::{citation, percent_encode};
pub use start::{Service, StartError};
pub use views::{
    Backup, Browse, BrowseParams, ChunkView, Collection, Collections, HitView, Model, ReindexParams, Reindexing,
    SaveParams, Saved, Scores, SearchParams, SearchResponse, Skipped, Stats, Status, Verification, Watching,
};
