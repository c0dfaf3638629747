//! What is asked and answered, as HTTP, MCP and the command line share it: JSON and its schemas.

mod agent_search;
mod agents;
mod browse;
mod capture;
mod citation;
mod embedding;
mod listing;
mod memory;
mod note;
mod object;
mod progress;
mod reindex;
mod save;
mod search;
mod status;
mod whole;
mod writes;

pub use agent_search::{AgentFound, AgentSearchParams, AgentStatus};
pub use agents::*;
pub use browse::{Browse, BrowseParams, Collection, Collections, Growth, Stats};
pub use capture::{CaptureSettings, CaptureSettingsParams, CaptureState, EventsAccepted};
pub use citation::{citation, percent_encode, percent_encode_path, split_lines};
pub use embedding::{EmbeddedAs, Embedding};
pub use listing::{Listing, ListingParams, NoteName};
pub use memory::*;
pub use note::{NoteParams, NoteView, PassageSpan};
pub use object::{Object, object};
pub use progress::ProgressView;
pub use reindex::{ReindexParams, Reindexing};
pub use save::{SaveParams, Saved};
pub use search::{ChunkView, HitView, Scores, SearchQuery, SearchResponse};
pub use status::*;
pub use whole::whole;
pub use writes::*;
