//! The stage for what counts less: collections that are given a weight, and what is old and of a day. It does nothing unless `[search]` says
//! so.

use super::candidate::{Candidate, sort};
use crate::config::SearchConfig;
use crate::derive::{CONVERSATIONS, Label};
use crate::engine::{FileEntry, FileTable};

/// The collections whose notes are of a day. Other notes do not grow old.
const DATED: [&str; 3] = [CONVERSATIONS, "files", "searches"];

const DAY_MS: f64 = 86_400_000.0;

/// Multiplies each score with the weight of its collection and, of what is dated and not `evergreen: true`, with ½ to the power of its age in
/// half-lives; best first again. A score below 0 is divided, so that less is always less.
pub(super) fn weigh(candidates: &mut [Candidate], files: &FileTable, config: &SearchConfig, now_ms: i64) {
    if config.weights.is_empty() && config.half_life_days == 0.0 {
        return;
    }
    let evergreen = files.facets().labelled(Label::of_property("evergreen", Some("true")));
    let weight = |file: &FileEntry| {
        let collection = file.path.collection();
        let weight = config.weights.get(collection).copied().unwrap_or(1.0);
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
