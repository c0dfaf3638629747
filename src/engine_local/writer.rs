//! The store as the contract has it.

use std::ops::Range;
use std::sync::Arc;

use half::f16;

use super::store::Store;
use crate::config::StemmerLanguage;
use crate::engine::{
    Build, Built, Check, ContentHash, Damage, EngineError, FileEntry, FileTable, FileUpdate, PendingText, Reader,
    Upkeep, Writer,
};
use crate::models::Embedder;
use crate::path::VaultPath;
use crate::vault::Stamp;

/// While there is work, the catalog's log is emptied when it is longer than this.
const MAX_LOG_BYTES: u64 = 4_000_000;
/// While there is none. Emptying it syncs the disk, which one saved note is not worth.
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

    fn apply(&mut self, updates: Vec<FileUpdate>, removed: &[VaultPath]) -> Result<(), EngineError> {
        Ok(Store::apply(self, updates, removed)?)
    }

    fn apply_part(&mut self, update: &FileUpdate, chunks: Range<usize>) -> Result<bool, EngineError> {
        Ok(Store::apply_part(self, update, chunks)?)
    }

    fn touch(&mut self, files: &[(VaultPath, Stamp, i64)]) -> Result<(), EngineError> {
        Ok(Store::touch(self, files)?)
    }

    fn set_skipped(&mut self, places: Option<&[VaultPath]>, skipped: &[(String, String)]) -> Result<bool, EngineError> {
        Ok(Store::set_skipped(self, places, skipped)?)
    }

    fn use_model(&mut self, embedder: &dyn Embedder) -> Result<(), EngineError> {
        Ok(Store::use_model(self, embedder)?)
    }

    fn pending(&self) -> usize {
        Store::pending(self)
    }

    fn take_pending(&mut self, limit: usize) -> Result<Vec<PendingText>, EngineError> {
        Ok(Store::take_pending(self, limit)?)
    }

    fn embedded(&mut self, vectors: Vec<(ContentHash, Vec<f16>)>) -> Result<(), EngineError> {
        Ok(Store::embedded(self, vectors)?)
    }

    fn requeue(&mut self, contents: &[ContentHash]) {
        Store::requeue(self, contents);
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
            Damage::Embeddings(rows) => Ok(self.embed_again(rows)?),
            Damage::Graph(_) => Ok(self.save_graph()?),
            Damage::Catalog(_) | Damage::Words(_) => Ok(()),
        }
    }

    fn has_many_unused(&self) -> bool {
        Store::has_many_unused(self)
    }

    fn drop_unused(&mut self, rows: &[i64]) -> Result<(), EngineError> {
        Ok(Store::drop_unused(self, rows)?)
    }

    fn prune_vectors(&mut self) -> Result<(), EngineError> {
        Ok(Store::prune_vectors(self)?)
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
