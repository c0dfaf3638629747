//! What a search is asked, and what it answers.

use std::sync::Arc;

use jiff::Timestamp;

use super::expand::Unassisted;
use super::respell::{Correction, UnknownName};
use super::window::HitWindow;
use crate::access::rules::Turn;
use crate::base::config::{Mode, VaultPart};
use crate::index::engine::{ChunkText, FileEntry, Filter};
use crate::text::derive::TextLanguage;

/// What is wanted.
#[derive(Debug, Clone)]
pub struct SearchRequest {
    /// What was typed.
    pub text: String,
    /// Which sides are asked.
    pub mode: Mode,
    /// Hits at most.
    pub limit: usize,
    /// Hits that are less likely to answer are left out.
    pub min_relevance: Option<f64>,
    /// Which files.
    pub filter: Filter,
    /// Parts of the vault, and what the scores of each are multiplied with.
    pub parts: Vec<(VaultPart, f64)>,
    /// Now, for queries that say how long ago.
    pub at: Timestamp,
    /// How many chunks are shown on either side of a hit, in conversations turns; when it is not said, 2 there, and else none.
    pub context: Option<usize>,
    /// Whether anybody waits for the answer still.
    pub turn: Turn,
}

/// A chunk that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Its file.
    pub file: Arc<FileEntry>,
    /// What is shown of it.
    pub chunk: ChunkText,
    /// What the hits are ordered by; compares within one response.
    pub score: f64,
    /// BM25, when the words were asked.
    pub keyword: Option<f64>,
    /// Cosine, when the meaning was asked and the chunk is embedded.
    pub semantic: Option<f64>,
    /// MaxSim of the query's tokens, of what was said in a conversation, and in a deep search of the best.
    pub late: Option<f64>,
    /// What a model says of it that has read it, 0 to 1.
    pub rerank: Option<f64>,
    /// BM25 as a share of what it could be at most.
    pub coverage: Option<f64>,
    /// How likely it answers, 0 to 1, which compares across answers; `None` where nothing was looked for, or the model was never measured.
    pub relevance: Option<f64>,
    /// What is shown around it.
    pub window: HitWindow,
}

/// Why an answer is less than what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Degraded {
    /// There is no model, or not yet: the words alone were searched, or nothing.
    NoModel,
    /// The model failed on this query.
    ModelFailed(String),
    /// It was not looked at token by token, for the reason given: both sides were searched.
    NotDeep(String),
    /// The words are damaged and being indexed anew: the meaning alone was searched, or nothing.
    NoWords,
    /// Some chunks cannot be read, for the reason given, and are left out.
    Damaged(String),
    /// No note has a collection or tag that the query names, or nobody speaks that it names.
    Unknown(UnknownName),
    /// A quoted phrase occurs nowhere as it is: its words were looked for.
    PhraseAbsent,
    /// Only so many of so many chunks are embedded yet.
    Embedding {
        /// Embedded chunks.
        embedded: usize,
        /// Chunks that have something to embed.
        of: usize,
    },
}

/// The answer.
#[derive(Debug)]
pub struct Results {
    /// The mode that was asked for, by the query where it says so.
    pub asked: Mode,
    /// The mode that was used.
    pub mode: Mode,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// How many more were found that are less likely than was wanted.
    pub left_out: usize,
    /// Words that are in no chunk, for which others were looked for.
    pub corrections: Vec<Correction>,
    /// What was read as words and may have been meant otherwise, as sentences.
    pub misread: Vec<String>,
    /// What a chat model was to do for it and did not.
    pub(crate) unassisted: Vec<Unassisted>,
    /// The language of the query, or of most hits, where the model that was asked does not read it.
    pub unread: Option<TextLanguage>,
    /// Why the answer is less than what was asked for, if it is.
    pub degraded: Option<Degraded>,
}
