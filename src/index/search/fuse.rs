//! A chunk that may become a hit, as the stages pass it on, and the second stage: from its two scores to one, and the order by it.

use std::sync::Arc;

use crate::base::config::Mode;
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

/// What is known of a query's words before any is found.
#[derive(Debug, Clone, Copy)]
pub(super) struct AskedWords {
    /// How many there are.
    pub(super) count: usize,
    /// What no score by words reaches.
    pub(super) most: f64,
}

impl AskedWords {
    /// How much of what was asked a score by words stands for, 0 to 1. Whoever types one word that is there means it.
    fn covered_by(self, score: f64) -> f64 {
        match self.count {
            _ if score <= 0.0 || self.most <= 0.0 => 0.0,
            1 => 1.0,
            _ => score / self.most,
        }
    }
}

/// Gives each candidate the score that `mode` orders by, and puts the best first.
pub(super) fn rank(candidates: &mut [Candidate], mode: Mode, asked: AskedWords) {
    let of_kind = |candidate: &Candidate| (candidate.file.is_conversation(), candidate.scores);
    let fused = fuse(&candidates.iter().map(of_kind).collect::<Vec<_>>(), asked);
    for (candidate, fused) in candidates.iter_mut().zip(fused) {
        candidate.score = match mode {
            Mode::Keyword => candidate.scores.keyword.unwrap_or(0.0),
            Mode::Semantic => candidate.scores.semantic.unwrap_or(0.0),
            Mode::Hybrid | Mode::Deep => fused,
        };
    }
    sort(candidates);
}

/// One score of each candidate, 0 to 1, given its scores and whether somebody said it in a conversation; else it is prose. Higher is better;
/// they compare within one response only.
///
/// While some of them wait for their vectors, the cosines count by the share of those that have theirs, and one that waits is taken to be as
/// near in meaning as it is by its words. Of 600 headings of two documentations, with scores that were recorded once and vectors left out
/// at random, fused with one weight for all (0.45), the right chunk was first with 10, 25, 50 and 75 % embedded in 94.7, 94.7, 94.6 and 94.0 % (words alone 94.7, all embedded
/// 93.0) and in 71.1, 71.7, 72.3 and 73.0 % (71.0 and 71.0); a missing cosine that counted as 0 had been first in 43 and 31 % at 10 %.
fn fuse(scores: &[(bool, CandidateScores)], asked: AskedWords) -> Vec<f64> {
    let side = |of: fn(&CandidateScores) -> Option<f64>| {
        min_max(&scores.iter().map(|(_, scored)| of(scored)).collect::<Vec<_>>())
    };
    let keyword = side(|scored| scored.keyword);
    let meaning = with_tokens(scores, side(|scored| scored.semantic));
    let prose = prose_weight(scores, asked);
    let waiting = scores.iter().filter(|(_, scored)| scored.waits).count();
    let there = if waiting > 0 { 1.0 - waiting as f64 / scores.len() as f64 } else { 1.0 };
    let sum = |at: usize| {
        let (weight, words) = (if scores[at].0 { SAID_WEIGHT } else { prose } * there, keyword[at]);
        (1.0 - weight) * words + weight * if scores[at].1.waits { words } else { meaning[at] }
    };
    (0..scores.len()).map(sum).collect()
}

/// The weight of the meaning of prose where no candidate has more than [`FEW_WORDS`] of what it could have by words, and where one has
/// [`MOST_WORDS`]. That of what was said is fixed: a turn has few of a question's words even where it answers, so that how
/// many says little.
///
/// Of 656 questions about five conversations MRR is 59.1 with 0.45 and 53.2 with the weight of prose. From 0.2 to 0.5 it is 58.5 to 59.6, and
/// the weight that four of the five would choose gains 0.4 in the fifth ([retrieval](../../docs/retrieval.md)).
const FEW_WORDS: (f64, f64) = (0.1, 0.8);
const MOST_WORDS: (f64, f64) = (0.4, 0.35);
const SAID_WEIGHT: f64 = 0.45;

/// The weight of the meaning of prose, from how much of the query's words the best of it has: who types words of the text looks for that text,
/// and who finds few of them there asks in other words.
///
/// Of 80 hand-written questions about each of two documentations MRR is 58.8 and 48.0 where a weight of 0.45 for all has 50.0 and 43.3, the
/// words alone 37.6 and 37.8 and the meaning alone 51.9 and 44.4; of their headings as queries 97.2 and 85.8 against 97.0 and 85.0. The
/// optimum is broad ([retrieval](../../docs/retrieval.md)).
fn prose_weight(scores: &[(bool, CandidateScores)], asked: AskedWords) -> f64 {
    let prose = scores.iter().filter(|(is_said, _)| !is_said).map(|(_, scored)| scored);
    let best = prose.filter_map(|scored| scored.keyword).fold(0.0, f64::max);
    let share = (asked.covered_by(best) - FEW_WORDS.0) / (MOST_WORDS.0 - FEW_WORDS.0);
    FEW_WORDS.1 + (MOST_WORDS.1 - FEW_WORDS.1) * share.clamp(0.0, 1.0)
}

