//! Writing, one generation after the other.

use std::sync::Arc;

use super::entry::FileEntry;
use super::error::{Damage, EngineError};
use super::file_set::FileTable;
use super::reader::Reader;
use super::update::FileUpdate;
use super::upkeep::Upkeep;
use crate::base::config::StemmerLanguage;
use crate::base::path::VaultPath;
use crate::models::{ContentHash, Document, EmbeddedText, EmbeddingSpace, Fingerprint};
use crate::vault::disk::Stamp;

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

    /// The number of the generation that was brought in last.
    fn generation(&self) -> u64;

    /// Changes for the next generation.
    fn batch(&self, updates: Vec<FileUpdate>, removed: Vec<VaultPath>) -> ChangeBatch {
        ChangeBatch { generation: self.generation() + 1, updates, removed }
    }

    /// Brings in a batch. The chunks that stay keep their rows. A batch without changes makes no generation.
    ///
    /// A part of a file comes after those that parts before have brought, and the file is then as if it ended with it: its other chunks
    /// come later, or go. Until the last part is there, the file counts as one that has changed.
    ///
    /// # Errors
    /// When the batch was made for [another state](EngineError::is_stale): the generation before is not the last one, or a file of which
    /// it has a part is no longer as the part before has left it. Nothing is done then. When a store refuses: what was brought in is
    /// then caught up with at the next start.
    fn apply(&mut self, batch: ChangeBatch) -> Result<(), EngineError>;

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

    /// Opens the set of a model's vectors beside the one that serves: takes up what it has, and has the texts wait that it lacks. Another
    /// that was open beside it is closed, unless it is the one that serves that is opened anew.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn open_vectors(&mut self, space: &EmbeddingSpace) -> Result<(), EngineError>;

    /// Has readers compare with the vectors of an open set, from the next publication on. The one that served until then is closed, and
    /// stays stored.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn serve_vectors(&mut self, model: &Fingerprint) -> Result<(), EngineError>;

    /// Turns to a model at once, however many of its vectors are there.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn use_model(&mut self, space: &EmbeddingSpace) -> Result<(), EngineError> {
        self.open_vectors(space)?;
        self.serve_vectors(&space.fingerprint)
    }

    /// Of an open set: how many chunks have their vector, and how many are to have one.
    fn coverage(&self, model: &Fingerprint) -> (usize, usize);

    /// How many texts wait for their vector in an open set.
    fn pending(&self, model: &Fingerprint) -> usize;

    /// Takes up to `limit` texts that wait in an open set. Each comes back through [`Writer::embedded`] or [`Writer::requeue`].
    ///
    /// # Errors
    /// When a store cannot be read.
    fn take_pending(&mut self, model: &Fingerprint, limit: usize) -> Result<Vec<PendingText>, EngineError>;

    /// Sets the texts in the queue of an open set aside, all but this many of the newest, and gives their names. What is set aside is not
    /// taken until it comes back through [`Writer::embedded`], which keeps nothing then of what does not wait any more, or
    /// [`Writer::requeue`].
    fn set_bulk_aside(&mut self, model: &Fingerprint, newest: usize) -> Vec<ContentHash>;

    /// Sets texts of an open set aside by their names, whether they wait now or later.
    fn set_aside(&mut self, model: &Fingerprint, contents: &[ContentHash]);

    /// Of an open set: how many of those that wait were set aside.
    fn aside(&self, model: &Fingerprint) -> usize;

    /// Those of these texts that wait in an open set.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn pending_texts(&mut self, model: &Fingerprint, contents: &[ContentHash])
    -> Result<Vec<PendingText>, EngineError>;

    /// Gives what a model made to every chunk that waits for it.
    ///
    /// # Errors
    /// When a store refuses.
    fn embedded(
        &mut self,
        model: &Fingerprint,
        embeddings: Vec<(ContentHash, EmbeddedText)>,
    ) -> Result<(), EngineError>;

    /// Has texts that could not be embedded wait again.
    fn requeue(&mut self, model: &Fingerprint, contents: &[ContentHash]);

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

/// Changes that make one generation of the one before. Readers see all of them or none.
#[derive(Debug)]
pub struct ChangeBatch {
    /// The number of the generation that it makes. Whoever has sent a batch and heard nothing asks for the number that is there.
    pub generation: u64,
    /// Files that are new or have changed, or parts of them, each path once.
    pub updates: Vec<FileUpdate>,
    /// Paths that are gone.
    pub removed: Vec<VaultPath>,
}

/// The derived stores of one vault, closed. Everything in them is made of the notes, and can be made anew.
pub(crate) trait Engine: Send + Sync {
    /// Where they are, for whoever is told that something is wrong there.
    fn location(&self) -> String;

    /// Opens them for the one writer, or makes new ones, and brings them to one state. With `distrust` all that can be checked is
    /// checked first.
    ///
    /// # Errors
    /// When they are damaged, so that [`Engine::clear`] has to be called, or the disk refuses.
    fn open(&self, distrust: bool) -> Result<Box<dyn Writer>, EngineError>;

    /// Reads them as they are now, while another process writes them. Without vectors.
    ///
    /// # Errors
    /// When there are none yet, or they cannot be read.
    fn read(&self) -> Result<Arc<dyn Reader>, EngineError>;

    /// Reads stores that were closed, where nothing can be written: on a disk that is full or read-only. `None` when there are none,
    /// or they were not closed.
    ///
    /// # Errors
    /// When they cannot be read.
    fn read_at_rest(&self) -> Result<Option<Arc<dyn Reader>>, EngineError>;

    /// Makes closed stores with damage fit to be opened.
    ///
    /// # Errors
    /// When the disk refuses.
    fn clear(&self, damage: &Damage) -> Result<(), EngineError>;
}
