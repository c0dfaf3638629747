//! The history of a file of facts: what has changed, and what of it is not noted yet. It is only ever added to.

use std::collections::{BTreeMap, HashSet};

use super::change::{FactChange, FactChangeKind, read_line};
use super::file::{Fact, FactsFile};
use super::order::{chained, once_each};
use super::timeline::{FactWindow, windows};
use super::twins::doubles;
use super::window::{FactPhase, Validity};

/// Maximum number of lines of one fact at one moment that are put in order by their names.
const MAX_AT_ONCE: usize = 64;
/// Who has noticed changes, and when.
#[derive(Debug, Clone)]
pub(crate) struct NoticedBy<'a> {
    /// In milliseconds since 1970.
    pub(crate) learned: i64,
    /// As [`FactChange::by`].
    pub(crate) by: &'a str,
    /// As [`FactChange::source`].
    pub(crate) source: Option<&'a str>,
}

/// The changes of a file of facts.
#[derive(Debug, Clone, Default)]
pub(crate) struct FactsHistory {
    /// In the order in which they were learned.
    changes: Vec<FactChange>,
    by_name: BTreeMap<String, BTreeMap<String, Vec<usize>>>,
    /// Names that lines of the text have which count as another line, or under a name of their own.
    left_out: HashSet<String>,
}

impl FactsHistory {
    /// Reads a history. Lines that are none are passed over; of those that say the same under one name the earliest counts. Where one machine
    /// has purged a value and another has not, a line of theirs that both have counts once, as the one that says more, and so does what both
    /// note after that.
    pub(crate) fn read(source: &str) -> Self {
        let mut changes: Vec<FactChange> = source.lines().filter_map(read_line).collect();
        // By hand or by a merge they may stand in any order.
        changes.sort_by_key(FactChange::order);
        let (once, has_copies) = once_each(changes);
        let mut history = Self::default();
        once.into_iter().for_each(|change| history.push(change));
        history.in_chains();
        let doubled = history.doubled();
        if !doubled.is_empty() {
            let mut once = Self::default();
            let counted = history.changes.into_iter().enumerate().filter(|(at, _)| !doubled.contains(at));
            counted.for_each(|(_, change)| once.push(change));
            history = once;
        }
        // In most histories every line counts under its own name.
        if has_copies || !doubled.is_empty() {
            let counted: HashSet<&str> = history.changes.iter().map(|change| change.id.as_str()).collect();
            let written = source.lines().filter_map(read_line).map(|change| change.id);
            history.left_out = written.filter(|name| !counted.contains(name.as_str())).collect();
        }
        history
    }

    /// Whether a line of the text has a name, though it does not count, or under another one.
    pub(super) fn is_left_out(&self, name: &str) -> bool {
        self.left_out.contains(name)
    }

    /// Puts those of one fact that were noticed at one moment after the lines that they follow: they may have changed places.
    fn in_chains(&mut self) {
        for places in self.by_name.values().flat_map(BTreeMap::values).filter(|places| places.len() > 1) {
            let mut from = 0;
            while from < places.len() {
                let order = self.changes[places[from]].order();
                let same = places[from..].iter().take_while(|at| self.changes[**at].order() == order).count();
                if (2..=MAX_AT_ONCE).contains(&same) {
                    let places = &places[from..from + same];
                    let chain = chained(&self.changes, places);
                    if chain != places {
                        let lines: Vec<FactChange> = chain.iter().map(|at| self.changes[*at].clone()).collect();
                        places.iter().zip(lines).for_each(|(at, line)| self.changes[*at] = line);
                    }
                }
                from += same;
            }
        }
    }

    /// The places of changes that count as another one does.
    fn doubled(&self) -> HashSet<usize> {
        let of_facts = self.by_name.values().flat_map(BTreeMap::values).filter(|places| places.len() > 1);
        let of_fact = |places: &Vec<usize>| {
            let lines: Vec<&FactChange> = places.iter().map(|at| &self.changes[*at]).collect();
            doubles(&lines).into_iter().map(|at| places[at]).collect::<Vec<_>>()
        };
        of_facts.flat_map(of_fact).collect()
    }

    /// The same with changes that came after, as reading the text with them at its end gives it, but for the order of different facts.
    pub(crate) fn with(&self, changes: &[FactChange]) -> Self {
        let mut history = self.clone();
        changes.iter().for_each(|change| history.push(change.clone()));
        history
    }

    fn push(&mut self, change: FactChange) {
        let keys = self.by_name.entry(change.namespace.clone()).or_default();
        keys.entry(change.key.clone()).or_default().push(self.changes.len());
        self.changes.push(change);
    }

    /// When the latest of its changes was noticed, in milliseconds since 1970.
    pub(crate) fn latest(&self) -> Option<i64> {
        self.changes.iter().map(FactChange::noticed).max()
    }

    /// All changes, in the order in which they were learned.
    #[cfg(test)]
    pub(super) fn changes(&self) -> &[FactChange] {
        &self.changes
    }

