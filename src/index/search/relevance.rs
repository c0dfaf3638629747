//! How likely a hit answers, as a number that means the same in every answer.

use super::candidate::{Candidate, CandidateScores};
use super::rerank::JUDGED;
use crate::base::config::Mode;
use crate::models::Calibration;

/// Maximum relevance of a chunk that is found by other words than were typed alone: as likely as not.
const BY_OTHER_WORDS: f64 = 0.5;
/// The share that the scores keep where they say more of a chunk than whoever has read it, as in the order.
const NOT_JUDGED: f64 = 1.0 - JUDGED;

/// What the relevance of hits is worked out with.
pub(super) struct Relevance<'a> {
    pub(super) mode: Mode,
    /// The model that the meaning was asked of.
    pub(super) model: Option<&'a str>,
    /// What no score by words reaches.
    pub(super) most: f64,
}

impl Relevance<'_> {
    /// The score by the words that were typed as a share of what it could be at most.
    pub(super) fn coverage(&self, scores: &CandidateScores) -> Option<f64> {
        self.share(scores.typed_keyword())
    }

    fn share(&self, score: Option<f64>) -> Option<f64> {
        // Words that were not typed add to it.
        score.filter(|_| self.most > 0.0).map(|score| rounded((score / self.most).min(1.0)))
    }

    /// How likely a candidate answers, 0 to 1; `None` where the model was never measured, nobody has judged it, and it is not called so. It is never less
    /// likely than whoever has read it says. Nothing that is hidden counts, nor a filter.
    pub(super) fn of(&self, candidate: &Candidate) -> Option<f64> {
        let by_scores = self.by_scores(&candidate.scores);
        let judged = candidate.scores.rerank.map(|judged| judged_or(judged, by_scores)).or(by_scores);
        [judged, candidate.named].into_iter().flatten().reduce(f64::max).map(rounded)
    }

    /// As what was typed says, or what was looked for besides, which says less.
    fn by_scores(&self, scores: &CandidateScores) -> Option<f64> {
        let all = self.likely(scores.keyword, scores.semantic)?;
        let Some(typed) = &scores.typed else { return Some(all) };
        Some(self.likely(typed.keyword, typed.semantic)?.max(all.min(BY_OTHER_WORDS)))
    }

    /// What waits for its vector is judged by its words.
    fn likely(&self, keyword: Option<f64>, semantic: Option<f64>) -> Option<f64> {
        let coverage = self.share(keyword).unwrap_or_default();
        let calibration = match (self.mode, semantic) {
            (Mode::Keyword, _) | (Mode::Hybrid, None) => Some(Calibration::WORDS),
            (mode, _) => Calibration::of(self.model?, mode == Mode::Semantic),
        };
        Some(calibration?.relevance(coverage, semantic.unwrap_or_default()))
    }
}

/// What the judgement says, and where the scores say more, a share of that.
fn judged_or(judged: f64, by_scores: Option<f64>) -> f64 {
    judged + NOT_JUDGED * (by_scores.unwrap_or(judged) - judged).max(0.0)
}

fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

#[cfg(test)]
mod tests {
    use super::super::candidate::TypedScores;
    use super::*;

    #[test]
    fn a_passage_is_as_likely_as_whoever_has_read_it_says_or_a_little_more() {
        for (by_scores, judged, likely) in [(0.1, 0.8, 0.8), (1.0, 0.0, 0.3), (1.0, 0.5, 0.65), (0.0, 0.0, 0.0)] {
            let relevance = judged_or(judged, Some(by_scores));
            assert!((relevance - likely).abs() < 1e-9, "{by_scores} {judged}: {relevance}");
        }
        assert!((judged_or(0.2, None) - 0.2).abs() < 1e-9, "where the model was never measured");
    }

    fn of(scores: CandidateScores) -> f64 {
        let relevance = Relevance { mode: Mode::Keyword, model: None, most: 10.0 };
        rounded(relevance.by_scores(&scores).unwrap())
    }

    #[test]
    fn what_was_not_typed_makes_a_passage_as_likely_as_not_at_most() {
        let by = |keyword: f64, typed: f64| {
            let typed = TypedScores { keyword: Some(typed), semantic: None };
            of(CandidateScores { keyword: Some(keyword), typed: Some(typed), ..CandidateScores::default() })
        };
        let alone = |keyword| of(CandidateScores { keyword: Some(keyword), ..CandidateScores::default() });
        assert!(alone(9.0) > 0.99);
        assert_eq!(by(9.0, 0.0), BY_OTHER_WORDS);
        assert_eq!(by(1.0, 0.0), alone(1.0), "what says little says no more");
        assert_eq!(by(9.5, 9.0), alone(9.0), "what was typed says all");
    }
}
