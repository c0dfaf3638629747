//! The store as the contract has it.

use std::sync::Arc;

use super::store::Store;
use crate::base::config::StemmerLanguage;
use crate::base::path::VaultPath;
use crate::index::engine::{
    Build, Built, ChangeBatch, Check, ContentHash, Damage, EmbeddingId, EngineError, FileEntry, FileTable, PendingText,
    Reader, Upkeep, Writer,
};
use crate::models::{EmbeddedText, EmbeddingSpace, Fingerprint};
use crate::vault::disk::Stamp;

/// Maximum size of the catalog's log while there is work, in bytes; a longer one is emptied.
const MAX_LOG_BYTES: u64 = 4_000_000;
/// Maximum size of the log while there is no work, in bytes. Emptying it syncs the disk, which one saved note is not
/// worth.
const MAX_IDLE_LOG_BYTES: u64 = 500_000;

impl Writer for Store {
    fn stemmer(&self) -> StemmerLanguage {
        Store::stemmer(self)
    }

    fn files(&self) -> &FileTable {
        Store::files(self)
    }

    fn file(&self, path: &VaultPath) -> Option<&Arc<FileEntry>> {
        Store::file(self, path)
    }

    fn generation(&self) -> u64 {
        Store::generation(self)
    }

    fn apply(&mut self, batch: ChangeBatch) -> Result<(), EngineError> {
        Store::apply(self, batch)
    }

    fn touch(&mut self, files: &[(VaultPath, Stamp, i64)]) -> Result<(), EngineError> {
        Ok(Store::touch(self, files)?)
    }

    fn set_skipped(&mut self, places: Option<&[VaultPath]>, skipped: &[(String, String)]) -> Result<bool, EngineError> {
        Ok(Store::set_skipped(self, places, skipped)?)
    }

    fn open_vectors(&mut self, space: &EmbeddingSpace) -> Result<(), EngineError> {
        Ok(Store::open_vectors(self, space)?)
    }

    fn serve_vectors(&mut self, model: &Fingerprint) -> Result<(), EngineError> {
        Ok(Store::serve_vectors(self, model)?)
    }

    fn coverage(&self, model: &Fingerprint) -> (usize, usize) {
        Store::coverage(self, model)
    }

    fn pending(&self, model: &Fingerprint) -> usize {
        Store::pending(self, model)
    }

    fn take_pending(&mut self, model: &Fingerprint, limit: usize) -> Result<Vec<PendingText>, EngineError> {
        Ok(Store::take_pending(self, model, limit)?)
    }

    fn set_bulk_aside(&mut self, model: &Fingerprint, newest: usize) -> Vec<ContentHash> {
        Store::set_bulk_aside(self, model, newest)
    }

    fn set_aside(&mut self, model: &Fingerprint, contents: &[ContentHash]) {
        Store::set_aside(self, model, contents);
    }

    fn aside(&self, model: &Fingerprint) -> usize {
        Store::aside(self, model)
    }

    fn pending_texts(
        &mut self,
        model: &Fingerprint,
        contents: &[ContentHash],
    ) -> Result<Vec<PendingText>, EngineError> {
        Ok(Store::pending_texts(self, model, contents)?)
    }

    fn embedded(
        &mut self,
        model: &Fingerprint,
        embeddings: Vec<(ContentHash, EmbeddedText)>,
    ) -> Result<(), EngineError> {
        Ok(Store::embedded(self, model, embeddings)?)
    }

    fn requeue(&mut self, model: &Fingerprint, contents: &[ContentHash]) {
        Store::requeue(self, model, contents);
    }

    fn publish(&mut self) -> Result<Arc<dyn Reader>, EngineError> {
        Ok(self.snapshot()?)
    }

    fn publish_without_words(&mut self) -> Result<Arc<dyn Reader>, EngineError> {
        Ok(self.snapshot_without_words()?)
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        Ok(Store::close(*self)?)
    }

    fn discard(self: Box<Self>) -> Result<(), EngineError> {
        Ok(Store::discard(*self)?)
    }
}

impl Upkeep for Store {
    fn forget(&mut self, contents: &[ContentHash]) -> Result<usize, EngineError> {
        Ok(Store::forget(self, contents)?)
    }

    fn empty_log(&mut self) -> Result<bool, EngineError> {
        self.trim_log(0)?;
        Ok(self.catalog.log_bytes() == 0)
    }

    fn is_in_place(&self) -> bool {
        Store::is_in_place(self)
    }

    fn was_unclean(&self) -> bool {
        Store::was_unclean(self)
    }

    fn is_foreign(&self) -> bool {
        Store::is_foreign(self)
    }

    fn settle(&mut self) -> Result<(), EngineError> {
        Ok(Store::settle(self)?)
    }

    fn take_notices(&mut self) -> Vec<String> {
        Store::take_notices(self)
    }

    fn tidy(&mut self, idle: bool) -> Result<(), EngineError> {
        Ok(self.trim_log(if idle { MAX_IDLE_LOG_BYTES } else { MAX_LOG_BYTES })?)
    }

    fn check(&self) -> Check {
        let check = self.prepare_check();
        Box::new(move |go_on| Ok(check.run(go_on)?))
    }

    fn mend(&mut self, damage: &Damage) -> Result<(), EngineError> {
        match damage {
            Damage::Embeddings(damaged) => Ok(self.embed_again(damaged)?),
            Damage::Graph(_) => Ok(self.save_graph()?),
            Damage::Catalog(_) | Damage::Words(_) => Ok(()),
        }
    }

    fn has_many_unused(&self) -> bool {
        Store::has_many_unused(self)
    }

    fn drop_unused(&mut self, embeddings: &[EmbeddingId]) -> Result<(), EngineError> {
        Ok(Store::drop_unused(self, embeddings)?)
    }

    fn prune_vectors(&mut self) -> Result<(), EngineError> {
        Ok(Store::prune_vectors(self)?)
    }

    fn kept_vectors(&self) -> Result<usize, EngineError> {
        Ok(Store::kept_vectors(self)?)
    }

    fn drop_kept_vectors(&mut self) -> Result<usize, EngineError> {
        Ok(Store::drop_kept_vectors(self)?)
    }

    fn to_build(&self) -> Option<Build> {
        let (vectors, folder) = (self.wants_graph()?, self.graph_folder());
        Some(Box::new(move |stopped| {
            let graph = vectors.build_graph(stopped)?;
            if let Err(error) = graph.save(&folder) {
                tracing::warn!("the graph could not be saved, the next start builds it again: {error}");
            }
            Some(Box::new(graph) as Built)
        }))
    }

    fn take_built(&mut self, built: Built) {
        if let Ok(graph) = built.downcast() {
            self.use_graph(Arc::from(graph));
        }
    }
}
