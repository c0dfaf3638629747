//! What the stages pass on: a chunk that may become a hit.

use std::sync::Arc;

use crate::engine::FileEntry;

/// The scores of a candidate by words and by meaning; `None` where it was not asked for, or is not known there.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct CandidateScores {
    /// BM25.
    pub keyword: Option<f64>,
    /// Cosine.
    pub semantic: Option<f64>,
    /// MaxSim of the query's tokens.
    pub late: Option<f64>,
    /// Whether it waits for its vector, so that its cosine is not known yet.
    pub waits: bool,
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
    /// Whether its note is called what was typed, so that it comes first.
    pub(super) named: bool,
}

impl Candidate {
    pub(super) fn new(row: u64, file: Arc<FileEntry>, ordinal: usize) -> Self {
        Self { row, file, ordinal, scores: CandidateScores::default(), score: 0.0, named: false }
    }

    /// Whether there is something of it to embed.
    pub(super) fn is_embeddable(&self) -> bool {
        self.file.chunks.get(self.ordinal).is_some_and(|chunk| chunk.content.is_some())
    }
}

/// Best first; ties in the order of the text.
pub(super) fn sort(candidates: &mut [Candidate]) {
    candidates.sort_by(|one, two| {
        let place = |of: &Candidate| (of.file.path.clone(), of.ordinal);
        two.score.total_cmp(&one.score).then_with(|| place(one).cmp(&place(two)))
    });
}
