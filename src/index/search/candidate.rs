//! What the stages pass on: a chunk that may become a hit.

use std::sync::Arc;

use crate::base::path::VaultPath;
use crate::index::engine::{ContentHash, FileEntry};

/// The scores of a candidate by words and by meaning; `None` where it was not asked for, or is not known there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CandidateScores {
    /// BM25.
    pub keyword: Option<f64>,
    /// Cosine.
    pub semantic: Option<f64>,
    /// MaxSim of the query's tokens.
    pub late: Option<f64>,
    /// What a model says that has read it, 0 to 1.
    pub rerank: Option<f64>,
    /// Whether it waits for its vector, so that its cosine is not known yet.
    pub waits: bool,
    /// The scores by what was typed alone, where more was looked for.
    pub typed: Option<TypedScores>,
}

/// The scores of a candidate by what was typed alone.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct TypedScores {
    /// BM25.
    pub keyword: Option<f64>,
    /// Cosine.
    pub semantic: Option<f64>,
}

impl CandidateScores {
    /// BM25 by what was typed.
    pub(super) fn typed_keyword(&self) -> Option<f64> {
        self.typed.map_or(self.keyword, |typed| typed.keyword)
    }
}

/// A chunk that may become a hit.
#[derive(Debug, Clone)]
pub(super) struct Candidate {
    pub(super) row: u64,
    pub(super) file: Arc<FileEntry>,
    /// Its place among the file's chunks.
    pub(super) ordinal: usize,
    pub(super) scores: CandidateScores,
    /// What the hits are ordered by.
    pub(super) score: f64,
    /// Its relevance at least, where its note is called what was typed, so that it comes first.
    pub(super) named: Option<f64>,
}

impl Candidate {
    pub(super) fn new(row: u64, file: Arc<FileEntry>, ordinal: usize) -> Self {
        Self { row, file, ordinal, scores: CandidateScores::default(), score: 0.0, named: None }
    }

    /// The name of what is embedded of it; `None` where that is nothing.
    pub(super) fn content(&self) -> Option<ContentHash> {
        self.file.chunks.get(self.ordinal)?.content
    }

    /// Whether there is something of it to embed.
    pub(super) fn is_embeddable(&self) -> bool {
        self.content().is_some()
    }
}

/// Where it stands, by which ties are broken.
pub(super) fn place(candidate: &Candidate) -> (&VaultPath, usize) {
    (&candidate.file.path, candidate.ordinal)
}

/// Best first; ties in the order of the text.
pub(super) fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|one, two| two.score.total_cmp(&one.score).then_with(|| place(one).cmp(&place(two))));
}
