//! When a changed path is ready to be read.
//!
//! Editors save in several steps: truncate and write, or write beside and rename. A path is due once its writer has closed
//! it or it has been quiet for a while, and a missing file is believed missing only after a grace, so that a save by
//! rename is one update and no search finds the note gone in between. Pure: time is handed in.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use crate::base::path::VaultPath;

/// What an event says of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Its writer closed it, or it was moved into place: it is whole.
    Closed,
    /// It was written to or made; more may come.
    Written,
    /// It was deleted or moved away.
    Removed,
}

/// A gap this long after a close lets the events of one save arrive together.
const AFTER_CLOSE: Duration = Duration::from_millis(10);
/// A writer that never closes the file does not keep its text unfound for longer than this.
const LONGEST: Duration = Duration::from_millis(1000);
/// Editors that move the old file away before they write the new one leave it missing for some milliseconds.
const REMOVAL_GRACE: Duration = Duration::from_millis(150);
/// Grace period of a removal where a search waits for what has changed.
const HURRIED_REMOVAL_GRACE: Duration = Duration::from_millis(60);

/// Paths with changes, and when each is due.
#[derive(Debug)]
pub(crate) struct Debounce {
    quiet: Duration,
    pending: HashMap<VaultPath, PendingChange>,
}

#[derive(Debug, Clone, Copy)]
struct PendingChange {
    first: Instant,
    due: Instant,
    /// When it is due if somebody waits for it.
    hurried: Instant,
}

impl Debounce {
    /// With the time a file must be quiet when nobody says that it was closed.
    pub(crate) fn new(quiet: Duration) -> Self {
        Self { quiet, pending: HashMap::new() }
    }

    /// Takes note of a change.
    pub(crate) fn note(&mut self, path: VaultPath, change: Change, now: Instant) {
        let wait = match change {
            Change::Closed => AFTER_CLOSE,
            Change::Written => self.quiet,
            Change::Removed => REMOVAL_GRACE,
        };
        let hurried = if change == Change::Removed { HURRIED_REMOVAL_GRACE } else { Duration::ZERO };
        let pending = self.pending.entry(path).or_insert(PendingChange { first: now, due: now, hurried: now });
        pending.due = (now + wait).min(pending.first + LONGEST);
        pending.hurried = (now + hurried).min(pending.due);
    }

    /// Has all that waits due as soon as may be: somebody waits for it. Whoever is writing still is read in the middle, and again
    /// when that is done.
    pub(crate) fn hurry(&mut self) {
        self.pending.values_mut().for_each(|pending| pending.due = pending.hurried);
    }

    /// Whether something waits that was noted by then.
    pub(crate) fn holds_of(&self, then: Instant) -> bool {
        self.pending.values().any(|pending| pending.first <= then)
    }

    /// When the next path is due, if any waits.
    pub(crate) fn next_due(&self) -> Option<Instant> {
        self.pending.values().map(|pending| pending.due).min()
    }

    /// Takes out the paths that are due.
    pub(crate) fn take_due(&mut self, now: Instant) -> Vec<VaultPath> {
        self.pending.extract_if(|_, pending| pending.due <= now).map(|(path, _)| path).collect()
    }

    /// Forgets all paths.
    pub(crate) fn clear(&mut self) {
        self.pending.clear();
    }

    /// How many paths wait.
    pub(crate) fn len(&self) -> usize {
        self.pending.len()
    }

    /// Whether none waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    #[test]
    fn a_save_by_rename_is_one_update() {
        let start = Instant::now();
        let path = VaultPath::new("a.md").unwrap();
        let mut debounce = Debounce::new(ms(50));
        debounce.note(path.clone(), Change::Removed, start);
        debounce.note(path.clone(), Change::Written, start + ms(3));
        debounce.note(path.clone(), Change::Closed, start + ms(5));
        assert!(debounce.take_due(start + ms(14)).is_empty());
        assert_eq!(debounce.next_due(), Some(start + ms(15)));
        assert_eq!(debounce.take_due(start + ms(15)), [path]);
        assert!(debounce.is_empty());
    }

    #[test]
    fn a_writer_that_goes_on_does_not_starve_readers() {
        let start = Instant::now();
        let mut debounce = Debounce::new(ms(50));
        for step in 0..100 {
            debounce.note(VaultPath::new("log.md").unwrap(), Change::Written, start + ms(step * 20));
        }
        assert_eq!(debounce.next_due(), Some(start + LONGEST));
    }

    #[test]
    fn a_removal_waits_for_its_successor() {
        let start = Instant::now();
        let mut debounce = Debounce::new(ms(50));
        debounce.note(VaultPath::new("a.md").unwrap(), Change::Removed, start);
        assert!(debounce.take_due(start + ms(100)).is_empty());
        assert_eq!(debounce.take_due(start + ms(150)).len(), 1);
    }

    #[test]
    fn what_somebody_waits_for_is_due_at_once_and_a_removal_after_a_moment() {
        let start = Instant::now();
        let [saved, gone, late] = ["saved.md", "gone.md", "late.md"].map(|path| VaultPath::new(path).unwrap());
        let mut debounce = Debounce::new(ms(500));
        debounce.note(saved.clone(), Change::Removed, start);
        debounce.note(saved.clone(), Change::Written, start + ms(1));
        debounce.note(gone.clone(), Change::Removed, start + ms(2));
        debounce.hurry();
        debounce.note(late, Change::Written, start + ms(3));
        assert_eq!(debounce.take_due(start + ms(3)), [saved]);
        assert!(debounce.holds_of(start + ms(2)) && !debounce.holds_of(start + ms(1)));
        assert!(debounce.take_due(start + ms(61)).is_empty(), "an editor may be about to put it back");
        assert_eq!(debounce.take_due(start + ms(62)), [gone]);
        assert!(!debounce.holds_of(start + ms(2)), "what came later is not waited for");
    }
}