/// The meaning of all, given how near the `whole` of each is, with MaxSim in the place of the cosines of what was said. The tokens spread as far
/// as those cosines do, so that they put no turn before prose, and no prose before a turn, that is nearer.
///
/// In 452 questions about three conversations the tokens alone gain 2.1 points (0.5 to 3.8) over the cosine alone; a share of 0.5 to 0.8 with a
/// greater weight is within half a point of that.
fn with_tokens(scores: &[(bool, CandidateScores)], mut whole: Vec<f64>) -> Vec<f64> {
    let some: Vec<usize> = (0..scores.len()).filter(|at| scores[*at].1.late.is_some()).collect();
    let tokens = min_max(&some.iter().map(|at| scores[*at].1.late).collect::<Vec<_>>());
    let (low, high) = range(some.iter().map(|at| whole[*at]));
    for (at, tokens) in some.into_iter().zip(tokens) {
        whole[at] = low + (high - low) * tokens;
    }
    whole
}

/// Scales to 0..1; 1 when all are equal, 0 where there is none.
pub(super) fn min_max(scores: &[Option<f64>]) -> Vec<f64> {
    let (low, high) = range(scores.iter().flatten().copied());
    let scale = |score: f64| if high > low { (score - low) / (high - low) } else { 1.0 };
    scores.iter().map(|score| score.map_or(0.0, scale)).collect()
}

/// The least and the greatest.
fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scored(keyword: Option<f64>, semantic: Option<f64>) -> (bool, CandidateScores) {
        (false, CandidateScores { keyword, semantic, ..CandidateScores::default() })
    }

    /// The same of what was said, whose weight is fixed.
    fn said(keyword: Option<f64>, semantic: Option<f64>) -> (bool, CandidateScores) {
        (true, scored(keyword, semantic).1)
    }

    const TWO: AskedWords = AskedWords { count: 2, most: 20.0 };

    #[test]
    fn what_waits_for_its_vector_is_ranked_by_its_words() {
        let waits = |keyword| (false, CandidateScores { waits: true, ..scored(Some(keyword), None).1 });
        let all = fuse(&[waits(10.0), waits(5.0), waits(0.0)], TWO);
        assert_eq!(all, [1.0, 0.5, 0.0], "with no vector at all, the words decide");
        let some = fuse(&[waits(10.0), scored(Some(8.0), Some(0.9)), scored(Some(0.0), Some(0.1))], TWO);
        assert!(some[0] > some[1] && some[1] > some[2], "{some:?}");
    }

    #[test]
    fn min_max_scales_each_side_over_the_candidates() {
        let three = [said(Some(10.0), Some(0.2)), said(Some(5.0), Some(0.8)), said(Some(0.0), None)];
        let words = 1.0 - SAID_WEIGHT;
        assert_eq!(fuse(&three, TWO), [words, words * 0.5 + SAID_WEIGHT, 0.0]);
        let equal = fuse(&[said(Some(3.0), None), said(Some(3.0), None)], TWO);
        assert_eq!(equal, [words, words], "a side whose scores are all equal gives 1");
    }

    #[test]
    fn the_more_of_the_words_are_there_the_more_they_count() {
        let weigh = |count, best: f64| {
            let asked = AskedWords { count, most: 10.0 };
            prose_weight(&[scored(Some(best), None), scored(Some(0.0), Some(0.3))], asked)
        };
        let weight = |best| weigh(2, best);
        assert_eq!([weight(0.0), weight(1.0), weight(4.0), weight(10.0)], [0.8, 0.8, 0.35, 0.35]);
        assert!((weight(2.5) - 0.575).abs() < 1e-9);
        assert_eq!(
            prose_weight(&[scored(None, Some(0.5))], AskedWords { count: 0, most: 0.0 }),
            0.8,
            "no words at all"
        );
        assert_eq!([weigh(1, 0.0), weigh(1, 0.5)], [0.8, 0.35], "one word is there or not");
    }

    #[test]
    fn what_was_said_has_a_weight_of_its_own_and_one_scale_with_prose() {
        let said =
            |keyword, semantic, late| (true, CandidateScores { late, ..scored(Some(keyword), Some(semantic)).1 });
        let prose = [scored(Some(10.0), Some(0.9)), scored(Some(0.0), Some(0.1))];
        // As many of the words as the best of prose has: 0.35 for the meaning of prose.
        let both = fuse(&[prose[0], prose[1], said(5.0, 0.5, None)], TWO);
        assert_eq!(both, [1.0, 0.0, 0.5]);
        let words_alone = fuse(&[prose[0], prose[1], said(10.0, 0.1, None), scored(Some(10.0), Some(0.1))], TWO);
        assert!((words_alone[2] - 0.55).abs() < 1e-9 && (words_alone[3] - 0.65).abs() < 1e-9, "{words_alone:?}");
        // Tokens turn the order of what was said around, stay between its cosines, and move no prose.
        let near = [said(0.0, 0.3, Some(0.8)), said(0.0, 0.5, Some(0.2))];
        let with = fuse(&[prose[0], prose[1], near[0], near[1]], TWO);
        assert!((with[2] - 0.45 * 0.5).abs() < 1e-9 && (with[3] - 0.45 * 0.25).abs() < 1e-9, "{with:?}");
        assert_eq!(with[..2], both[..2]);
    }
}
