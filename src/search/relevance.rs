//! How likely a hit answers, as a number that means the same in every answer.

use super::candidate::{Candidate, CandidateScores};
use crate::config::Mode;
use crate::models::Calibration;

/// What a note has that is called what was typed.
const NAMED: f64 = 1.0;

/// What the relevance of hits is worked out with.
pub(super) struct Relevance<'a> {
    pub(super) mode: Mode,
    /// The model that the meaning was asked of.
    pub(super) model: Option<&'a str>,
    /// What no score by words reaches.
    pub(super) most: f64,
}

impl Relevance<'_> {
    /// The score by words as a share of what it could be at most.
    pub(super) fn coverage(&self, scores: &CandidateScores) -> Option<f64> {
        scores.keyword.filter(|_| self.most > 0.0).map(|score| rounded(score / self.most))
    }

    /// How likely a candidate answers, 0 to 1; `None` where the model was never measured. What waits for its vector is judged by its
    /// words. Nothing that is hidden counts, nor a filter.
    pub(super) fn of(&self, candidate: &Candidate) -> Option<f64> {
        if candidate.named {
            return Some(NAMED);
        }
        let scores = &candidate.scores;
        let coverage = self.coverage(scores).unwrap_or_default();
        let calibration = match (self.mode, scores.semantic) {
            (Mode::Keyword, _) | (Mode::Hybrid, None) => Some(Calibration::WORDS),
            (mode, _) => Calibration::of(self.model?, mode == Mode::Semantic),
        };
        let relevance = calibration?.relevance(coverage, scores.semantic.unwrap_or_default());
        Some(rounded(relevance))
    }
}

fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}
