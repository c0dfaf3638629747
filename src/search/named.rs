//! The stage for names: a note whose title, file name or alias is what was typed comes first, as in a quick switcher.

use super::candidate::Candidate;
use crate::engine::FileSet;

/// Puts the candidates of `named` files before all others, in their order, at the score of the best.
pub(super) fn named_first(ranked: &mut [Candidate], named: &FileSet) {
    let is_named = |candidate: &Candidate| named.contains(candidate.file.id);
    let best = ranked.first().map_or(0.0, |best| best.score);
    // Of each file one: the others stand where they stood.
    let mut seen = FileSet::new();
    for candidate in ranked.iter_mut() {
        if is_named(candidate) && seen.insert(candidate.file.id) {
            candidate.named = true;
            candidate.score = best;
        }
    }
    ranked.sort_by_key(|candidate| !candidate.named);
}
