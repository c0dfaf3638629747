//! One published state of the index, for searches.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::catalog::CatalogReader;
use super::keyword::{KeywordSearcher, reading};
use super::store::Store;
use super::vectors::VectorSet;
use crate::base::config::StemmerLanguage;
use crate::base::fs::crash;
use crate::index::engine::{
    ChunkText, EngineError, FileSet, FileTable, Like, LikeWord, PreparedWords, QueryVector, Reader, ScoredChunk,
    Statistics, WordQuery,
};
use crate::models::{ContentHash, Fingerprint, PackedTokens};
use crate::text::derive::ChunkId;

/// Readers of the catalog that a snapshot holds: as many searches read texts at the same time.
const READERS: usize = 2;

/// A state of all stores that nothing changes any more. Searches hold it for as long as they need it.
pub struct Snapshot {
    /// The catalog's number of this state.
    seq: u64,
    files: FileTable,
    /// The words; `None` while they are damaged.
    pub(super) keyword: Option<KeywordSearcher>,
    /// What made the embeddings.
    model: Option<Fingerprint>,
    /// The embeddings; `None` while no model is there.
    vectors: Option<VectorSet>,
    /// Chunks that the model is to embed.
    embeddable: usize,
    /// Whether those of private notes are not among them.
    withholds_private: bool,
    statistics: OnceLock<Statistics>,
    scope_counts: ScopeCounts,
    pub(super) readers: Vec<Mutex<CatalogReader>>,
    /// Where the readers go when nobody holds the snapshot any more.
    pub(super) spare: Arc<Mutex<Vec<CatalogReader>>>,
}

impl Snapshot {
    fn counted(&self, scope: &FileSet) -> ScopeCount {
        self.scope_counts.of(scope, || ScopeCount {
            statistics: self.files.statistics(Some(scope)),
            embedded: self.embedded_within(scope),
        })
    }

    fn embedded_within(&self, scope: &FileSet) -> (usize, usize) {
        let all = self.vectors.as_ref().map_or(0, VectorSet::len) == self.embeddable;
        let within = scope.iter().filter_map(|file| self.files.get(file));
        let within = within.filter(|file| !(self.withholds_private && file.private)).flat_map(|file| &file.chunks);
        let embeddable = within.filter(|chunk| chunk.content.is_some());
        embeddable
            .fold((0, 0), |(embedded, of), chunk| (embedded + usize::from(all || self.is_embedded(chunk.row)), of + 1))
    }

    /// Calls `with` with a reader at this state of the catalog.
    fn read<T>(&self, with: impl FnOnce(&CatalogReader) -> Result<T, EngineError>) -> Result<T, EngineError> {
        let free = self.readers.iter().find_map(|reader| reader.try_lock().ok());
        let reader = free.unwrap_or_else(|| self.readers[0].lock().unwrap_or_else(PoisonError::into_inner));
        with(&reader)
    }
}

impl Reader for Snapshot {
    fn generation(&self) -> u64 {
        self.seq
    }

    fn files(&self) -> &FileTable {
        &self.files
    }

    fn statistics(&self, scope: Option<&FileSet>) -> Statistics {
        match scope {
            None => *self.statistics.get_or_init(|| self.files.statistics(None)),
            Some(scope) => self.counted(scope).statistics,
        }
    }

    fn has_words(&self) -> bool {
        self.keyword.is_some()
    }

    fn words<'a>(
        &'a self,
        query: &WordQuery,
        language: StemmerLanguage,
        scope: Option<&'a FileSet>,
    ) -> Result<Option<Box<dyn PreparedWords + 'a>>, EngineError> {
        let Some(keyword) = &self.keyword else { return Ok(None) };
        let terms = self.files.terms(query, language, scope);
        let statistics = self.statistics(scope);
        Ok(Some(Box::new(reading(|| keyword.prepare(query, terms, statistics, scope))?)))
    }

    fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError> {
        self.keyword.as_ref().map_or(Ok(Vec::new()), |keyword| reading(|| keyword.like(like, scope)))
    }

    fn speakers(&self, scope: Option<&FileSet>) -> Result<Vec<String>, EngineError> {
        self.keyword.as_ref().map_or(Ok(Vec::new()), |keyword| reading(|| keyword.speakers(scope)))
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
        self.read(|reader| reader.tokens(model.number(), vectors.dims(), content))
    }

    fn is_embedded(&self, row: u64) -> bool {
        self.vectors.as_ref().is_some_and(|vectors| vectors.contains(row))
    }

    fn embedded(&self, scope: Option<&FileSet>) -> (usize, usize) {
        let embedded = self.vectors.as_ref().map_or(0, VectorSet::len);
        scope.map_or((embedded, self.embeddable), |scope| self.counted(scope).embedded)
    }

    fn chunk(&self, row: u64) -> Result<Option<ChunkText>, EngineError> {
        self.read(|reader| reader.chunk(row))
    }

    fn rows_of(&self, id: ChunkId) -> Result<Vec<u64>, EngineError> {
        self.read(|reader| reader.rows_of(id))
    }

    fn metadata(&self, file: u32) -> Result<Option<String>, EngineError> {
        self.read(|reader| reader.metadata(file))
    }

    fn problems(&self) -> Result<Vec<(String, String)>, EngineError> {
        self.read(CatalogReader::problems)
    }
}

