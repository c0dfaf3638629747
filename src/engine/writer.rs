//! Writing, one generation after the other.

use std::ops::Range;
use std::sync::Arc;

use half::f16;

use super::entry::FileEntry;
use super::error::EngineError;
use super::files::FileTable;
use super::reader::Reader;
use super::update::FileUpdate;
use super::upkeep::Upkeep;
use crate::config::StemmerLanguage;
use crate::models::{ContentHash, Document, Embedder};
use crate::path::VaultPath;
use crate::vault::Stamp;

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
pub(crate) trait Writer: Upkeep {
    /// The language of the stems.
    fn stemmer(&self) -> StemmerLanguage;

    /// All files, as they were applied last.
    fn files(&self) -> &FileTable;

    /// The file at a path.
    fn file(&self, path: &VaultPath) -> Option<&Arc<FileEntry>> {
        self.files().at(path.as_str())
    }

    /// Brings in a batch: files that are new or have changed, and paths that are gone. The chunks that stay keep their rows.
    ///
    /// # Errors
    /// When a store refuses. What was brought in is then caught up with at the next start.
    fn apply(&mut self, updates: Vec<FileUpdate>, removed: &[VaultPath]) -> Result<(), EngineError>;

    /// Brings in the chunks of a file from `chunks.start` on, after those that parts before have brought, and as if the file ended
    /// with them: its other chunks come later, or go. Until the last part is there, the file counts as one that has changed. Says no,
    /// and does nothing, when the file is no longer as the part before has left it.
    ///
    /// # Errors
    /// As [`Writer::apply`].
    fn apply_part(&mut self, update: &FileUpdate, chunks: Range<usize>) -> Result<bool, EngineError>;

    /// Notes that files were looked at and are unchanged: path, stamp, and when, in nanoseconds since 1970.
    ///
    /// # Errors
    /// When a store refuses.
    fn touch(&mut self, files: &[(VaultPath, Stamp, i64)]) -> Result<(), EngineError>;

    /// Replaces what is known to be skipped at or below `places` (everywhere when `None`), as paths with reasons, and says whether
    /// that is news.
    ///
    /// # Errors
    /// When a store refuses.
    fn set_skipped(&mut self, places: Option<&[VaultPath]>, skipped: &[(String, String)]) -> Result<bool, EngineError>;

    /// Turns to a model: vectors of other models are none.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn use_model(&mut self, embedder: &dyn Embedder) -> Result<(), EngineError>;

    /// How many texts wait to be embedded.
    fn pending(&self) -> usize;

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

    /// Publishes the state of now, but for the words: they are damaged.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn publish_without_words(&mut self) -> Result<Arc<dyn Reader>, EngineError>;

    /// Makes what was written safe against a power loss, and says that this was a clean stop.
    ///
    /// # Errors
    /// When a store refuses; the next start then checks everything.
    fn close(self: Box<Self>) -> Result<(), EngineError>;

    /// Closes the stores and removes all that is in them.
    ///
    /// # Errors
    /// When a store refuses.
    fn discard(self: Box<Self>) -> Result<(), EngineError>;
}
