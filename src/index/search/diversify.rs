//! The stages after the ranking: no file takes all places, and what says the same again comes later.

use std::collections::HashMap;

use super::candidate::Candidate;
use crate::index::engine::Reader;

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