    /// The changes of a fact, in the order in which they were learned.
    pub(crate) fn of<'h>(
        &'h self,
        namespace: &str,
        key: &str,
    ) -> impl DoubleEndedIterator<Item = &'h FactChange> + Clone {
        let found = self.by_name.get(namespace).and_then(|keys| keys.get(key));
        found.into_iter().flatten().map(|at| &self.changes[*at])
    }

    /// The names of all facts that ever were.
    pub(crate) fn names(&self) -> impl Iterator<Item = (&str, &str)> {
        self.by_name.iter().flat_map(|(namespace, keys)| keys.keys().map(move |key| (namespace.as_str(), key.as_str())))
    }

    /// The value that a file has of a fact, as far as that was noticed.
    pub(super) fn last(&self, namespace: &str, key: &str) -> Option<(&str, &Validity)> {
        let stands = self.of(namespace, key).fold(None, |stood, change| change.leaves(stood));
        stands.and_then(|change| change.kind.value())
    }

    /// The last change of what the file says of a fact.
    pub(crate) fn last_said(&self, namespace: &str, key: &str) -> Option<&FactChange> {
        self.of(namespace, key).rev().find(|change| change.kind.is_said())
    }

    /// Whether what a file says of a fact is the last that is in here.
    pub(crate) fn has_noted(&self, fact: &Fact) -> bool {
        match self.last(&fact.namespace, &fact.key) {
            Some((text, window)) => text == fact.text && *window == fact.window,
            None => fact.text.is_empty(),
        }
    }

    /// What is true at a moment that is now, or to come, though the file says of the fact what begins later, is over or was never true: a
    /// value that stood there before. Nothing where the file has the answer itself.
    pub(crate) fn standing(&self, fact: &Fact, at: i64) -> Option<FactWindow<'_>> {
        let (namespace, key) = (fact.namespace.as_str(), fact.key.as_str());
        let is_known = match fact.phase(at) {
            Some(FactPhase::Current) => return None,
            // What begins later changes nothing about what is there before, whether it is noted yet or not.
            Some(FactPhase::Future) if self.last(namespace, key).is_some_and(|(text, _)| text != fact.text) => true,
            _ => self.has_noted(fact),
        };
        let found = is_known.then(|| windows(self.of(namespace, key)));
        found.into_iter().flatten().find(|window| window.holds(at))
    }

    /// The values that are known of a fact in a span, each once, the earliest first.
    pub(crate) fn values_in(&self, namespace: &str, key: &str, span: &Validity) -> Vec<String> {
        let (from, until) = (span.from.as_ref().and_then(|from| from.ms), span.end());
        let is_in = |window: &FactWindow<'_>| {
            !window.is_retracted
                && until.is_none_or(|until| window.from.is_none_or(|begin| begin < until))
                && from.is_none_or(|from| window.until.is_none_or(|end| from < end))
        };
        let found = windows(self.of(namespace, key)).into_iter().filter(is_in).map(|window| window.text.to_owned());
        let mut values: Vec<String> = Vec::new();
        found.for_each(|value| values.extend((!values.contains(&value)).then_some(value)));
        values
    }

    /// The changes that a file shows which are not in here yet; none while a merge's marks are in it.
    pub(crate) fn unnoticed(&self, file: &FactsFile, by: &NoticedBy<'_>) -> Vec<FactChange> {
        let mut found = Vec::new();
        if file.has_conflict {
            return found;
        }
        for fact in file.facts() {
            let (namespace, key) = (fact.namespace.as_str(), fact.key.as_str());
            let last = self.last(namespace, key);
            if fact.text.is_empty() {
                if let Some((old, _)) = last.filter(|(old, _)| fact.retracted.iter().any(|was| was == old)) {
                    found.push(self.change(namespace, key, Some(old), FactChangeKind::Retracted, by));
                } else if let Some((old, _)) = last {
                    found.push(self.change(namespace, key, Some(old), FactChangeKind::Unset, by));
                }
                continue;
            }
            if last.is_some_and(|(old, window)| old == fact.text && *window == fact.window) {
                continue;
            }
            let (text, window) = (fact.text.clone(), fact.window.clone());
            // Struck out at an earlier save, it is corrected by a later one.
            let before = self.of(namespace, key).next_back();
            let struck = before.filter(|change| change.kind == FactChangeKind::Retracted);
            let old = last.map(|(old, _)| old).or_else(|| struck.and_then(|change| change.old.as_deref()));
            let is_correction = old.is_some_and(|old| old != text && fact.retracted.iter().any(|was| was == old));
            let kind = match is_correction {
                true => FactChangeKind::Corrected { text, window },
                false => FactChangeKind::Set { text, window },
            };
            let old = if is_correction { old } else { last.map(|(old, _)| old) };
            found.push(self.change(namespace, key, old, kind, by));
        }
        for (namespace, key) in self.names().filter(|(namespace, key)| file.get(namespace, key).is_none()) {
            if let Some((old, _)) = self.last(namespace, key) {
                found.push(self.change(namespace, key, Some(old), FactChangeKind::Unset, by));
            }
        }
        found
    }
}
