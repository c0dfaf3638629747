//! The use cases, each for a principal. What the transports and the command line call.

mod error;
mod model;
mod note;
mod progress;
mod read;
mod save;
mod start;
mod stats;
mod time;
mod views;
mod watching;

pub use error::{ErrorKind, ServiceError};
pub use note::{AnnotationView, NoteParams, NoteView, PassageView};
pub use progress::{Following, ProgressView};
pub use read::{citation, percent_encode};
pub use start::{Service, StartError};
pub use views::{
    Backup, Browse, BrowseParams, ChunkView, Collection, Collections, Growth, HitView, Model, ReindexParams,
    Reindexing, SaveParams, Saved, Scores, SearchParams, SearchResponse, Skipped, Stats, Status, Verification,
    Watching,
};
