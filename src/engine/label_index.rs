//! Which files have a label, kept so that a new state costs what changed, and not what there is.

use std::sync::Arc;

use super::file_set::FileSet;
use crate::derive::Label;

/// Number of bits of a label that say its part: 100,000 labels make parts of 100.
const PART_BITS: u32 = 10;

/// Labels with their files, in order.
type Part = Vec<(Label, u32)>;

/// Labels with the files that have them.
///
/// Every publication clones it: 1,024 shared parts, of which a change copies one.
#[derive(Debug, Clone)]
pub(super) struct LabelIndex {
    parts: Box<[Arc<Part>]>,
}

impl Default for LabelIndex {
    fn default() -> Self {
        Self { parts: vec![Arc::default(); 1 << PART_BITS].into() }
    }
}

impl LabelIndex {
    /// The files with a label.
    pub(super) fn files(&self, label: Label) -> FileSet {
        let part = &self.parts[part_of(label)];
        let first = part.partition_point(|(other, _)| *other < label);
        part[first..].iter().take_while(|(other, _)| *other == label).map(|(_, file)| *file).collect()
    }

    /// Whether a file of a scope (all when `None`) has a label.
    pub(super) fn has(&self, label: Label, scope: Option<&FileSet>) -> bool {
        let part = &self.parts[part_of(label)];
        let first = part.partition_point(|(other, _)| *other < label);
        let mut with = part[first..].iter().take_while(|(other, _)| *other == label);
        with.any(|(_, file)| scope.is_none_or(|scope| scope.contains(*file)))
    }

    pub(super) fn insert(&mut self, labels: &[Label], file: u32) {
        for label in labels {
            let part = Arc::make_mut(&mut self.parts[part_of(*label)]);
            if let Err(at) = part.binary_search(&(*label, file)) {
                part.insert(at, (*label, file));
            }
        }
    }

    pub(super) fn remove(&mut self, labels: &[Label], file: u32) {
        for label in labels {
            let part = Arc::make_mut(&mut self.parts[part_of(*label)]);
            if let Ok(at) = part.binary_search(&(*label, file)) {
                part.remove(at);
            }
        }
    }
}

fn part_of(label: Label) -> usize {
    (label.to_bits() >> (u64::BITS - PART_BITS)) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_keeps_what_it_had() {
        let labels: Vec<Label> =
            (0..5000u64).map(|at| Label::from_bits(at.wrapping_mul(0x9e37_79b9_7f4a_7c15))).collect();
        let mut index = LabelIndex::default();
        index.insert(&labels, 1);
        index.insert(&labels[..10], 2);
        let before = index.clone();
        index.remove(&labels[..5], 1);
        index.remove(&labels[..1], 7);
        let files = |index: &LabelIndex, at: usize| index.files(labels[at]).iter().collect::<Vec<_>>();
        assert_eq!([files(&before, 0), files(&before, 4999)], [vec![1, 2], vec![1]]);
        assert_eq!([files(&index, 0), files(&index, 7), files(&index, 4999)], [vec![2], vec![1, 2], vec![1]]);
        assert!(index.files(Label::from_bits(1)).is_empty());
        let two: FileSet = [2].into_iter().collect();
        assert_eq!([1, 7].map(|at| index.has(labels[at], Some(&two))), [true; 2]);
        assert!(index.has(labels[4999], None) && !index.has(labels[4999], Some(&two)));
    }
}
