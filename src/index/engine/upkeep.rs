//! What keeps the stores of an engine sound, beside the writing.

use std::any::Any;
use std::sync::atomic::AtomicBool;

use super::error::{Damage, EmbeddingId, EngineError};
use crate::models::ContentHash;

/// A check of all stores as they were when it was made, to be run on any thread. It calls `go_on` after each step, some milliseconds
/// of work, and ends when that says no: nothing is known then. It fails when a store cannot be read for another reason than damage.
pub(crate) type Check =
    Box<dyn FnOnce(&mut dyn FnMut() -> bool) -> Result<Option<Findings>, EngineError> + Send + 'static>;

/// Work that would hold the writer up, to be done on another thread and given up when the flag says so. What it gives, if it was not
/// given up, goes to [`Upkeep::take_built`].
pub(crate) type Build = Box<dyn FnOnce(&AtomicBool) -> Option<Built> + Send + 'static>;

/// What a [`Build`] came to; only its engine knows what is in it.
pub(crate) type Built = Box<dyn Any + Send>;

/// What a check came to.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    /// What is damaged, when something is. Of stores that are rebuilt together, the first.
    pub(crate) damage: Vec<Damage>,
    /// Notes whose rows were compared with their checksums.
    pub(crate) files: usize,
    /// Chunks likewise.
    pub(crate) chunks: usize,
    /// Embeddings likewise.
    pub(crate) embeddings: usize,
    /// Embeddings that nothing uses, beyond what is kept for an undo; oldest first.
    pub(crate) unused: Vec<EmbeddingId>,
}

/// What keeps the stores sound. An engine whose stores are somebody else's to keep leaves all but [`Upkeep::forget`] as it is.
pub(crate) trait Upkeep {
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

    /// Tidies up after a publication; more of it when nothing else is to do.
    ///
    /// # Errors
    /// When a store refuses.
    fn tidy(&mut self, idle: bool) -> Result<(), EngineError> {
        let _ = idle;
        Ok(())
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

    /// Whether so many embeddings may be of no use that a check should drop some.
    fn has_many_unused(&self) -> bool {
        false
    }

    /// Drops embeddings, unless they have come into use.
    ///
    /// # Errors
    /// When a store refuses.
    fn drop_unused(&mut self, embeddings: &[EmbeddingId]) -> Result<(), EngineError> {
        let _ = embeddings;
        Ok(())
    }

    /// Drops all embeddings that no chunk has, of whatever model.
    ///
    /// # Errors
    /// When a store refuses.
    fn prune_vectors(&mut self) -> Result<(), EngineError> {
        Ok(())
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

    /// What is to be built beside the writing, when something is. Of one model: what is built for another is not taken back.
    fn to_build(&self) -> Option<Build> {
        None
    }

    /// Takes what was built.
    fn take_built(&mut self, built: Built) {
        drop(built);
    }
}
