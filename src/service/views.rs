//! What the service takes and gives, as JSON says it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::{IntoParams, ToSchema};

use super::capture::CaptureState;
use crate::config::Mode;

mod agents;
mod memory;
mod object;
mod whole;
mod writes;

pub use agents::*;
pub use memory::*;
pub use object::{Object, object};
pub use whole::whole;
pub use writes::*;

/// A search.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SearchParams {
    /// Words, `"phrases"` and `-exclusions`, or a question.
    pub q: String,
    /// Which sides are asked; `[search] mode` when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<Mode>,
    /// Only this collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Only notes with this tag, or one below it; with commas between them several, of which each must be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only notes whose path starts so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Only notes updated then or later: a date, an RFC 3339 time, or how long ago (`7d`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Only notes updated by then; a date includes its day.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// Hits at most, 1 to 1,000; `[search] limit` when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Whether each hit says where its snippet has words of the query.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub highlight: bool,
}

/// The answer to a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SearchResponse {
    /// What was asked.
    pub query: String,
    /// The mode that was used.
    pub mode: Mode,
    /// The hits, best first.
    pub results: Vec<HitView>,
    /// Why the answer is less than it could be, when it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
    /// The share of the passages that may be seen that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// How long the server took, in milliseconds. Agents are not told, so that the same answer is the same bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub took_ms: Option<f64>,
}

impl SearchResponse {
    /// Where each hit stands.
    pub(super) fn citations(&self) -> Vec<String> {
        self.results.iter().map(|hit| hit.chunk.citation.clone()).collect()
    }
}

/// A passage with its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ChunkView {
    /// The passage's name.
    pub hash: String,
    /// The collection of its note.
    pub collection: String,
    /// The note's path in the vault.
    pub path: String,
    /// The note's title.
    pub title: String,
    /// The headings it stands under, outermost first.
    pub heading_path: Vec<String>,
    /// The passage.
    pub content: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// `notes/api.md#L42-L58`: path and lines of the file as indexed.
    pub citation: String,
    /// Opens the note in Obsidian. Agents are not told where the vault is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obsidian_url: Option<String>,
    /// The note's tags.
    pub tags: Vec<String>,
    /// The note's frontmatter.
    pub metadata: Value,
    /// When the note was made, as RFC 3339: its frontmatter's word, else the file's.
    pub created_at: String,
    /// When it was last changed.
    pub updated_at: String,
}

/// A passage that was found.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct HitView {
    /// The passage.
    #[serde(flatten)]
    pub chunk: ChunkView,
    /// The part of the passage that answers best.
    pub snippet: String,
    /// First character and the one after the last of each word of the query in the snippet, when they were asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub highlights: Option<Vec<[usize; 2]>>,
    /// What the hits are ordered by; compares within one response only.
    pub score: f64,
    /// The scores of each side.
    pub scores: Scores,
}

/// The scores of each side.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Scores {
    /// BM25; absent when the words were not asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keyword: Option<f64>,
    /// Cosine; absent when the meaning was not asked, or the passage is not embedded yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub semantic: Option<f64>,
}

/// A page of passages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BrowseParams {
    /// Only this collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Only notes updated on this day of the local time zone: `2026-01-05`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Passages at most, 1 to 1,000; 20 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Passages to leave out first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
}

/// Passages, of the newest notes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Browse {
    /// This page.
    pub chunks: Vec<ChunkView>,
    /// How many there are on all pages.
    pub total: usize,
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Collection {
    /// Notes.
    pub files: usize,
    /// Passages.
    pub chunks: usize,
    /// Bytes of its notes.
    pub bytes: u64,
    /// The share of its passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// When a note of it was last changed, as RFC 3339.
    pub updated_at: String,
}

/// What there is, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stats {
    /// Passages.
    pub total: usize,
    /// Passages of each collection.
    pub collections: BTreeMap<String, usize>,
    /// Notes.
    pub files: usize,
    /// Bytes of all notes.
    pub bytes: u64,
    /// The share of the passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// More of each collection.
    pub details: BTreeMap<String, Collection>,
    /// What was made in each month that has anything, the oldest first.
    pub growth: Vec<Growth>,
}

/// What was made in a month, by the notes' dates of creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Growth {
    /// `2026-01`, in the local time zone.
    pub month: String,
    /// Notes.
    pub notes: usize,
    /// Their passages, as they are now.
    pub chunks: usize,
}

