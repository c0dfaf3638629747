//! Reading one generation.

use std::ops::Range;

use super::bm25::{PreparedWords, ScoredChunk, Statistics, WordQuery};
use super::cosine::{Like, LikeWord, QueryVector};
use super::error::EngineError;
use super::file::{FileEntry, embedded_context};
use super::file_set::{FileSet, FileTable};
use super::filter::Filter;
use crate::access::rules::Turn;
use crate::base::config::StemmerLanguage;
use crate::models::{ContentHash, Document, Fingerprint, PackedTokens};
use crate::text::derive::ChunkId;

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
    /// What is embedded of it, given its file.
    pub(crate) fn document(&self, file: &FileEntry) -> Document {
        let text = self.text.get(self.prose.clone()).unwrap_or_default().to_owned();
        let context = embedded_context(&file.title, &self.heading_path);
        Document { context, text, keeps_tokens: file.is_conversation() }
    }
}

/// One generation of the derived stores. Nothing changes it, so whoever holds it is never shown a file half old, half new.
///
/// Sets of files narrow what is found (`allow`) and what is counted (`scope`); `None` is all files. A `scope` is what the caller may
/// see: hidden chunks move no score.
pub trait Reader: Send + Sync {
    /// Its number, which does not go down while the stores are there; those that are made from nothing begin anew. Chunks and words are
    /// the same in all of one number; there may be more vectors, and later times at which files were seen unchanged.
    fn generation(&self) -> u64;

    /// Names the stores: of those that are made from nothing row ids begin anew, and the name is another.
    fn store(&self) -> &str;

    /// The files and what is known of their chunks, with sets for filters.
    fn files(&self) -> &FileTable;

    /// What is counted within a scope.
    fn statistics(&self, scope: Option<&FileSet>) -> Statistics {
        self.files().statistics(scope)
    }

    /// The files that pass a filter; `None` when all do.
    ///
    /// # Errors
    /// When a store cannot be read, or nobody waits any more.
    fn resolve(&self, filter: &Filter, turn: &Turn) -> Result<Option<FileSet>, EngineError> {
        filter.resolve(self, turn)
    }

    /// Prepares a query's words, given the usual language, over a scope. Nothing is asked for then but chunks of the files of `allow`, which
    /// are of the scope.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn words<'a>(
        &'a self,
        query: &WordQuery,
        language: StemmerLanguage,
        scope: Option<&'a FileSet>,
        allow: Option<&'a FileSet>,
    ) -> Result<Box<dyn PreparedWords + 'a>, EngineError>;

    /// The words like another that chunks of a scope have in their text, and stems that they have in title and headings; in no particular
    /// order. There may be more that begin so than are given.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn like(&self, like: &Like, scope: Option<&FileSet>) -> Result<Vec<LikeWord>, EngineError>;

    /// The [terms](crate::text::derive::speaker_term) of those who speak in chunks of a scope, in order.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn speakers(&self, scope: Option<&FileSet>) -> Result<Vec<String>, EngineError>;

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

    /// What is kept of the tokens of a text; `None` where it has no vector, or its tokens are not kept.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn tokens(&self, content: &ContentHash) -> Result<Option<PackedTokens>, EngineError>;

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
