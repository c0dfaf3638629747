//! Lines of a fact's history that say once more what another line says, though they have another name: two machines wrote them, one of which
//! has purged a value that the other still has.
//!
//! The name of a line goes on from the line before, and a purge names lines anew. So both machines follow a chain of their own from there on,
//! and what they notice alike is found by following the two.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use super::change::{FactChange, FactChangeKind};

/// Maximum number of lines among which the one before a line is looked for.
const MAX_BACK: usize = 64;

/// The places of the lines that count as another one does. `lines` are those of one fact, each name once, in the order in which they were learned.
pub(super) fn doubles(lines: &[&FactChange]) -> HashSet<usize> {
    let begins = lines.iter().filter(|line| begins(line)).count();
    let at_one_moment = lines.windows(2).any(|pair| pair[0].order() == pair[1].order());
    if begins < 2 && !at_one_moment {
        return HashSet::new();
    }
    let mut chains = FactChains { lines, ..FactChains::default() };
    chains.pair_moments();
    chains.follow();
    chains.doubled
}

/// Whether a fact has a value by this line, and had none.
fn begins(line: &FactChange) -> bool {
    line.old.is_none() && matches!(line.kind, FactChangeKind::Set { .. })
}

/// The lines of one fact, and what of them is one.
#[derive(Default)]
struct FactChains<'h> {
    lines: &'h [&'h FactChange],
    /// The name of a line that counts as another, and that one's.
    counts_as: HashMap<&'h str, &'h str>,
    /// Lines by their names whose value is gone from the other machine's, and that value.
    lost: HashMap<&'h str, &'h str>,
    doubled: HashSet<usize>,
}

impl<'h> FactChains<'h> {
    /// Finds the lines that a purge has made of others which are there, too. Such a pair was noticed at one moment, by one hand.
    ///
    /// More than two at one moment are those of a clock that stood still, and stay.
    fn pair_moments(&mut self) {
        let mut from = 0;
        for same in self.lines.chunk_by(|one, two| one.order() == two.order()) {
            // What comes after a line is no double of it.
            if let [one, two] = same
                && !two.follows(&one.id)
            {
                let pair = match (one.is_purged_of(two), two.is_purged_of(one)) {
                    // Of two that say the same, everybody takes the same.
                    (true, true) if one.id > two.id => Some((from, from + 1)),
                    (_, true) => Some((from + 1, from)),
                    (true, false) => Some((from, from + 1)),
                    (false, false) => None,
                };
                if let Some((purged, whole)) = pair {
                    self.is_one(purged, &self.lines[whole].id);
                    if self.lines[purged].kind.value().is_none()
                        && let Some((text, _)) = self.lines[whole].kind.value()
                    {
                        self.lost.insert(&self.lines[whole].id, text);
                    }
                }
            }
            from += same.len();
        }
    }

    /// Goes through the lines and leaves out those that say of the same line before what another one said of it earlier, or that begin anew
    /// with the value that stands: of a fact that was purged whole the other chain has nothing to begin with.
    fn follow(&mut self) {
        let (mut stands, mut said) = (None::<&FactChange>, HashMap::new());
        let mut are_two = !self.doubled.is_empty();
        for (at, line) in self.lines.iter().enumerate() {
            if self.doubled.contains(&at) {
                continue;
            }
            if let Some(stands) = stands.filter(|stands| begins(line) && stands.kind.value() == line.kind.value()) {
                let stands = self.counted(&stands.id);
                self.is_one(at, stands);
                are_two = true;
                continue;
            }
            if are_two && let Some(before) = self.before(at) {
                let before = self.counted(before);
                let goes_on = self.lost.get(before).is_some_and(|lost| line.old.as_deref() == Some(lost));
                if goes_on && line.kind == FactChangeKind::Unset {
                    // The other machine has no such line: there was nothing left to take away.
                    self.counts_as.insert(&line.id, before);
                } else {
                    let old = line.old.clone().filter(|_| !goes_on);
                    match said.entry(FactChange { old, ..(*line).clone() }.named_after(before)) {
                        Entry::Vacant(first) => drop(first.insert(line.id.as_str())),
                        Entry::Occupied(first) => {
                            self.is_one(at, first.get());
                            continue;
                        }
                    }
                }
            }
            stands = line.leaves(stands);
        }
    }

    fn is_one(&mut self, at: usize, other: &'h str) {
        self.doubled.insert(at);
        self.counts_as.insert(&self.lines[at].id, other);
    }

