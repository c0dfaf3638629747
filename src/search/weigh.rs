//! The stage for what counts less or more: collections that are given a weight, what is old and of a day, and what was given before. It does
//! nothing unless `[search]` says so.

use super::candidate::{Candidate, sort};
use crate::config::{SearchConfig, VaultPart};
use crate::derive::{CONVERSATIONS, ChunkId, Label};
use crate::engine::{FileEntry, FileTable};

/// The collections whose notes are of a day. Other notes do not grow old.
const DATED: [&str; 3] = [CONVERSATIONS, "files", "searches"];

/// Number of times that a chunk was given at which it counts half of what it can count more.
const HALF_GIVEN: f64 = 4.0;

/// How often who asks was given each of some chunks, in their order.
pub(crate) type GivenCounts<'a> = &'a dyn Fn(&[ChunkId]) -> Vec<u64>;

const DAY_MS: f64 = 86_400_000.0;

/// Multiplies each score with the weight of its collection and, of what is dated and not `evergreen: true`, with ½ to the power of its age in
/// half-lives; best first again. A score below 0 is divided, so that less is always less.
///
/// A memory scope that is asked with a weight multiplies the scores of its notes likewise.
///
/// What the asker was given before counts more by a share of `usage_weight` that grows with how often, and slower and slower.
pub(super) fn weigh(
    candidates: &mut [Candidate],
    files: &FileTable,
    config: &SearchConfig,
    now_ms: i64,
    given: Option<GivenCounts<'_>>,
    parts: &[(VaultPart, f64)],
) {
    let given = given.filter(|_| config.usage_weight > 0.0);
    if config.weights.is_empty() && config.half_life_days == 0.0 && given.is_none() && parts.is_empty() {
        return;
    }
    let ids = || candidates.iter().filter_map(|one| Some(one.file.chunks.get(one.ordinal)?.id)).collect::<Vec<_>>();
    let counts = given.map(|given| given(&ids())).unwrap_or_default();
    let mut counts = counts.into_iter();
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
        let count = counts.next().unwrap_or_default() as f64;
        let used = 1.0 + config.usage_weight * count / (count + HALF_GIVEN);
        let weight = (weight(&candidate.file) * used).max(f64::MIN_POSITIVE);
        candidate.score = if candidate.score < 0.0 { candidate.score / weight } else { candidate.score * weight };
    }
    sort(candidates);
}
