//! What is asked and answered, as HTTP, MCP and the command line share it: JSON and its schemas.

mod agent_search;
mod agents;
mod attachments;
mod browse;
mod capture;
mod citation;
mod conflicts;
mod context;
mod embedding;
mod entries;
mod facts;
mod forgotten;
mod graph;
mod import;
mod links;
mod listing;
mod memory;
mod model;
mod note;
mod object;
mod osaurus;
mod processing;
mod profile;
mod progress;
mod reindex;
mod related;
mod save;
mod search;
mod status;
mod summaries;
mod tags;
mod traces;
mod whole;
mod writes;

pub(crate) use agent_search::{AgentFound, AgentSearchParams, AgentStatus};
pub use agents::*;
pub use attachments::{AttachmentState, AttachmentView, AttachmentsView};
pub use browse::BrowseParams;
pub(crate) use browse::{Browse, Collection, Collections, Growth, Stats};
pub(crate) use capture::{CaptureSettings, CaptureSettingsParams, CaptureState, EventsAccepted};
<<<<<<< HEAD
pub(crate) use citation::{
    citation, passage_citation, percent_encode, percent_encode_path, source_line, split_lines, split_page,
};
=======
pub(crate) use citation::{citation, percent_decode, percent_encode, percent_encode_path, source_line, split_lines};
>>>>>>> main
pub use conflicts::*;
pub use context::*;
pub(crate) use embedding::{EmbeddedAs, Embedding};
pub use entries::*;
pub use facts::*;
pub use forgotten::*;
pub use graph::*;
pub use import::{ImportNote, ImportParams, ImportTaken};
pub use links::{Backlink, LinkView, LinksParams, LinksView};
pub(crate) use listing::{Listing, ListingParams, named};
pub use listing::{NoteName, NotesParams, NotesView};
pub use memory::*;
pub use model::{KeptVectors, ModelReloaded};
pub(crate) use note::PassageSpan;
pub use note::{NoteParams, NoteView};
pub(crate) use object::Object;
pub use osaurus::*;
pub use processing::*;
pub use profile::*;
pub(crate) use progress::ProgressView;
pub(crate) use reindex::{ReindexParams, Reindexing};
pub use related::{Linked, RelatedNote, RelatedParams, RelatedView};
pub use save::{SaveParams, Saved};
pub(crate) use search::{ChunkView, Scores};
pub use search::{HitView, SearchQuery, SearchResponse};
pub use status::*;
pub use summaries::*;
pub use tags::{TagCount, TagsView};
pub(crate) use traces::{TRACE_VERSION, TraceKept, TraceParams, TracesParams, TracesView};
pub(crate) use whole::whole;
pub use writes::*;
