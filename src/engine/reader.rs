//! Reading one generation.

use std::ops::Range;

use super::bm25::Statistics;
use super::cosine::QueryVector;
use super::error::EngineError;
use super::file_set::FileSet;
use super::files::FileTable;
use super::like::{Like, LikeWord};
use super::terms::{Field, WordQuery};
use super::update::embedded_context;
use crate::config::StemmerLanguage;
use crate::derive::ChunkId;
use crate::models::{Document, Fingerprint};

/// What a hit shows of its chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkText {
    /// The chunk's row id.
    pub row: u64,
    /// Its file's row id.
    pub file: u32,
    /// Its name.
    pub id: ChunkId,
    /// The headings it stands under, outermost first.
    pub heading_path: Vec<String>,
    /// What is shown.
    pub text: String,
    /// Where the heading lines end in `text`.
    pub body_start: usize,
    /// Where in `text` that part stands which is embedded.
    pub prose: Range<usize>,
    /// First and last line, from 1.
    pub lines: (u32, u32),
}

impl ChunkText {
    /// What is embedded of it, in a note with the given title.
    pub(crate) fn document(&self, title: &str) -> Document {
        let text = self.text.get(self.prose.clone()).unwrap_or_default().to_owned();
        Document { context: embedded_context(title, &self.heading_path), text }
    }
}

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

/// One generation of the derived stores. Nothing changes it, so whoever holds it is never shown a file half old, half new.
///
/// Sets of files narrow what is found (`allow`) and what is counted (`scope`); `None` is all files. A `scope` is what the caller may
/// see: hidden chunks move no score.
pub trait Reader: Send + Sync {
    /// Its number, which does not go down while the stores are there; those that are made from nothing begin anew. Chunks and words are
    /// the same in all of one number; there may be more vectors, and later times at which files were seen unchanged.
    fn generation(&self) -> u64;

    /// The files and what is known of their chunks, with sets for filters.
    fn files(&self) -> &FileTable;

    /// What is counted within a scope.
    fn statistics(&self, scope: Option<&FileSet>) -> Statistics {
        self.files().statistics(scope)
    }

    /// Whether words can be asked for; not while they are damaged.
    fn has_words(&self) -> bool;

    /// Prepares a query's words; `None` while they are damaged.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn words<'a>(
        &'a self,
        query: &WordQuery,
        language: StemmerLanguage,
        scope: Option<&'a FileSet>,
    ) -> Result<Option<Box<dyn PreparedWords + 'a>>, EngineError>;

    /// The words like another that chunks of a scope have in their text, and stems that they have in title and headings; in no particular
    /// order. None while the words are damaged. There may be more that begin so than are given.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError>;

    /// The model that made the vectors; `None` while there is none. Queries of another are never compared with them.
    fn model(&self) -> Option<&Fingerprint>;

    /// The `k` chunks nearest to a query, and all that tie with the last, in no particular order. None are found while there are no
    /// vectors.
    ///
    /// # Errors
    /// When the query has another length than the vectors, or the store cannot be read.
    fn nearest(&self, query: &QueryVector, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError>;

    /// The cosines of given chunks, in their order; `None` for one without a vector.
    ///
    /// # Errors
    /// As [`Reader::nearest`].
    fn cosines(&self, query: &QueryVector, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError>;

    /// A chunk's vector; `None` where it has none.
    fn vector(&self, row: u64) -> Option<Vec<f32>>;

    /// Whether a chunk has its vector.
    fn is_embedded(&self, row: u64) -> bool;

    /// Of a scope: how many chunks have their vector, and how many have something to embed.
    fn embedded(&self, scope: Option<&FileSet>) -> (usize, usize);

    /// What is shown of a chunk; `None` when there is none.
    ///
    /// # Errors
    /// When the row is damaged, or the store cannot be read.
    fn chunk(&self, row: u64) -> Result<Option<ChunkText>, EngineError>;

    /// The rows of the chunks with a name. Only a collision of names gives two.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn rows_of(&self, id: ChunkId) -> Result<Vec<u64>, EngineError>;

    /// A file's frontmatter as JSON; `None` when there is no such file.
    ///
    /// # Errors
    /// When the row is damaged, or the store cannot be read.
    fn metadata(&self, file: u32) -> Result<Option<String>, EngineError>;

    /// What could not be indexed, or not be read as it was meant: paths with reasons.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn problems(&self) -> Result<Vec<(String, String)>, EngineError>;
}

/// A query's words on one generation.
pub trait PreparedWords {
    /// What no score reaches: that of a chunk which had all of the query's words and nothing else.
    fn most(&self) -> f64;

    /// Whether a chunk of the scope has one of the query's terms in a field.
    fn has(&self, field: Field, term: &str) -> bool;

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
