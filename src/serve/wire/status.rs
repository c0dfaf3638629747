//! How the vault and its index are.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::agents::CaptureState;
use super::facts::FactProblem;
use super::memory::{ProcessingState, SummariesState};
use super::search::{Skipped, is_zero};
use super::writes::{BackAgain, ConflictCopy};
use crate::index::sync::{ModelStatus, NextModel};
pub use crate::index::sync::{Verification, Watching};

/// State of the vault and its index.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Status {
    /// The program's version.
    pub version: String,
    /// The vault's folder.
    pub vault: String,
    /// TCP address of the daemon: `127.0.0.1:7833`. Absent if it does not listen on TCP.
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
    /// Passages with text to embed.
    pub embeddable: usize,
    /// Passages of private notes that are not sent to a model on another machine: they are found only by their words.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub withheld: usize,
    /// Notes waiting to be read.
    pub pending_files: usize,
    /// Passages waiting to be embedded, by the present model or the next one.
    pub pending_embeddings: usize,
    /// Notes read since the start.
    pub files_done: usize,
    /// Texts embedded since the start.
    pub embeddings_done: usize,
    /// The embedding model.
    pub model: Model,
    /// The chat model, if `[chat]` names one.
    pub chat: Option<ChatState>,
    /// Activity and cost of the chat model of the memory.
    pub processing: Option<ProcessingState>,
    /// How changes are noticed.
    pub watching: Watching,
    /// The folder of the derived stores.
    pub index_dir: String,
    /// Bytes of the derived stores.
    pub index_bytes: u64,
    /// Bytes of the indexed notes.
    pub text_bytes: u64,
    /// Files that could not be indexed correctly, and why.
    pub problems: Vec<Skipped>,
    /// Notes that were changed in two places: copies of sync services, and notes with conflict markers of git. They are
    /// indexed like any note; an identical copy is found only as its original.
    pub conflict_copies: Vec<ConflictCopy>,
    /// Purged texts that occur in notes again, as far as checked. They stay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forgotten_back: Vec<BackAgain>,
    /// Why `memory.toml` cannot be read, if so; its earlier content applies.
    pub config_failure: Option<String>,
    /// Whether `memory.toml` has changes that apply only after a restart.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub config_waits: bool,
    /// What is wrong now, if anything.
    pub failure: Option<String>,
    /// Parts of the index that were damaged or stale since the start and are rebuilt, if any.
    pub rebuilt: Option<String>,
    /// The result of the last check of the index since the start, if any.
    pub verified: Option<Verification>,
    /// State of captured events, if a daemon accepts them.
    pub capture: Option<CaptureState>,
    /// The facts, if a daemon follows them.
    pub facts: Option<FactsState>,
    /// State of the summaries, if a daemon makes them.
    pub summaries: Option<SummariesState>,
    /// State of the sessions of other programs, if `[[sessions]]` names some and a daemon stores them.
    pub sessions: Option<SessionsState>,
    /// The copy of the index on a database server, if `[remote]` names one.
    pub remote: Option<RemoteState>,
    /// State of the automatic backups, if `[backup] every` enables them.
    pub backup: Option<Backup>,
}

/// The facts of all `facts.md`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactsState {
    /// Facts that are true now.
    pub current: usize,
    /// Past facts that are still in their files.
    pub expired: usize,
    /// Future facts.
    pub future: usize,
    /// Problems in the files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FactProblem>,
}

/// The copy of the index on a database server.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemoteState {
    /// The vault's name there.
    pub vault: String,
    /// Notes that are to be there.
    pub files: usize,
    /// Notes that were missing there or different when they were compared last.
    pub behind: usize,
    /// When everything was there last, as RFC 3339; absent before that since the start.
    pub pushed_at: Option<String>,
    /// Since when pushing fails, if it does.
    pub failing_since: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// The automatic backups of the daemon.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backup {
    /// Time of the last one since the start, as RFC 3339; there may have been nothing to commit.
    pub last_at: Option<String>,
    /// The vault's newest commit.
    pub last_commit: Option<String>,
    /// Why the last one failed, or what it left out, and what to do about it.
    pub failure: Option<String>,
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
    /// The processor instructions that it uses, if it runs in this program: `native` in a build for
    /// this processor, otherwise `base`, or the best of `avxvnni`, `avx512` and `avx512bf16`.
    pub instructions: Option<String>,
    /// Why passages wait for it, or the last search did not use it, during a temporary failure. It is retried.
    pub trouble: Option<String>,
    /// The model that replaces it once it has embedded the vault.
    pub next: Option<ModelToCome>,
    /// Stored vectors of models that are not in use.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub kept_vectors: usize,
}

