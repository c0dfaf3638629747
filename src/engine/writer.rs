//! Writing, one generation after the other.

use std::sync::Arc;

use half::f16;

use super::error::EngineError;
use super::reader::Reader;
use super::update::FileUpdate;
use crate::models::{ContentHash, Document, Embedder};
use crate::path::VaultPath;

/// A text that waits to be embedded.
#[derive(Debug, Clone)]
pub struct PendingText {
    /// Its name.
    pub content: ContentHash,
    /// What the model reads.
    pub document: Document,
}

/// The one writer of the derived stores of a vault.
///
/// What it does is seen by readers once it is published, all of a batch or nothing.
#[cfg_attr(not(test), expect(dead_code, reason = "the one engine is known by its type; the contract suite plays two"))]
pub(crate) trait Writer {
    /// Brings in a batch: files that are new or have changed, and paths that are gone. The chunks that stay keep their rows.
    ///
    /// # Errors
    /// When a store refuses.
    fn apply(&mut self, updates: Vec<FileUpdate>, removed: &[VaultPath]) -> Result<(), EngineError>;

    /// Turns to a model: vectors of other models are none.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn use_model(&mut self, embedder: &dyn Embedder) -> Result<(), EngineError>;

    /// Takes up to `limit` texts that wait to be embedded. Each comes back through [`Writer::embedded`] or [`Writer::requeue`].
    ///
    /// # Errors
    /// When a store cannot be read.
    fn take_pending(&mut self, limit: usize) -> Result<Vec<PendingText>, EngineError>;

    /// Gives vectors to every chunk that waits for them.
    ///
    /// # Errors
    /// When a store refuses.
    fn embedded(&mut self, vectors: Vec<(ContentHash, Vec<f16>)>) -> Result<(), EngineError>;

    /// Has texts that could not be embedded wait again.
    fn requeue(&mut self, contents: &[ContentHash]);

    /// Publishes the state of now.
    ///
    /// # Errors
    /// When a store refuses.
    fn publish(&mut self) -> Result<Arc<dyn Reader>, EngineError>;
}