impl Store {
    /// Empties the catalog's log when it is longer than `max_bytes`. The readers of the snapshot of the state of now hold on to the
    /// log, and let go for a moment in which nothing can change.
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
        let readers: Vec<_> =
            published.readers.iter().map(|reader| reader.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        readers.iter().try_for_each(|reader| reader.release())?;
        crash::point("log-released");
        let trimmed = self.catalog.checkpoint();
        crash::point("log-trimmed");
        readers.iter().try_for_each(|reader| reader.renew())?;
        trimmed
    }

    /// Publishes the state of now.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn snapshot(&mut self) -> Result<Arc<Snapshot>, EngineError> {
        let keyword = self.open_words()?;
        self.snapshot_with(Some(keyword))
    }

    /// Publishes the state of now, but for the words: they are damaged.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn snapshot_without_words(&mut self) -> Result<Arc<Snapshot>, EngineError> {
        self.snapshot_with(None)
    }

    fn snapshot_with(&mut self, keyword: Option<KeywordSearcher>) -> Result<Arc<Snapshot>, EngineError> {
        let mut readers = Vec::with_capacity(READERS);
        for _ in 0..READERS {
            let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            readers.push(Mutex::new(match spare {
                Some(reader) => {
                    reader.renew()?;
                    reader
                }
                None => self.catalog.reader()?,
            }));
        }
        let snapshot = Arc::new(Snapshot {
            seq: self.catalog.meta.seq,
            files: self.files.clone(),
            keyword,
            model: self.sets.serving.as_ref().map(|set| set.space.fingerprint.clone()),
            vectors: self.sets.serving.as_ref().map(|set| set.vectors.clone()),
            embeddable: self.embeddable(),
            withholds_private: self.withholds_private(),
            statistics: OnceLock::new(),
            scope_counts: ScopeCounts::default(),
            readers,
            spare: Arc::clone(&self.spare),
        });
        self.published = Arc::downgrade(&snapshot);
        Ok(snapshot)
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Ok(mut spare) = self.spare.lock() else { return };
        for reader in self.readers.drain(..) {
            let Ok(reader) = reader.into_inner() else { continue };
            if reader.release().is_ok() && spare.len() < READERS * 2 {
                spare.push(reader);
            }
        }
    }
}

/// Maximum number of scopes that are remembered: agents that ask at the same time, each with a filter or two.
const MAX_SCOPES: usize = 8;

/// What is counted in a scope. Nothing of it changes for as long as the snapshot lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ScopeCount {
    /// Chunks and words.
    statistics: Statistics,
    /// Chunks that are embedded, of those that are to be.
    embedded: (usize, usize),
}

/// The counts of the last scopes: each search of an agent asks for them three times, and going through 20,000 files each time took three
/// quarters of its 10 ms (`docs/performance.md`).
///
/// They are shared by all who ask: who sees exactly the same files as another may tell by the time that somebody has asked since the index
/// changed last. It learns neither who nor what, and whoever asks without a filter and sees everything, as the person does, is not counted.
#[derive(Default)]
struct ScopeCounts(Mutex<VecDeque<(FileSet, ScopeCount)>>);

impl ScopeCounts {
    /// What was counted in a scope, or is now.
    fn of(&self, scope: &FileSet, count: impl FnOnce() -> ScopeCount) -> ScopeCount {
        if let Some(known) = self.known(scope) {
            return known;
        }
        // Nobody waits for this: two who ask at once both count.
        let counted = count();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.truncate(MAX_SCOPES - 1);
        last.push_front((scope.clone(), counted));
        counted
    }

    fn known(&self, scope: &FileSet) -> Option<ScopeCount> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().find(|(known, _)| known == scope).map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(embedded: usize) -> ScopeCount {
        ScopeCount { statistics: Statistics::default(), embedded: (embedded, embedded) }
    }

    #[test]
    fn a_scope_is_counted_once_until_others_have_taken_its_place() {
        let counts = ScopeCounts::default();
        let scope = |files: u32| -> FileSet { (0..files).collect() };
        assert_eq!(counts.of(&scope(3), || count(1)), count(1));
        assert_eq!(counts.of(&scope(3), || unreachable!()), count(1));
        for files in 4..4 + MAX_SCOPES as u32 {
            assert_eq!(counts.of(&scope(files), || count(files as usize)), count(files as usize));
        }
        assert_eq!(counts.of(&scope(3), || count(2)), count(2), "it was forgotten");
    }
}
