//! A change that follows those of a history: when it was learned, and a name that no other has.

use super::change::{FactChange, FactChangeKind};
use super::history::{FactsHistory, NoticedBy};
use super::twins::doubles;

/// Maximum number of names that are tried for a change.
const MAX_TAKEN: usize = 1_000;

impl FactsHistory {
    /// A change that follows those there are.
    pub(crate) fn change(
        &self,
        namespace: &str,
        key: &str,
        old: Option<&str>,
        kind: FactChangeKind,
        by: &NoticedBy<'_>,
    ) -> FactChange {
        let before = self.of(namespace, key).next_back();
        // Clocks go back; what came after was learned after.
        let learned = self.noticed_last(namespace, key).map_or(by.learned, |last| last.max(by.learned));
        let before = before.map_or("", |before| before.id.as_str());
        let mut change = FactChange {
            learned,
            clock: None,
            namespace: namespace.to_owned(),
            key: key.to_owned(),
            old: old.map(str::to_owned),
            kind,
            by: by.by.to_owned(),
            source: by.source.map(str::to_owned),
            id: String::new(),
        };
        // Lines that were edited may have the name, or make it count as one of them.
        for taken in 0..MAX_TAKEN {
            change.id = change.nth_name_after(before, taken);
            if self.would_count(&change) {
                break;
            }
        }
        change
    }

    /// Whether a change counts once it stands at the end.
    fn would_count(&self, change: &FactChange) -> bool {
        let mut lines: Vec<&FactChange> = self.of(&change.namespace, &change.key).collect();
        if lines.iter().any(|line| line.id == change.id) || self.is_left_out(&change.id) {
            return false;
        }
        lines.push(change);
        !doubles(&lines).contains(&(lines.len() - 1))
    }

    /// Changes that follow those there are, with when they were noticed by the clock at `now`, where a line of the history is ahead of it.
    pub(crate) fn by_clock(&self, mut changes: Vec<FactChange>, now: i64) -> Vec<FactChange> {
        for change in changes.iter_mut().filter(|change| change.learned > now) {
            let before = self.of(&change.namespace, &change.key).next_back();
            let before = before.filter(|before| before.learned == change.learned).and_then(|before| before.clock);
            change.clock = Some(before.map_or(now, |before| before.max(now)));
        }
        changes
    }
}
