//! A query's words, ready to be asked for.

use super::error::EngineError;
use super::file_set::FileSet;

/// A chunk that was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoredChunk {
    /// Its row id.
    pub row: u64,
    /// Its file's row id.
    pub file: u32,
    /// BM25 or cosine. Higher is better.
    pub score: f64,
}

/// A query's words on one generation.
pub trait PreparedWords {
    /// What no score reaches: that of a chunk which had all of the query's words and nothing else.
    fn most(&self) -> f64;

    /// Whether a chunk of the scope has one of the query's words, in any form.
    fn has(&self, word: &str) -> bool;

    /// The best `k` chunks of the files of `allow` (all when `None`) that have any of the words and pass the query's conditions, with
    /// all that tie with the last, in no particular order. There may be more.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn best(&self, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError>;

    /// The scores of given chunks, in their order; `None` for one that the query's conditions rule out, 0 for one that has
    /// none of its words.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn scores(&self, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError>;
}
