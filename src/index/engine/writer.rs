//! Writing, one generation after the other, and what keeps the stores sound beside it.

use std::collections::HashSet;
use std::sync::Arc;

use super::error::{Damage, EngineError};
use super::file::{FileEntry, FileUpdate};
use super::file_set::FileTable;
use super::reader::Reader;
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
pub trait Writer: Upkeep {
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
    /// # Errors
    /// When the batch was made for [another state](EngineError::is_stale): the generation before is not the last one. Nothing is done
    /// then. When a store refuses: what was brought in is then caught up with at the next start.
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

    /// How many of these texts wait for their vector in an open set.
    fn pending_among(&self, model: &Fingerprint, contents: &HashSet<ContentHash>) -> usize;

    /// Takes up to `limit` texts that wait in an open set. Each comes back through [`Writer::embedded`] or [`Writer::requeue`].
    ///
    /// # Errors
    /// When a store cannot be read.
    fn take_pending(&mut self, model: &Fingerprint, limit: usize) -> Result<Vec<PendingText>, EngineError> {
        self.take_bulk(model, 0, limit)
    }

    /// The same, but for this many of the newest.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn take_bulk(&mut self, model: &Fingerprint, newest: usize, limit: usize) -> Result<Vec<PendingText>, EngineError>;

    /// Gives what a model made to every chunk that waits for it. Of a text that none waits for any more nothing is kept.
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
    /// Files that are new or have changed, each path once.
    pub updates: Vec<FileUpdate>,
    /// Paths that are gone.
    pub removed: Vec<VaultPath>,
}

impl ChangeBatch {
    /// Whether it was made for the state that a writer is in.
    ///
    /// # Errors
    /// [`EngineError::is_stale`] where it was not; nothing of it may be applied then.
    pub(crate) fn check(&self, writer: &impl Writer) -> Result<(), EngineError> {
        match self.generation == writer.generation() + 1 {
            true => Ok(()),
            false => Err(EngineError::stale(writer.generation(), self.generation)),
        }
    }
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

    /// Makes closed stores with damage fit to be opened.
    ///
    /// # Errors
    /// When the disk refuses.
    fn clear(&self, damage: &Damage) -> Result<(), EngineError>;
}

/// A check of all stores as they were when it was made, to be run on any thread. It calls `go_on` after each step, some milliseconds
/// of work, and ends when that says no: nothing is known then. It fails when a store cannot be read for another reason than damage.
pub type Check = Box<dyn FnOnce(&mut dyn FnMut() -> bool) -> Result<Option<Findings>, EngineError> + Send + 'static>;

/// What a check came to.
#[derive(Debug, Default)]
pub struct Findings {
    /// What is damaged, when something is. Of stores that are rebuilt together, the first.
    pub damage: Vec<Damage>,
    /// Notes whose rows were compared with their checksums.
    pub files: usize,
    /// Chunks likewise.
    pub chunks: usize,
    /// Embeddings likewise.
    pub embeddings: usize,
}

/// What keeps the stores sound. An engine whose stores are somebody else's to keep leaves all but [`Upkeep::forget`] as it is.
pub trait Upkeep {
    /// Leaves nothing of texts that no chunk has any more, nor of anything else that was deleted, but for what
    /// [`Upkeep::empty_log`] removes. Says how many embeddings there were of these texts.
    ///
    /// # Errors
    /// When a store refuses.
    fn forget(&mut self, contents: &[ContentHash]) -> Result<usize, EngineError>;

    /// Leaves nothing in logs of what was deleted before the last publication, and says whether: readers of before may need it.
    ///
    /// # Errors
    /// When a store refuses.
    fn empty_log(&mut self) -> Result<bool, EngineError> {
        Ok(true)
    }

    /// Whether the stores are still where they were opened: somebody may have deleted or replaced them.
    fn is_in_place(&self) -> bool {
        true
    }

    /// Whether the stores were not closed the last time.
    fn was_unclean(&self) -> bool {
        false
    }

    /// Whether the stores were made for another vault's place: then no stamp of a file is to be believed.
    fn is_foreign(&self) -> bool {
        false
    }

    /// Says that every note has been compared, so that the stores are of this place from now on.
    ///
    /// # Errors
    /// When a store refuses.
    fn settle(&mut self) -> Result<(), EngineError> {
        Ok(())
    }

    /// Takes what was found wrong and mended since the last call, as sentences.
    fn take_notices(&mut self) -> Vec<String> {
        Vec::new()
    }

    /// Tidies up after a publication; more of it when nothing else is to do. Says whether something is worth to be published.
    ///
    /// # Errors
    /// When a store refuses.
    fn tidy(&mut self, idle: bool) -> Result<bool, EngineError> {
        let _ = idle;
        Ok(false)
    }

    /// Prepares a check of the stores as they are now.
    fn check(&self) -> Check {
        Box::new(|_| Ok(Some(Findings::default())))
    }

    /// Mends damage for which the stores need not be closed.
    ///
    /// # Errors
    /// When a store refuses.
    fn mend(&mut self, damage: &Damage) -> Result<(), EngineError> {
        let _ = damage;
        Ok(())
    }

    /// Drops embeddings that no chunk has, of whatever model: `all` of them, or the oldest beyond what is kept for an undo.
    ///
    /// # Errors
    /// When a store refuses.
    fn prune_vectors(&mut self, all: bool) -> Result<(), EngineError> {
        let _ = all;
        Ok(())
    }

    /// Whether far more embeddings are kept than chunks have.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn has_many_unused(&self) -> Result<bool, EngineError> {
        Ok(false)
    }

    /// How many embeddings are kept of models whose sets are not open.
    ///
    /// # Errors
    /// When a store cannot be read.
    fn kept_vectors(&self) -> Result<usize, EngineError> {
        Ok(0)
    }

    /// Drops the embeddings of models whose sets are not open. Says how many there were.
    ///
    /// # Errors
    /// When a store refuses.
    fn drop_kept_vectors(&mut self) -> Result<usize, EngineError> {
        Ok(0)
    }
}
