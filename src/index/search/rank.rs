//! The stages after the fusion: what counts less or more by `[search]`; a note whose title, file name or alias is what was typed comes
//! first, as in a quick switcher, so does one whose name begins so, and one that is called what was perhaps meant; no file takes all
//! places, and what says the same again comes later; and how likely a hit answers, as a number that means the same in every answer.

use std::collections::{BTreeSet, HashMap};

use super::assist::JUDGED;
use super::fuse::{Candidate, CandidateScores, sort};
use super::retrieve::Retriever;
use crate::base::config::{Mode, SearchConfig, VaultPart};
use crate::index::engine::{FileEntry, FileSet, FileTable, Reader, WordQuery};
use crate::models::Calibration;
use crate::text::derive::words::{Stemming, plain_words};
use crate::text::derive::{CONVERSATIONS, Label, stop_words};

/// The collections whose notes are of a day. Other notes do not grow old.
const DATED: [&str; 3] = [CONVERSATIONS, "files", "searches"];

const DAY_MS: f64 = 86_400_000.0;

/// Multiplies each score with the weight of its collection and, of what is dated and not `evergreen: true`, with ½ to the power of its age in
/// half-lives; best first again. A score below 0 is divided, so that less is always less.
///
/// A memory scope that is asked with a weight multiplies the scores of its notes likewise.
pub(super) fn weigh(
    candidates: &mut [Candidate],
    files: &FileTable,
    config: &SearchConfig,
    now_ms: i64,
    parts: &[(VaultPart, f64)],
) {
    if config.weights.is_empty() && config.half_life_days == 0.0 && parts.is_empty() {
        return;
    }
    let evergreen = files.facets().labelled(Label::of_property("evergreen", Some("true")));
    let weight = |file: &FileEntry| {
        let collection = file.path.collection();
        let part = parts.iter().find(|(part, _)| part.holds(file.path.as_str())).map_or(1.0, |(_, weight)| *weight);
        let weight = part * config.weights.get(collection).copied().unwrap_or(1.0);
        if config.half_life_days == 0.0 || !DATED.contains(&collection) || evergreen.contains(file.id) {
            return weight;
        }
        let age = (now_ms.saturating_sub(file.updated_ms)).max(0) as f64 / DAY_MS;
        weight * 0.5_f64.powf(age / config.half_life_days)
    };
    for candidate in candidates.iter_mut() {
        let weight = weight(&candidate.file).max(f64::MIN_POSITIVE);
        candidate.score = if candidate.score < 0.0 { candidate.score / weight } else { candidate.score * weight };
    }
    sort(candidates);
}

/// The relevance of a note that is called what was typed.
const CALLED: f64 = 1.0;
/// Minimum length of a stem that stands for its word, in characters: "car" of "cars" begins the name of Carla.
const MIN_STEM: usize = 5;

/// The least relevance of one whose name begins so, or that is called as was perhaps meant. Of 120 titles of two vaults whose last word was cut to
/// 60 % all were first, and of 120 with two letters exchanged 117.
const PERHAPS_CALLED: f64 = 0.9;
/// Maximum number of notes whose names begin as was typed. What more names begin with names none of them.
const MAX_BEGUN: usize = 5;

/// The notes that were typed by their names.
pub(super) struct Named {
    pub(super) files: FileSet,
    /// What the relevance of their chunks is at least.
    relevance: f64,
}

impl Retriever<'_> {
    /// The notes that are called so; else those whose names begin so; else the same of what was perhaps meant.
    pub(super) fn named(&self, name: Option<Label>, typed: &WordQuery, meant: Option<&WordQuery>) -> Option<Named> {
        let called = |name: Option<Label>| Some(self.labelled(name?)).filter(|files| !files.is_empty());
        if let Some(files) = called(name) {
            return Some(Named { files, relevance: CALLED });
        }
        let meant_name = |meant: &WordQuery| called(name.and_then(|_| Label::of_name(&meant.words.join(" "))));
        let files = self
            .begun(typed)
            .or_else(|| meant.and_then(meant_name))
            .or_else(|| meant.and_then(|meant| self.begun(meant)))?;
        Some(Named { files, relevance: PERHAPS_CALLED })
    }

    /// The notes with the shortest name that has a word for each of the query, which begins so or as its stem, and at most as many others.
    fn begun(&self, query: &WordQuery) -> Option<FileSet> {
        let words: BTreeSet<String> = query.words.iter().flat_map(|word| plain_words(word, false)).collect();
        let says_nothing = stop_words::without(&words.iter().collect::<Vec<_>>(), self.language).is_empty();
        if says_nothing || !query.excluded.is_empty() || !query.phrases.is_empty() {
            return None;
        }
        let mut stemming = Stemming::new(self.language);
        let stems: Vec<Option<String>> = words
            .iter()
            .map(|word| Some(stemming.stem(word).to_owned()).filter(|stem| stem.chars().count() >= MIN_STEM))
            .collect();
        let of_length = |length: usize| {
            let mut sets = words.iter().zip(&stems).map(|(word, stem)| {
                let mut files = self.labelled(Label::of_beginning(length, word));
                stem.iter().for_each(|stem| files.union(&self.labelled(Label::of_beginning(length, stem))));
                files
            });
            let first = sets.next().unwrap_or_default();
            sets.fold(first, |mut all, set| {
                all.intersect(&set);
                all
            })
        };
        let shortest = (words.len()..=2 * words.len()).map(of_length).find(|files| !files.is_empty())?;
        (shortest.len() <= MAX_BEGUN).then_some(shortest)
    }

    fn labelled(&self, label: Label) -> FileSet {
        let mut files = self.reader.files().facets().labelled(label);
        self.allow.iter().for_each(|allow| files.intersect(allow));
        files
    }
}