/// A model that embeds the vault while another one serves.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ModelToCome {
    /// `loading`, `ready`, or `failed`: then the present model stays.
    pub state: String,
    /// Its name, or why it cannot be used; empty while it is loading.
    pub detail: String,
    /// Passages already embedded.
    pub embedded: usize,
    /// Passages to embed.
    pub of: usize,
    /// Why passages wait for it, during a temporary failure. It is retried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

/// The chat model that helps searches.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChatState {
    /// Its name; absent if it cannot be used at all.
    pub name: Option<String>,
    /// Why its last request failed, or why it cannot be used.
    pub trouble: Option<String>,
    /// Requests answered since the start.
    pub answers: u64,
    /// Tokens read for them, if it counts.
    pub prompt_tokens: u64,
    /// Tokens written.
    pub answer_tokens: u64,
}

impl Model {
    /// What is known of a model, as it is told.
    pub fn of(model: ModelStatus) -> Self {
        let none = (None, None, None, None);
        let (state, (detail, dimension, instructions, trouble)) = match model {
            ModelStatus::Off => ("off", none),
            ModelStatus::Loading => ("loading", none),
            ModelStatus::Ready { name, dimension, instructions, trouble, .. } => {
                ("ready", (Some(name), Some(dimension), instructions.map(str::to_owned), trouble))
            }
            ModelStatus::Failed(reason) => ("failed", (Some(reason), None, None, None)),
        };
        Self { state: state.into(), detail, dimension, instructions, trouble, next: None, kept_vectors: 0 }
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

/// Progress of the index: the part of the status that changes while it works.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProgressView {
    /// `starting`, `indexing`, `embedding`, `idle`, `failing` or `stopped`.
    pub phase: String,
    /// Whether every note has been compared with the index since the start.
    pub caught_up: bool,
    /// The number of the index's state: answers may change with it.
    pub seq: u64,
    /// Indexed notes.
    pub files: usize,
    /// Passages with text to embed.
    pub embeddable: usize,
    /// Embedded passages.
    pub embedded: usize,
    /// Past facts.
    pub expired_facts: usize,
    /// Notes waiting to be read.
    pub pending_files: usize,
    /// Notes read since the start.
    pub files_done: usize,
    /// Passages waiting to be embedded, by the present model or the next one.
    pub pending_embeddings: usize,
    /// Texts embedded since the start.
    pub embeddings_done: usize,
    /// The embedding model.
    pub model: Model,
    /// What is wrong now, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Another model is loading.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ModelReloaded {
    /// The value of `embed.model`; `status` shows the progress.
    pub model: String,
}

/// The result of dropping unused vectors.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DroppedVectors {
    /// Number of deleted vectors.
    pub dropped: usize,
}

/// How to reindex.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ReindexParams {
    /// Rebuild everything, instead of comparing every note with the index.
    #[serde(default)]
    pub full: bool,
}

/// It is done, or has started.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Done {
    /// Always true.
    pub ok: bool,
}

/// The role of a text: some models embed queries and documents differently.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EmbeddedAs {
    /// A query.
    Query,
    /// A document.
    #[default]
    Document,
}

/// The embedding of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Embedding {
    /// The vector, of length 1: the dot product of two is their cosine.
    pub embedding: Vec<f32>,
    /// Number of its components.
    pub dimension: usize,
    /// The model that made it.
    pub model: String,
    /// The role of the text.
    pub kind: EmbeddedAs,
}

/// State of the sessions of other programs, named in `[[sessions]]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SessionsState {
    /// How changes are noticed: `events` or `polling`; empty until the files were checked.
    pub by: String,
    /// Why it polls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Number of files.
    pub sources: usize,
    /// Sessions stored in the vault.
    pub sessions: usize,
    /// Sessions whose files no longer exist; they stay until they are too old or too many.
    pub gone: usize,
    /// How often a file was restarted: its earlier content stays in separate notes.
    pub begun_anew: usize,
    /// Files that became shorter: their stored content stays.
    pub cut_short: usize,
    /// Notes that you have edited: new content is appended to them.
    pub edited: usize,
    /// What could not be read or written, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<Skipped>,
}
