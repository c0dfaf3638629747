//! The best rows of a scan, with a cut that does not depend on the order in which they were seen.

/// A row that may be among the answers, and its estimated score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RowCandidate {
    pub(super) estimate: f32,
    pub(super) segment: u32,
    pub(super) row: u32,
}

/// Keeps the best `wanted` candidates and every one that ties with the last of them.
///
/// Rows that tie are kept or dropped together. If a tie were broken here, it could only be by chunk id or position, and
/// those differ between an index that grew edit by edit and one that was rebuilt: the two would answer differently.
pub(super) struct BestRows {
    wanted: usize,
    floor: f32,
    kept: Vec<RowCandidate>,
    trim_at: usize,
}

impl BestRows {
    pub(super) fn new(wanted: usize) -> Self {
        Self { wanted, floor: f32::NEG_INFINITY, kept: Vec::new(), trim_at: trim_at(wanted, 0) }
    }

    #[inline]
    pub(super) fn push(&mut self, candidate: RowCandidate) {
        if candidate.estimate >= self.floor {
            self.kept.push(candidate);
            if self.kept.len() >= self.trim_at {
                self.trim();
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.kept.len()
    }

    /// The candidates, in no order.
    pub(super) fn into_candidates(mut self) -> Vec<RowCandidate> {
        self.trim();
        self.kept
    }

    fn trim(&mut self) {
        if self.wanted > 0 && self.kept.len() > self.wanted {
            let by_estimate = |a: &RowCandidate, b: &RowCandidate| b.estimate.total_cmp(&a.estimate);
            let (_, last, _) = self.kept.select_nth_unstable_by(self.wanted - 1, by_estimate);
            let floor = last.estimate;
            self.kept.retain(|candidate| candidate.estimate >= floor);
            self.floor = floor;
        }
        self.trim_at = trim_at(self.wanted, self.kept.len());
    }
}

/// Twice what a trim leaves at least, so that trimming costs each candidate a constant, ten thousand ties or none.
fn trim_at(wanted: usize, kept: usize) -> usize {
    wanted.max(kept).saturating_mul(2).max(256)
}
