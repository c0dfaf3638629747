//! The stage after the ranking: no file takes all places.

use std::collections::HashMap;

use super::candidate::Candidate;

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
