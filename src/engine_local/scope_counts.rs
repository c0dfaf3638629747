//! What was counted in the scopes that were asked for last, of one snapshot.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use crate::engine::{FileSet, Statistics};

/// Maximum number of scopes that are remembered: agents that ask at the same time, each with a filter or two.
const MAX_SCOPES: usize = 8;

/// What is counted in a scope. Nothing of it changes for as long as the snapshot lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScopeCount {
    /// Chunks and words.
    pub(super) statistics: Statistics,
    /// Chunks that are embedded, of those that are to be.
    pub(super) embedded: (usize, usize),
}

/// The counts of the last scopes: each search of an agent asks for them three times, and going through 20,000 files each time took three
/// quarters of its 10 ms (`docs/performance.md`).
///
/// They are shared by all who ask: who sees exactly the same files as another may tell by the time that somebody has asked since the index
/// changed last. It learns neither who nor what, and whoever asks without a filter and sees everything, as the person does, is not counted.
#[derive(Default)]
pub(super) struct ScopeCounts(Mutex<VecDeque<(FileSet, ScopeCount)>>);

impl ScopeCounts {
    /// What was counted in a scope, or is now.
    pub(super) fn of(&self, scope: &FileSet, count: impl FnOnce() -> ScopeCount) -> ScopeCount {
        if let Some(known) = self.known(scope) {
            return known;
        }
        // Nobody waits for this: two who ask at once both count.
        let counted = count();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.truncate(MAX_SCOPES - 1);
        last.push_front((scope.clone(), counted));
        counted
    }

    fn known(&self, scope: &FileSet) -> Option<ScopeCount> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().find(|(known, _)| known == scope).map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(embedded: usize) -> ScopeCount {
        ScopeCount { statistics: Statistics::default(), embedded: (embedded, embedded) }
    }

    #[test]
    fn a_scope_is_counted_once_until_others_have_taken_its_place() {
        let counts = ScopeCounts::default();
        let scope = |files: u32| -> FileSet { (0..files).collect() };
        assert_eq!(counts.of(&scope(3), || count(1)), count(1));
        assert_eq!(counts.of(&scope(3), || unreachable!()), count(1));
        for files in 4..4 + MAX_SCOPES as u32 {
            assert_eq!(counts.of(&scope(files), || count(files as usize)), count(files as usize));
        }
        assert_eq!(counts.of(&scope(3), || count(2)), count(2), "it was forgotten");
    }
}
