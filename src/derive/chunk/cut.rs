//! Where a run of blocks is cut, so that boundaries find themselves again after an edit.
//!
//! Every gap between two blocks has a key, the hash of the block on its right. A gap is a cut when no gap within
//! [`RADIUS`] tokens on either side has a lower key, and neither end of the section is nearer than that: a local minimum.
//! Whether a gap is a cut so depends on the text within `RADIUS` tokens of it alone, and two cuts are at least that far
//! apart.
//!
//! Inserting or deleting one block changes at most 3 chunks. Sketch: a gap left of the insertion can become a cut only if
//! its reach to the right was less than `RADIUS` and is now longer, so it is within `RADIUS` of the place; likewise on
//! the right; two such gaps cannot both become cuts, for the higher of the two keys is still cut short by whatever cut
//! short the lower one; and if the gap left of the new block becomes a cut, the one left of it does not. So there are at
//! most two new cuts, all between the same two surviving ones: at most three new chunks.

/// The radius in tokens. Measured over four corpora (notes, documentation, a book, design notes): 40, 44 and 48 give
/// chunks of 78, 83 and 88 tokens on average with 8, 10 and 13 % over 128, where filling up to 128 gives 84.
const RADIUS: usize = 48;

/// Cuts a run of blocks with the given keys and sizes in tokens; gives the indices of the blocks that start a chunk,
/// without the first.
pub(super) fn cuts(keys: &[u64], sizes: &[usize]) -> Vec<usize> {
    let mut ends = Vec::with_capacity(sizes.len() + 1);
    let mut total = 0;
    ends.push(0);
    ends.extend(sizes.iter().map(|size| {
        total += size;
        total
    }));
    // Gaps of rising keys, each with the tokens between it and the nearest gap on its left with a lower key.
    let mut rising: Vec<(usize, usize)> = Vec::new();
    let mut cuts = Vec::new();
    let settle = |(gap, left): (usize, usize), right_end: usize, cuts: &mut Vec<usize>| {
        if left >= RADIUS && right_end - ends[gap] >= RADIUS {
            cuts.push(gap);
        }
    };
    for gap in 1..keys.len() {
        while let Some(top) = rising.pop_if(|(top, _)| keys[*top] > keys[gap]) {
            settle(top, ends[gap], &mut cuts);
        }
        let left = ends[gap] - rising.last().map_or(0, |(top, _)| ends[*top]);
        rising.push((gap, left));
    }
    rising.into_iter().for_each(|top| settle(top, total, &mut cuts));
    cuts.sort_unstable();
    cuts
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::proptest_config;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn chunks(blocks: &[(u64, usize)]) -> HashSet<Vec<(u64, usize)>> {
        let (keys, sizes): (Vec<u64>, Vec<usize>) = blocks.iter().copied().unzip();
        let mut starts = vec![0];
        starts.extend(cuts(&keys, &sizes));
        starts.push(blocks.len());
        starts.windows(2).map(|pair| blocks[pair[0]..pair[1]].to_vec()).collect()
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn one_block_more_or_less_changes_at_most_three_chunks(
            blocks in prop::collection::vec((0u64..40, prop_oneof![1usize..12, 20usize..64, 90usize..128]), 1..120),
            block in (0u64..40, 1usize..128),
            at in any::<prop::sample::Index>(),
        ) {
            let mut more = blocks.clone();
            more.insert(at.index(blocks.len() + 1), block);
            let (before, after) = (chunks(&blocks), chunks(&more));
            prop_assert!(after.difference(&before).count() <= 3);
            prop_assert!(before.difference(&after).count() <= 3);
        }

        #[test]
        fn cuts_are_a_radius_apart(blocks in prop::collection::vec((any::<u64>(), 1usize..128), 1..200)) {
            let (keys, sizes): (Vec<u64>, Vec<usize>) = blocks.into_iter().unzip();
            let mut starts = vec![0];
            starts.extend(cuts(&keys, &sizes));
            starts.push(sizes.len());
            if starts.len() > 2 {
                for pair in starts.windows(2) {
                    prop_assert!(sizes[pair[0]..pair[1]].iter().sum::<usize>() >= RADIUS);
                }
            }
        }
    }
}
