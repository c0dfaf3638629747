//! How far the index is.

use serde::Serialize;
use utoipa::ToSchema;

use super::status::Model;

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
