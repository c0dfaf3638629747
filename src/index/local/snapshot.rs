//! One published state of the index, for searches.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::catalog::CatalogReader;
use super::keyword::{KeywordSearcher, reading};
use super::store::Store;
use super::vectors::VectorSet;
use crate::base::config::StemmerLanguage;
use crate::base::fs::crash;
use crate::index::engine::{
    ChunkText, EngineError, FileSet, FileTable, Like, LikeWord, PreparedWords, QueryVector, Reader, ScoredChunk,
    WordQuery,
};
use crate::models::{ContentHash, Fingerprint, PackedTokens};
use crate::text::derive::ChunkId;

/// A state of all stores that nothing changes any more. Searches hold it for as long as they need it.
pub struct Snapshot {
    /// The catalog's number of this state.
    seq: u64,
    /// The catalog's name.
    store: String,
    files: FileTable,
    pub(super) keyword: KeywordSearcher,
    /// What made the embeddings.
    model: Option<Fingerprint>,
    /// The embeddings; `None` while no model is there.
    vectors: Option<VectorSet>,
    /// Chunks that the model is to embed.
    embeddable: usize,
    /// Whether those of private notes are not among them.
    withholds_private: bool,
    /// The catalog at this state.
    pub(super) reader: Mutex<CatalogReader>,
}

impl Snapshot {
    fn reader(&self) -> MutexGuard<'_, CatalogReader> {
        self.reader.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Reader for Snapshot {
    fn generation(&self) -> u64 {
        self.seq
    }

    fn store(&self) -> &str {
        &self.store
    }

    fn files(&self) -> &FileTable {
        &self.files
    }

    fn words<'a>(
        &'a self,
        query: &WordQuery,
        language: StemmerLanguage,
        scope: Option<&'a FileSet>,
        allow: Option<&'a FileSet>,
    ) -> Result<Box<dyn PreparedWords + 'a>, EngineError> {
        let terms = self.files.terms(query, language, scope);
        let statistics = self.statistics(scope);
        Ok(Box::new(reading(|| self.keyword.prepare(query, terms, statistics, (scope, allow)))?))
    }

    fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError> {
        reading(|| self.keyword.like(like, scope))
    }

    fn speakers(&self, scope: Option<&FileSet>) -> Result<Vec<String>, EngineError> {
        reading(|| self.keyword.speakers(scope))
    }

    fn model(&self) -> Option<&Fingerprint> {
        self.model.as_ref()
    }

    fn nearest(&self, query: &QueryVector, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        let Some(vectors) = &self.vectors else { return Ok(Vec::new()) };
        vectors.nearest(query, k, allow)
    }

    fn cosines(&self, query: &QueryVector, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        let Some(vectors) = &self.vectors else { return Ok(vec![None; rows.len()]) };
        vectors.cosines(query, rows)
    }

    fn vector(&self, row: u64) -> Option<Vec<f32>> {
        self.vectors.as_ref()?.vector(row)
    }

    fn tokens(&self, content: &ContentHash) -> Result<Option<PackedTokens>, EngineError> {
        let Some((model, vectors)) = self.model.as_ref().zip(self.vectors.as_ref()) else { return Ok(None) };
        self.reader().tokens(model.number(), vectors.dims(), content)
    }

    fn is_embedded(&self, row: u64) -> bool {
        self.vectors.as_ref().is_some_and(|vectors| vectors.contains(row))
    }

    fn embedded(&self, scope: Option<&FileSet>) -> (usize, usize) {
        let embedded = self.vectors.as_ref().map_or(0, VectorSet::len);
        let counts = (embedded, self.embeddable, self.withholds_private);
        self.files.embedded(scope, counts, |row| self.is_embedded(row))
    }

    fn chunk(&self, row: u64) -> Result<Option<ChunkText>, EngineError> {
        self.reader().chunk(row)
    }

    fn rows_of(&self, id: ChunkId) -> Result<Vec<u64>, EngineError> {
        self.reader().rows_of(id)
    }

    fn metadata(&self, file: u32) -> Result<Option<String>, EngineError> {
        self.reader().metadata(file)
    }

    fn problems(&self) -> Result<Vec<(String, String)>, EngineError> {
        self.reader().problems()
    }
}

impl Store {
    /// Empties the catalog's log when it is longer than `max_bytes`. The snapshot of the state of now holds on to the
    /// log, and lets go for a moment in which nothing can change.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn trim_log(&self, max_bytes: u64) -> Result<(), EngineError> {
        if self.catalog.log_bytes() <= max_bytes {
            return Ok(());
        }
        let Some(published) = self.published.upgrade().filter(|published| published.seq == self.catalog.meta.seq)
        else {
            return Ok(());
        };
        let reader = published.reader();
        reader.release()?;
        crash::point("log-released");
        let trimmed = self.catalog.checkpoint();
        crash::point("log-trimmed");
        reader.renew()?;
        trimmed
    }

    /// Publishes the state of now.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn snapshot(&mut self) -> Result<Arc<Snapshot>, EngineError> {
        let keyword = self.open_words()?;
        let snapshot = Arc::new(Snapshot {
            seq: self.catalog.meta.seq,
            store: self.catalog.meta.store.clone(),
            files: self.files.clone(),
            keyword,
            model: self.sets.serving.as_ref().map(|set| set.space.fingerprint.clone()),
            vectors: self.sets.serving.as_ref().map(|set| set.vectors.clone()),
            embeddable: self.embeddable(),
            withholds_private: self.withholds_private(),
            reader: Mutex::new(self.catalog.reader()?),
        });
        self.published = Arc::downgrade(&snapshot);
        Ok(snapshot)
    }
}