    fn counted(&self, id: &'h str) -> &'h str {
        self.counts_as.get(id).copied().unwrap_or(id)
    }

    /// The name of the line from which a line's name goes on; none where it begins a chain, and nothing where that is not known.
    fn before(&self, at: usize) -> Option<&'h str> {
        let line = self.lines[at];
        let earlier = self.lines[..at].iter().rev().take(MAX_BACK);
        let beside = self.lines[at + 1..].iter().take_while(|other| other.order() == line.order()).take(MAX_BACK);
        let ids = earlier.chain(beside).map(|other| other.id.as_str()).chain([""]);
        ids.into_iter().find(|id| line.named_after(id) == line.id)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::file::FactsFile;
    use super::super::history::{FactsHistory, NoticedBy};
    use super::super::history_text::{with_changes, without_changes};
    use super::*;
    use crate::chance::proptest_config;

    /// A machine that notes what a file with one fact says.
    #[derive(Clone, Default)]
    struct Machine(String);

    impl Machine {
        fn notes(&mut self, value: &str, second: i64) {
            let file = FactsFile::read(&if value.is_empty() { String::new() } else { format!("- a: {value}\n") });
            let by = NoticedBy { learned: second * 1000, by: "edit", source: None };
            self.0 = with_changes(&self.0, &FactsHistory::read(&self.0).unnoticed(&file, &by));
        }

        fn purges(&mut self, value: &str) {
            self.0 = without_changes(&self.0, |_, said| said == value);
        }

        fn lines(&self) -> Vec<String> {
            let history = FactsHistory::read(&self.0);
            let said = |change: &FactChange| {
                let line = change.to_string();
                let (_, line) = line.split_once("1970-01-01T00:00:").unwrap();
                line.split_once(" · by").unwrap().0.replace(".000Z `a`:", "")
            };
            history.of("", "a").map(said).collect()
        }
    }

    /// What both have, after a purge on one of them, of `saves` before it and after it, each noted here and a second later there.
    fn joined(before: &[&str], after: &[&str]) -> (Machine, Machine, Machine) {
        let mut there = Machine::default();
        before.iter().zip(0..).for_each(|(value, at)| there.notes(value, at));
        let mut here = there.clone();
        here.purges("secret");
        if before.last() == Some(&"secret") {
            here.notes("", 18);
            there.notes("", 19);
        }
        for (value, at) in after.iter().zip(10..) {
            here.notes(value, at * 2);
            there.notes(value, at * 2 + 1);
        }
        let both = Machine(format!("{}{}", here.0, there.0));
        let other = Machine(format!("{}{}", there.0, here.0));
        assert_eq!(both.lines(), other.lines());
        (here, there, both)
    }

    #[test]
    fn what_is_noted_after_a_purge_counts_once() {
        let (here, _, both) = joined(&["one", "secret", "two"], &["3", "2", "3"]);
        assert_eq!(here.lines()[1..3], ["01 `one` → —", "02 — → `two`"]);
        assert_eq!(
            both.lines(),
            [
                "00 — → `one`",
                "01 `one` → `secret`",
                "02 `secret` → `two`",
                "20 `two` → `3`",
                "22 `3` → `2`",
                "24 `2` → `3`"
            ]
        );
        // The value of now was purged.
        let (_, _, both) = joined(&["one", "secret"], &["3", "4"]);
        assert_eq!(
            both.lines(),
            ["00 — → `one`", "01 `one` → `secret`", "19 `secret` → —", "20 — → `3`", "22 `3` → `4`"]
        );
        // All that there was.
        let (here, _, both) = joined(&["secret"], &["3", "4"]);
        assert_eq!(here.lines(), ["20 — → `3`", "22 `3` → `4`"]);
        assert_eq!(
            both.lines(),
            ["00 — → `secret`", "19 `secret` → —", "20 — → `3`", "23 `3` → `4`"]
                .map(|line| line.replace("23 `3`", "22 `3`"))
        );
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn a_purge_on_one_of_two_machines_doubles_nothing(
            before in prop::collection::vec(prop::sample::select(vec!["", "1", "2", "secret"]), 1..7),
            after in prop::collection::vec(prop::sample::select(vec!["", "1", "2", "3"]), 1..6),
        ) {
            let (_, there, both) = joined(&before, &after);
            let said = |machine: &Machine| {
                machine.lines().iter().map(|line| line.split_once(' ').unwrap().1.to_owned()).collect::<Vec<_>>()
            };
            prop_assert_eq!(said(&both), said(&there), "{}", both.0);
            let file = match after.last() {
                Some(&"") => FactsFile::default(),
                last => FactsFile::read(&format!("- a: {}\n", last.unwrap())),
            };
            let by = NoticedBy { learned: 90_000, by: "edit", source: None };
            prop_assert_eq!(FactsHistory::read(&both.0).unnoticed(&file, &by), []);
        }
    }
}
