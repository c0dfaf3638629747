//! The use cases, each for a principal. What the transports and the command line call.

mod agent_search;
mod agents;
mod annotate;
mod annotations;
mod capture;
mod embedding;
mod error;
mod forget;
mod ingest;
mod listing;
mod memory;
mod note;
mod progress;
mod reach;
mod read;
mod save;
mod search;
mod start;
mod stats;
mod status;
mod time;
mod undo;
mod views;
mod watching;

pub use agent_search::{AgentFound, AgentSearchParams, AgentStatus};
pub use capture::{CaptureSettings, CaptureSettingsParams, CaptureState, EventsAccepted};
pub use embedding::{EmbeddedAs, Embedding};
pub use error::{ErrorKind, ServiceError};
pub use listing::{Listing, ListingParams, NoteName};
pub use note::{NoteParams, NoteView, PassageSpan};
pub use progress::{Following, ProgressView};
pub use reach::Limits;
pub use read::{citation, percent_encode, percent_encode_path, split_lines};
pub use search::named;
pub use start::{Service, StartError};
pub use views::{
    AgentParams, AgentRemoved, AgentRules, AgentView, AgentWithToken, AgentsView, ExplainParams, Explained, LogParams,
    LogView, RotateParams,
};
pub use views::{
    AnnotateParams, Annotated, AnnotationView, CheckpointView, CheckpointsParams, CheckpointsView, DeleteParams,
    ForgetParams, Forgotten, PassageView, PurgedView, RestoreParams, Restored,
};
pub use views::{
    Backup, Browse, BrowseParams, ChunkView, Collection, Collections, ConflictCopy, Growth, HitView, Model, Object,
    ReindexParams, Reindexing, SaveParams, Saved, Scores, SearchParams, SearchResponse, Skipped, Stats, Status,
    Verification, Watching, whole,
};
pub use views::{
    MemoryCandidate, MemoryChange, MemoryDeleteParams, MemoryForgetParams, MemoryForgotten, MemoryGetParams,
    MemoryRestoreParams, MemorySaveParams, MemorySearchParams, MemoryText,
};