/// The names of the collections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Collections {
    /// In alphabetical order.
    pub collections: Vec<String>,
}

/// How the vault and its index are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// The vault's folder.
    pub vault: String,
    /// `starting`, `indexing`, `embedding`, `idle`, `failing` or `stopped`.
    pub phase: String,
    /// Whether every note has been compared with the index since the start.
    pub caught_up: bool,
    /// Indexed notes.
    pub files: usize,
    /// Indexed passages.
    pub chunks: usize,
    /// Embedded passages.
    pub embedded: usize,
    /// Passages that have something to embed.
    pub embeddable: usize,
    /// Notes that wait to be read.
    pub pending_files: usize,
    /// Texts that wait to be embedded.
    pub pending_embeddings: usize,
    /// Notes read since the start.
    pub files_done: usize,
    /// Texts embedded since the start.
    pub embeddings_done: usize,
    /// The embedding model.
    pub model: Model,
    /// How changes are noticed.
    pub watching: Watching,
    /// The folder of the derived stores.
    pub index_dir: String,
    /// Bytes of the derived stores.
    pub index_bytes: u64,
    /// Bytes of the indexed notes.
    pub text_bytes: u64,
    /// What could not be indexed, or not as it was meant, and why.
    pub problems: Vec<Skipped>,
    /// What is wrong now, when something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
    /// What of the index was damaged or stale since the start and is made anew, when something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rebuilt: Option<String>,
    /// What the last check of the index came to, when there was one since the start.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verified: Option<Verification>,
    /// How captured events are, where a daemon takes them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capture: Option<CaptureState>,
    /// What became of the backups that the daemon makes, where `[backup] every` has it make them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backup: Option<Backup>,
}

/// The backups that the daemon makes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backup {
    /// When the last one was done since the start, as RFC 3339; there may have been nothing to commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_at: Option<String>,
    /// The vault's newest commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_commit: Option<String>,
    /// Why the last one was not done, or what it left out, and what to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What a check of the whole index came to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    /// When it ended, as RFC 3339.
    pub at: String,
    /// How long it took, in milliseconds; in the background it takes its time.
    pub took_ms: u64,
    /// Notes that were compared with their checksums.
    pub files: usize,
    /// Passages likewise.
    pub chunks: usize,
    /// Embeddings likewise.
    pub embeddings: usize,
    /// What is damaged and is mended from then on; empty when all is whole.
    pub damage: Vec<String>,
}

/// How changes are noticed. Times are RFC 3339.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Watching {
    /// `events`, `events and polling`, `polling`, or `not yet`.
    pub by: String,
    /// Why it polls, and what can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Since when the vault's folder is not there, while it is not; answers are of what was last known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missing_since: Option<String>,
    /// How often events were lost since the start, so that everything was compared.
    pub losses: usize,
    /// When they were lost last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lost_at: Option<String>,
    /// When the index had caught up after that; absent while it has not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovered_at: Option<String>,
    /// Seconds between two timed comparisons of the whole vault with the index.
    pub reconcile_seconds: u64,
    /// When the whole vault was last compared with the index, for whatever reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compared_at: Option<String>,
}

/// The embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Model {
    /// `off`, `loading`, `ready` or `failed`.
    pub state: String,
    /// Its name, or why it cannot be used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
    /// The length of its vectors.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dimension: Option<usize>,
}

/// Something that could not be indexed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Skipped {
    /// Where it is.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// A text to keep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveParams {
    /// Markdown, up to 50 KB.
    pub content: String,
    /// The note's title; the first line of the content when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The top-level folder that it goes to; `snippets` when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Tags, without `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// What else is to be in the frontmatter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, Value>>,
}

/// A text that was saved and can be found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Saved {
    /// Always true.
    pub ok: bool,
    /// Names the note as it is now; what deletes it takes this.
    pub hash: String,
    /// Where it is.
    pub path: String,
    /// How many passages it has.
    pub chunks: usize,
    /// Whether the note was there before: the same text, or in `notes` one of the same title.
    pub existing: bool,
    /// Whether secrets were taken out of the text, each marked as `[redacted: …]`.
    pub redacted: bool,
}

/// How to reindex.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReindexParams {
    /// Build everything from nothing, instead of comparing every note with the index.
    #[serde(default)]
    pub full: bool,
}

/// Reindexing has begun.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reindexing {
    /// Always true; `status` tells how far it is.
    pub ok: bool,
}
