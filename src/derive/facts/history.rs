//! The history of a file of facts: what has changed, and what of it is not noted yet. It is only ever added to.

use std::collections::{BTreeMap, HashMap};

use super::change::{FactChange, FactChangeKind, read_line};
use super::file::{Fact, FactsFile};
use super::timeline::{FactWindow, windows};
use super::window::{FactPhase, Validity};
use crate::derive::list_items::line_ending;

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
}

impl FactsHistory {
    /// Reads a history. Lines that are none are passed over; of those that say the same under one name, as git's union of two histories has
    /// them, the earliest counts.
    pub(crate) fn read(source: &str) -> Self {
        let mut changes: Vec<FactChange> = source.lines().filter_map(read_line).collect();
        // By hand or by a merge they may stand in any order.
        changes.sort_by_key(FactChange::order);
        let mut history = Self::default();
        once_each(changes).into_iter().for_each(|change| history.push(change));
        history.in_chains();
        history
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

/// The changes without those that say under one name what an earlier one says. One that says something else under the name of another is that
/// line's copy, edited, and counts under a name of its own.
pub(super) fn once_each(changes: Vec<FactChange>) -> Vec<FactChange> {
    let mut named: HashMap<String, Vec<usize>> = HashMap::with_capacity(changes.len());
    let mut once: Vec<FactChange> = Vec::with_capacity(changes.len());
    for mut change in changes {
        let of_name = named.entry(change.id.clone()).or_default();
        if of_name.iter().any(|at| once[*at].says_as(&change)) {
            continue;
        }
        let is_taken = !of_name.is_empty();
        of_name.push(once.len());
        if is_taken {
            change.name_alone();
            named.entry(change.id.clone()).or_default().push(once.len());
        }
        once.push(change);
    }
    once
}

/// Places of changes so that none comes before one that it follows; else as they are.
pub(super) fn chained(changes: &[FactChange], places: &[usize]) -> Vec<usize> {
    let before =
        |at: usize| places.iter().copied().find(|other| *other != at && changes[at].follows(&changes[*other].id));
    let mut left: Vec<(usize, Option<usize>)> = places.iter().map(|at| (*at, before(*at))).collect();
    let mut chain = Vec::with_capacity(places.len());
    while !left.is_empty() {
        let is_next = |(_, before): &(usize, Option<usize>)| before.is_none_or(|before| chain.contains(&before));
        let next = left.iter().position(is_next).unwrap_or_default();
        chain.push(left.remove(next).0);
    }
    chain
}

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
        let learned = before.map_or(by.learned, |before| before.learned.max(by.learned));
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
        // Lines that were edited may have the name.
        for taken in 0..MAX_TAKEN {
            change.id = change.nth_name_after(before, taken);
            if self.of(namespace, key).all(|line| line.id != change.id) {
                break;
            }
        }
        change
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

/// What a new history begins with.
const HEAD: &str = "# History of facts.md\n\nEach line is a change of a fact: when it was noticed, which, from what to what, by whom. \
    `vault` adds to it, and tells by it what was true when. Edit facts.md; what was never true is taken back there by `~~striking it out~~`.\n\n";

/// The first line of a history that was noticed at a moment, from 1.
pub(crate) fn line_noticed_at(source: &str, at: i64) -> Option<usize> {
    let found = source.lines().position(|line| read_line(line).is_some_and(|change| change.noticed() == at));
    found.map(|line| line + 1)
}

/// The text of a history with changes at its end.
#[cfg(test)]
pub(super) fn with_changes(source: &str, changes: &[FactChange]) -> String {
    format!("{source}{}", lines_after(source, changes))
}

/// What is put at the end of a history with that text, where changes come after it.
pub(crate) fn lines_after(source: &str, changes: &[FactChange]) -> String {
    let end = line_ending(source);
    let mut text = match source {
        source if source.trim().is_empty() => HEAD.to_owned(),
        source if source.ends_with('\n') => String::new(),
        _ => end.to_owned(),
    };
    for change in changes {
        text += &change.to_string();
        text += end;
    }
    text
}

/// The text of a history without the values that are meant. What it says of others stays, with when and where it was learned: where one
/// took the place of another, it does so of none.
///
/// The name of a line is made of what it says and of the names before it, so that a value could be guessed by them: from the first line of a
/// fact that says another thing, its lines are named anew.
pub(crate) fn without_changes(source: &str, mut is_meant: impl FnMut(&FactChange, &str) -> bool) -> String {
    let mut text = String::with_capacity(source.len());
    // Of each fact the name of the line before, and whether it is another than it was.
    let mut before: HashMap<(String, String), (String, bool)> = HashMap::new();
    for line in source.split_inclusive('\n') {
        let said = line.trim_end_matches(['\r', '\n']);
        let Some(mut change) = read_line(said) else {
            text += line;
            continue;
        };
        let (last, is_other) = before.entry((change.namespace.clone(), change.key.clone())).or_default();
        let is_old = change.old.as_deref().is_some_and(|old| is_meant(&change, old));
        let is_new = change.kind.value().is_some_and(|(new, _)| is_meant(&change, new));
        *is_other |= is_old || is_new;
        if !*is_other {
            *last = change.id;
            text += line;
            continue;
        }
        if is_old {
            change.old = None;
        }
        match change.kind {
            _ if !is_new => {}
            FactChangeKind::Set { .. } => change.kind = FactChangeKind::Unset,
            FactChangeKind::Corrected { .. } => change.kind = FactChangeKind::Retracted,
            FactChangeKind::Was { .. }
            | FactChangeKind::WasNot { .. }
            | FactChangeKind::Unset
            | FactChangeKind::Retracted => continue,
        }
        // Of none became none.
        if (is_old || is_new) && change.old.is_none() && change.kind.value().is_none() {
            continue;
        }
        change.name_after(last);
        change.id.clone_into(last);
        text += &change.to_string();
        text += &line[said.len()..];
    }
    text
}

/// The text of a history without the places that are meant: where something was learned is not said there any more.
pub(crate) fn without_sources(source: &str, is_meant: impl Fn(&str) -> bool) -> String {
    let mut text = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let said = line.trim_end_matches(['\r', '\n']);
        match read_line(said).filter(|change| change.source.as_deref().is_some_and(&is_meant)) {
            Some(change) => {
                text += &FactChange { source: None, ..change }.to_string();
                text += &line[said.len()..];
            }
            None => text += line,
        }
    }
    text
}
