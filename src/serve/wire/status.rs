//! How the vault and its index are.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::capture::CaptureState;
use super::facts::FactProblem;
use super::memory::{ProcessingState, SummariesState};
use super::search::{Skipped, is_zero};
use super::writes::{BackAgain, ConflictCopy};
use crate::index::sync::{ModelStatus, NextModel};

/// How the vault and its index are.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// The vault's folder.
    pub vault: String,
    /// Where the daemon listens over TCP: `127.0.0.1:7833`. Absent where none does.
    pub address: Option<String>,
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
    /// Passages of private notes, where the model is on another machine and is not given them: they are found by their words alone.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub withheld: usize,
    /// Passages, and entries by themselves, that were given to agents, as far as they are counted.
    #[serde(default)]
    pub given_chunks: u64,
    /// How often they were given.
    #[serde(default)]
    pub given_times: u64,
    /// Notes that wait to be read.
    pub pending_files: usize,
    /// Passages that wait to be embedded, by the model that serves or by the next one.
    pub pending_embeddings: usize,
    /// Notes read since the start.
    pub files_done: usize,
    /// Texts embedded since the start.
    pub embeddings_done: usize,
    /// The embedding model.
    pub model: Model,
    /// The chat model, where `[chat]` names one.
    pub chat: Option<ChatState>,
    /// What the chat model of the memory does and has cost.
    pub processing: Option<ProcessingState>,
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
    /// Notes that were changed in two places: what a sync service left beside others, and notes with conflict markers of git. They are
    /// indexed as any note; a copy that says the same as its note is found with that alone.
    #[serde(default)]
    pub conflict_copies: Vec<ConflictCopy>,
    /// What was forgotten for good and stands in notes again, as far as they were looked over. It stays.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgotten_back: Vec<BackAgain>,
    /// Why `memory.toml` cannot be read, while it cannot; what it said before counts.
    pub config_failure: Option<String>,
    /// Whether `memory.toml` says something else than at the start that counts after a restart alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub config_waits: bool,
    /// What is wrong now, when something is.
    pub failure: Option<String>,
    /// What of the index was damaged or stale since the start and is made anew, when something was.
    pub rebuilt: Option<String>,
    /// What the last check of the index came to, when there was one since the start.
    pub verified: Option<Verification>,
    /// How captured events are, where a daemon takes them.
    pub capture: Option<CaptureState>,
    /// The facts, where a daemon follows them.
    pub facts: Option<FactsState>,
    /// How the summaries are, where a daemon keeps them.
    pub summaries: Option<SummariesState>,
    /// How sessions of other programs are kept, where `[[sessions]]` names some and a daemon keeps them.
    pub sessions: Option<SessionsState>,
    /// What became of the backups that the daemon makes, where `[backup] every` has it make them.
    pub backup: Option<Backup>,
}

/// The facts of all `facts.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactsState {
    /// Those that are true now.
    pub current: usize,
    /// Those whose time is over, and that still stand in their files.
    pub expired: usize,
    /// Those whose time has not come.
    pub future: usize,
    /// What of the files cannot be read as it was meant.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FactProblem>,
}

/// The backups that the daemon makes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backup {
    /// When the last one was done since the start, as RFC 3339; there may have been nothing to commit.
    pub last_at: Option<String>,
    /// The vault's newest commit.
    pub last_commit: Option<String>,
    /// Why the last one was not done, or what it left out, and what to do about it.
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
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Watching {
    /// `events`, `events and polling`, `polling`, or `not yet`.
    pub by: String,
    /// Why it polls, and what can be done about it.
    pub reason: Option<String>,
    /// Since when the vault's folder is not there, while it is not; answers are of what was last known.
    pub missing_since: Option<String>,
    /// How often events were lost since the start, so that everything was compared.
    pub losses: usize,
    /// When they were lost last.
    pub lost_at: Option<String>,
    /// When the index had caught up after that; absent while it has not.
    pub recovered_at: Option<String>,
    /// Seconds between two timed comparisons of the whole vault with the index.
    pub reconcile_seconds: u64,
    /// When the whole vault was last compared with the index, for whatever reason.
    pub compared_at: Option<String>,
}

/// The embedding model.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Model {
    /// `off`, `loading`, `ready` or `failed`.
    pub state: String,
    /// Its name, or why it cannot be used.
    pub detail: Option<String>,
    /// The length of its vectors.
    pub dimension: Option<usize>,
    /// Which of the processor's instructions it computes with, where it does so in this program: `native` in one that was built for
    /// this processor, otherwise `base`, or the best of `avxvnni`, `avx512` and `avx512bf16`.
    pub instructions: Option<String>,
    /// Why passages wait for it, or the last search did without it, while it fails in a way that may pass. It is tried again.
    pub trouble: Option<String>,
    /// The model that takes its place once it has embedded the vault.
    pub next: Option<ModelToCome>,
    /// Passages that were handed to the service in batches, where some were since the start.
    pub batch: Option<BatchState>,
    /// Vectors that are kept of models which are not in use.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept_vectors: usize,
}