/// Puts the candidates of `named` files before all others, in their order, at the score of the best.
pub(super) fn named_first(ranked: &mut [Candidate], named: &Named) {
    let best = ranked.first().map_or(0.0, |best| best.score);
    // Of each file one: the others stand where they stood.
    let mut seen = FileSet::new();
    for candidate in ranked.iter_mut() {
        if named.files.contains(candidate.file.id) && seen.insert(candidate.file.id) {
            candidate.named = Some(named.relevance);
            candidate.score = best;
        }
    }
    ranked.sort_by_key(|candidate| candidate.named.is_none());
}

/// Keeps the best `per_file` candidates of each file (all when 0), given in the order of their ranks.
pub(super) fn diversify(ranked: &mut Vec<Candidate>, per_file: usize) {
    if per_file == 0 {
        return;
    }
    let mut of_file: HashMap<u32, usize> = HashMap::new();
    ranked.retain(|candidate| {
        let count = of_file.entry(candidate.file.id).or_default();
        *count += 1;
        *count <= per_file
    });
}

/// How many candidates [`diversify`] would keep.
pub(super) fn left_of(candidates: &[Candidate], per_file: usize) -> usize {
    let mut left = candidates.to_vec();
    diversify(&mut left, per_file);
    left.len()
}

/// Factor by which more hits are put in order anew than are wanted.
const OVER_FETCH: usize = 2;

/// Maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998): of the best, each next one is that with the highest `lambda` · score − (1 −
/// `lambda`) · its highest cosine with one that stands before it, scores scaled to 0..1. With a `lambda` of 1 nothing changes. The scores are
/// given out again in their order, so that hits stay in the order of their scores; what is called as was typed stays first.
pub(super) fn spread(ranked: &mut [Candidate], reader: &dyn Reader, lambda: f64, limit: usize) {
    let first = ranked.iter().take_while(|candidate| candidate.named.is_some()).count();
    let end = ranked.len().min(limit.saturating_mul(OVER_FETCH)).max(first);
    let best = &mut ranked[first..end];
    if lambda >= 1.0 || best.len() < 2 {
        return;
    }
    let scores: Vec<f64> = best.iter().map(|candidate| candidate.score).collect();
    let (high, low) = (scores[0], scores[scores.len() - 1]);
    let scaled = |score: f64| if high > low { (score - low) / (high - low) } else { 1.0 };
    let mut left: Vec<(Candidate, Option<Vec<f32>>, f64)> =
        best.iter().map(|candidate| (candidate.clone(), reader.vector(candidate.row), f64::NEG_INFINITY)).collect();
    for (place, score) in best.iter_mut().zip(&scores) {
        let worth = |(candidate, _, likest): &(Candidate, Option<Vec<f32>>, f64)| {
            lambda * scaled(candidate.score) - (1.0 - lambda) * likest.max(0.0)
        };
        // Of equals the one that was before.
        let next = (1..left.len()).fold(0, |next, at| if worth(&left[at]) > worth(&left[next]) { at } else { next });
        let (candidate, vector, _) = left.remove(next);
        for (_, other, likest) in &mut left {
            if let (Some(one), Some(other)) = (&vector, other) {
                let cosine: f32 = one.iter().zip(&*other).map(|(one, other)| one * other).sum();
                *likest = likest.max(f64::from(cosine));
            }
        }
        *place = Candidate { score: *score, ..candidate };
    }
}

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
    /// The score by words as a share of what it could be at most.
    pub(super) fn coverage(&self, scores: &CandidateScores) -> Option<f64> {
        scores.keyword.filter(|_| self.most > 0.0).map(|score| rounded((score / self.most).min(1.0)))
    }

    /// How likely a candidate answers, 0 to 1; `None` where the model was never measured, nobody has judged it, and it is not called so. It is never less
    /// likely than whoever has read it says. Nothing that is hidden counts, nor a filter.
    pub(super) fn of(&self, candidate: &Candidate) -> Option<f64> {
        let by_scores = self.by_scores(&candidate.scores);
        let judged = candidate.scores.rerank.map(|judged| judged_or(judged, by_scores)).or(by_scores);
        [judged, candidate.named].into_iter().flatten().reduce(f64::max).map(rounded)
    }

    /// What waits for its vector is judged by its words.
    fn by_scores(&self, scores: &CandidateScores) -> Option<f64> {
        let (coverage, semantic) = (self.coverage(scores).unwrap_or_default(), scores.semantic);
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
    use super::*;

    #[test]
    fn a_passage_is_as_likely_as_whoever_has_read_it_says_or_a_little_more() {
        for (by_scores, judged, likely) in [(0.1, 0.8, 0.8), (1.0, 0.0, 0.3), (1.0, 0.5, 0.65), (0.0, 0.0, 0.0)] {
            let relevance = judged_or(judged, Some(by_scores));
            assert!((relevance - likely).abs() < 1e-9, "{by_scores} {judged}: {relevance}");
        }
        assert!((judged_or(0.2, None) - 0.2).abs() < 1e-9, "where the model was never measured");
    }
}