/// Passages that were handed to the service in batches, which are done within a day.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BatchState {
    /// How many texts are in batches and wait still.
    pub texts: usize,
    /// Since when the first batch is under way, as RFC 3339; absent where none is.
    pub since: Option<String>,
    /// `handing_over`; how the service says that the first batch is (`validating`, `in_progress`, `finalizing`); or `ended`.
    pub state: String,
    /// Why the answers of a batch that has ended are not there yet; they are asked for again for as long as the service has them.
    pub trouble: Option<String>,
    /// What went wrong with one since the start. Its texts go to the service as others do.
    pub problem: Option<String>,
}

/// A model that embeds the vault while another one serves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelToCome {
    /// `loading`, `ready`, or `failed`: then the other one goes on.
    pub state: String,
    /// Its name, or why it cannot be used; empty while it is being loaded.
    pub detail: String,
    /// Passages that it has embedded.
    pub embedded: usize,
    /// Passages that it is to embed.
    pub of: usize,
    /// Why passages wait for it, while it fails in a way that may pass. It is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// The chat model that helps searches.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChatState {
    /// Its name; absent where it cannot be asked at all.
    pub name: Option<String>,
    /// Why it did not answer the last time, or cannot be asked.
    pub trouble: Option<String>,
    /// Requests that it has answered since the start.
    pub answers: u64,
    /// Tokens that it has read for them, where it counts.
    pub prompt_tokens: u64,
    /// Tokens that it has written.
    pub answer_tokens: u64,
}

impl Model {
    /// What is known of a model, as it is told.
    pub fn of(model: ModelStatus) -> Self {
        let instructions = match model {
            ModelStatus::Ready { instructions, .. } => instructions.map(str::to_owned),
            _ => None,
        };
        let (state, detail, dimension, trouble) = match model {
            ModelStatus::Off => ("off", None, None, None),
            ModelStatus::Loading => ("loading", None, None, None),
            ModelStatus::Ready { name, dimension, trouble, .. } => ("ready", Some(name), Some(dimension), trouble),
            ModelStatus::Failed(reason) => ("failed", Some(reason), None, None),
        };
        Self { state: state.into(), detail, dimension, instructions, trouble, next: None, batch: None, kept_vectors: 0 }
    }

    /// The same with the one that takes its place, and what is kept of others.
    pub fn with_others(model: ModelStatus, next: Option<NextModel>, kept_vectors: usize) -> Self {
        let to_come = |next: NextModel| {
            let Self { state, detail, trouble, .. } = Self::of(next.model);
            ModelToCome { state, detail: detail.unwrap_or_default(), embedded: next.embedded, of: next.of, trouble }
        };
        Self { next: next.map(to_come), kept_vectors, ..Self::of(model) }
    }
}

/// How far the index is: what changes of the status while it works.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProgressView {
    /// `starting`, `indexing`, `embedding`, `idle`, `failing` or `stopped`.
    pub phase: String,
    /// Whether every note has been compared with the index since the start.
    pub caught_up: bool,
    /// The number of the index's state: another one may answer otherwise.
    pub seq: u64,
    /// Indexed notes.
    pub files: usize,
    /// Passages that have something to embed.
    pub embeddable: usize,
    /// Embedded passages.
    pub embedded: usize,
    /// Facts whose time is over.
    #[serde(default)]
    pub expired_facts: usize,
    /// Notes that wait to be read.
    pub pending_files: usize,
    /// Notes read since the start.
    pub files_done: usize,
    /// Passages that wait to be embedded, by the model that serves or by the next one.
    pub pending_embeddings: usize,
    /// Texts embedded since the start.
    pub embeddings_done: usize,
    /// The embedding model.
    pub model: Model,
    /// What is wrong now, when something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Another model is being loaded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelReloaded {
    /// What `embed.model` names; `status` tells how far it is.
    pub model: String,
}

/// What was kept of models that are not in use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DroppedVectors {
    /// How many vectors were dropped.
    pub dropped: usize,
}

/// How to reindex.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReindexParams {
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

/// What a text is embedded as: models that tell them apart compare a query with documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EmbeddedAs {
    /// What is looked for.
    Query,
    /// What is found.
    #[default]
    Document,
}

/// The embedding of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Embedding {
    /// The vector, of length 1: the dot product of two is their cosine.
    pub embedding: Vec<f32>,
    /// How many numbers it has.
    pub dimension: usize,
    /// The model that made it.
    pub model: String,
    /// What the text was embedded as.
    pub kind: EmbeddedAs,
}

/// How the sessions of other programs are kept that `[[sessions]]` names.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionsState {
    /// How changes are noticed: `events` or `polling`; empty until the files were looked at.
    pub by: String,
    /// Why it polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Files that there are.
    pub sources: usize,
    /// Sessions that are kept in the vault.
    pub sessions: usize,
    /// Those whose files are gone; they stay until they are too old or too many.
    pub gone: usize,
    /// How often a file was begun anew: what was kept of it before stays in notes of its own.
    pub begun_anew: usize,
    /// Files that are shorter than they were: what was kept of them stays.
    pub cut_short: usize,
    /// Notes that you have edited: what comes is added to them.
    pub edited: usize,
    /// What could not be read or written, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Skipped>,
}
