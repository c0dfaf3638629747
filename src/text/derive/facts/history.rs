//! The history of a file of facts, a line for each change: what has changed, and what of it is not noted yet. It is only ever added to.
//!
//! ```text
//! - 2026-11-22T20:44:03.123Z `project/deploy_branch`: `main` → `release` (from 2026-03-09) · by edit ^f3a9c1b2d4e5
//! ```
//!
//! A line ends with a name that is made of what it says and of the change of that key before it. So two that noticed the same change name
//! it alike, and after a merge it counts once.

use std::collections::{BTreeMap, HashMap};
use std::fmt;

use jiff::Timestamp;

use super::file::FactsFile;
use super::item::{Fact, FactState, Validity, full_name, split_name};
use super::timeline::{FactWindow, windows};
use crate::text::derive::list_items::line_ending;

/// Stands for no value.
const NONE: &str = "—";
/// Digits of a change's name.
const ID_CHARS: usize = 12;

/// A change of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactChange {
    /// When it was noticed, in milliseconds since 1970; never before what was noticed before it.
    pub(crate) learned: i64,
    /// Of which fact.
    pub(crate) namespace: String,
    /// Of which fact.
    pub(crate) key: String,
    /// The value before, as it was written.
    pub(crate) old: Option<String>,
    /// What became of it.
    pub(crate) kind: FactChangeKind,
    /// The value that it brings, if it does.
    pub(crate) new: Option<String>,
    /// From when and until when, as far as that is said.
    pub(crate) window: Validity,
    /// Who did it: `owner`, `agent ada`, `edit` for what was noticed in the file, `git` for what came with a commit.
    pub(crate) by: String,
    /// Where it was learned: `notes/api.md#L12`.
    pub(crate) source: Option<String>,
    /// Its name.
    pub(crate) id: String,
}

/// What became of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FactChangeKind {
    /// Another took its place.
    Set,
    /// It was never true; another was.
    Corrected,
    /// Another was true in a span that is over; the value stays.
    Was,
    /// It is true no more.
    Unset,
    /// It was never true.
    Retracted,
    /// It was not true in a span that is over; the value of now stays.
    WasNot,
}

impl FactChangeKind {
    /// Whether the value stands, or stood, in the file: a span of the past never did.
    pub(crate) fn is_said(self) -> bool {
        !matches!(self, Self::Was | Self::WasNot)
    }
}

impl FactChange {
    /// The line whose value the file has after this one, where it had that of `stood` before: nothing where it has none. What takes back
    /// another value than that one, as after a merge of two histories, leaves it.
    fn leaves<'h>(&'h self, stood: Option<&'h Self>) -> Option<&'h Self> {
        match self.kind {
            FactChangeKind::Set | FactChangeKind::Corrected => Some(self),
            FactChangeKind::Was | FactChangeKind::WasNot => stood,
            FactChangeKind::Unset => None,
            FactChangeKind::Retracted => stood.filter(|stood| self.old.is_some() && self.old != stood.new),
        }
    }

    /// Whether it says the same of the same fact, whenever it was noticed, and by whom.
    fn says_as(&self, other: &Self) -> bool {
        (&self.namespace, &self.key, &self.old, self.kind, &self.new, &self.window)
            == (&other.namespace, &other.key, &other.old, other.kind, &other.new, &other.window)
    }

    /// Names it, as one that comes after another of the same fact.
    fn name_after(&mut self, before: &str) {
        self.id = name_of(&format!("{before}\n{}", self.said()));
    }

    /// What it says of the fact, without when and by whom.
    fn said(&self) -> String {
        let value = |text: &Option<String>| text.as_ref().map_or_else(|| NONE.to_owned(), |text| code(text));
        let (name, old, new) = (code(&full_name(&self.namespace, &self.key)), value(&self.old), value(&self.new));
        let said = match self.kind {
            FactChangeKind::Set | FactChangeKind::Unset => format!("{name}: {old} → {new}"),
            FactChangeKind::Corrected => format!("{name}: {old} corrected to {new}"),
            FactChangeKind::Was => format!("{name} was {new}"),
            FactChangeKind::Retracted | FactChangeKind::WasNot => format!("{name}: {old} → retracted"),
        };
        if self.window.is_empty() { said } else { format!("{said} {}", self.window) }
    }
}

/// The name that a text gives.
fn name_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..ID_CHARS].to_owned()
}

/// Its line, without the line's end.
impl fmt::Display for FactChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let learned = Timestamp::from_millisecond(self.learned).unwrap_or_default();
        write!(f, "- {learned:.3} {} · by {}", self.said(), self.by)?;
        if let Some(source) = &self.source {
            write!(f, " · source {}", code(source))?;
        }
        write!(f, " ^{}", self.id)
    }
}

/// A text as Markdown's code, whatever is in it.
fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    let needs_blank = text.is_empty() || text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']);
    let blank = if needs_blank { " " } else { "" };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Takes code from the beginning of a text; gives it and what follows.
fn take_code(text: &str) -> Option<(String, &str)> {
    let marks = text.len() - text.trim_start_matches('`').len();
    let (fence, rest) = text.split_at(marks);
    if marks == 0 {
        return None;
    }
    let mut from = 0;
    loop {
        let at = from + rest[from..].find(fence)?;
        let run = rest[at..].len() - rest[at..].trim_start_matches('`').len();
        if run == marks {
            let inner = &rest[..at];
            let trimmed = inner.strip_prefix(' ').and_then(|inner| inner.strip_suffix(' '));
            return Some((trimmed.unwrap_or(inner).to_owned(), &rest[at + marks..]));
        }
        from = at + run;
    }
}

/// Takes a value, or the sign for none.
fn take_value(text: &str) -> Option<(Option<String>, &str)> {
    match text.strip_prefix(NONE) {
        Some(rest) => Some((None, rest)),
        None => take_code(text).map(|(value, rest)| (Some(value), rest)),
    }
}

/// Reads the line of a change; `None` for any other.
fn read_line(line: &str) -> Option<FactChange> {
    let rest = line.trim().strip_prefix("- ")?;
    let (learned, rest) = rest.split_once(' ')?;
    let learned = learned.parse::<Timestamp>().ok()?.as_millisecond();
    let (name, rest) = take_code(rest)?;
    let (namespace, key) = split_name(&name);
    let (old, kind, rest) = match rest.strip_prefix(" was ") {
        Some(rest) => (None, FactChangeKind::Was, rest),
        None => {
            let (old, rest) = take_value(rest.strip_prefix(": ")?)?;
            let verbs = [
                (" → retracted", FactChangeKind::Retracted),
                (" corrected to ", FactChangeKind::Corrected),
                (" → ", FactChangeKind::Set),
            ];
            let (rest, kind) = verbs.iter().find_map(|(verb, kind)| Some((rest.strip_prefix(verb)?, *kind)))?;
            (old, kind, rest)
        }
    };
    let (new, rest) = if kind == FactChangeKind::Retracted { (None, rest) } else { take_value(rest)? };
    let (kind, window, rest) = match (kind, &new) {
        (FactChangeKind::Set, None) => (FactChangeKind::Unset, Validity::default(), rest),
        (FactChangeKind::Corrected | FactChangeKind::Was, None) => return None,
        _ => match take_window(rest)? {
            (window, rest) if kind == FactChangeKind::Retracted && !window.is_empty() => {
                (FactChangeKind::WasNot, window, rest)
            }
            (window, rest) => (kind, window, rest),
        },
    };
    let (by, rest) = match rest.strip_prefix(" · by ") {
        Some(rest) => {
            let end = rest.find(" · source `");
            rest.split_at(end.or_else(|| rest.rfind(" ^"))?)
        }
        None => ("", rest),
    };
    let (source, rest) = match rest.strip_prefix(" · source ") {
        Some(rest) => take_code(rest).map(|(source, rest)| (Some(source), rest))?,
        None => (None, rest),
    };
    // A line that somebody wrote has the name of nothing but its place in the text.
    let id = rest.trim().strip_prefix('^').filter(|id| !id.is_empty()).map(str::to_owned);
    let id = id.unwrap_or_else(|| name_of(line.trim()));
    let (namespace, key, by) = (namespace.to_owned(), key.to_owned(), by.to_owned());
    Some(FactChange { learned, namespace, key, old, kind, new, window, by, source, id })
}

fn take_window(text: &str) -> Option<(Validity, &str)> {
    if !text.starts_with(" (") {
        return Some((Validity::default(), text));
    }
    let end = text.find(')')? + 1;
    let (_, window) = Validity::at_end(&text[..end]).ok()??;
    Some((window, &text[end..]))
}

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
    /// Lines of the text, from 1, that are passed over, as they say that they were noticed later than now.
    pub(crate) ahead: Vec<usize>,
}

impl FactsHistory {
    /// Reads a history. Lines that are none are passed over; of those that say the same under one name, as git's union of two histories has
    /// them, the earliest counts.
    pub(crate) fn read(source: &str) -> Self {
        Self::read_until(source, i64::MAX)
    }

    /// The same without the lines that say that they were noticed after a moment, in milliseconds since 1970: a clock was wrong.
    pub(crate) fn read_until(source: &str, latest: i64) -> Self {
        let (mut history, mut changes) = (Self::default(), Vec::new());
        for (text, number) in source.lines().zip(1..) {
            match read_line(text) {
                Some(change) if change.learned > latest => history.ahead.push(number),
                change => changes.extend(change),
            }
        }
        // By hand or by a merge they may stand in any order.
        changes.sort_by_key(|change| change.learned);
        let mut named: HashMap<String, Vec<usize>> = HashMap::with_capacity(changes.len());
        for change in changes {
            let of_name = named.entry(change.id.clone()).or_default();
            if !of_name.iter().any(|at| history.changes[*at].says_as(&change)) {
                of_name.push(history.changes.len());
                history.push(change);
            }
        }
        history
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
        stands.and_then(|change| Some((change.new.as_deref()?, &change.window)))
    }

    /// The last change of what the file says of a fact.
    pub(crate) fn last_said(&self, namespace: &str, key: &str) -> Option<&FactChange> {
        self.of(namespace, key).rev().find(|change| change.kind.is_said())
    }

    /// Whether what a file says of a fact is the last that is in here.
    pub(crate) fn has_noted(&self, fact: &Fact) -> bool {
        match self.last(&fact.namespace, &fact.key) {
            Some((text, window)) => text == fact.text && window.span() == fact.window.span(),
            None => fact.text.is_empty(),
        }
    }

    /// What is true at a moment that is now, or to come, though the file says of the fact what begins later, is over or was never true: a
    /// value that stood there before. Nothing where the file has the answer itself.
    pub(crate) fn standing(&self, fact: &Fact, at: i64) -> Option<FactWindow<'_>> {
        let (namespace, key) = fact.name();
        let is_known = match fact.phase(at) {
            Some(FactState::Current) => return None,
            // What begins later changes nothing about what is there before, whether it is noted yet or not.
            Some(FactState::Future) if self.last(namespace, key).is_some_and(|(text, _)| text != fact.text) => true,
            _ => self.has_noted(fact),
        };
        let found = is_known.then(|| windows(self.of(namespace, key)));
        found.into_iter().flatten().find(|window| window.holds(at))
    }

    /// The values that are known of a fact in a span, each once, the earliest first.
    pub(crate) fn values_in(&self, namespace: &str, key: &str, span: &Validity) -> Vec<String> {
        let (from, until) = (span.begin(), span.end());
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
        let none = Validity::default();
        for fact in file.facts().filter(|fact| !self.has_noted(fact)) {
            let (namespace, key) = fact.name();
            let last = self.last(namespace, key).map(|(old, _)| old);
            let is_struck = |old: &str| fact.retracted.iter().any(|was| was == old);
            if fact.text.is_empty() {
                let kind = if last.is_some_and(is_struck) { FactChangeKind::Retracted } else { FactChangeKind::Unset };
                found.push(self.change((namespace, key), last, kind, (None, &none), by));
                continue;
            }
            // Struck out at an earlier save, it is corrected by a later one.
            let before = self.of(namespace, key).next_back();
            let struck = before.filter(|change| change.kind == FactChangeKind::Retracted);
            let wrong = last.or_else(|| struck.and_then(|change| change.old.as_deref()));
            let (kind, old) = match wrong.filter(|old| *old != fact.text && is_struck(old)) {
                Some(wrong) => (FactChangeKind::Corrected, Some(wrong)),
                None => (FactChangeKind::Set, last),
            };
            found.push(self.change((namespace, key), old, kind, (Some(&fact.text), &fact.window), by));
        }
        for (namespace, key) in self.names().filter(|(namespace, key)| file.get(namespace, key).is_none()) {
            if let Some((old, _)) = self.last(namespace, key) {
                found.push(self.change((namespace, key), Some(old), FactChangeKind::Unset, (None, &none), by));
            }
        }
        found
    }

    /// A change that follows those there are, with the value that it brings, and from when and until when.
    pub(crate) fn change(
        &self,
        (namespace, key): (&str, &str),
        old: Option<&str>,
        kind: FactChangeKind,
        (new, window): (Option<&str>, &Validity),
        by: &NoticedBy<'_>,
    ) -> FactChange {
        let before = self.of(namespace, key).next_back();
        // Clocks go back; what came after was learned after.
        let learned = before.map_or(by.learned, |before| before.learned.max(by.learned));
        let mut change = FactChange {
            learned,
            namespace: namespace.to_owned(),
            key: key.to_owned(),
            old: old.map(str::to_owned),
            kind,
            new: new.map(str::to_owned),
            // That it was confirmed changes nothing about what is true.
            window: window.span(),
            by: by.by.to_owned(),
            source: by.source.map(str::to_owned),
            id: String::new(),
        };
        change.name_after(before.map_or("", |before| before.id.as_str()));
        // A line that was edited may have the name.
        while self.of(namespace, key).any(|line| line.id == change.id) {
            change.id = name_of(&format!("{}\n{learned}", change.id));
        }
        change
    }
}

/// What a new history begins with.
const HEAD: &str = "# History of facts.md\n\nEach line is a change of a fact: when it was noticed, which, from what to what, by whom. \
    `vault` adds to it, and tells by it what was true when. Edit facts.md; what was never true is taken back there by `~~striking it out~~`.\n\n";

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
    // Of each fact the name of the line before, and whether it is another than it was.
    let mut before: HashMap<(String, String), (String, bool)> = HashMap::new();
    with_lines(source, |mut change| {
        let (last, is_other) = before.entry((change.namespace.clone(), change.key.clone())).or_default();
        let is_old = change.old.as_deref().is_some_and(|old| is_meant(&change, old));
        let is_new = change.new.as_deref().is_some_and(|new| is_meant(&change, new));
        *is_other |= is_old || is_new;
        if *is_other {
            if is_old {
                change.old = None;
            }
            if is_new {
                change.kind = match change.kind {
                    FactChangeKind::Set => FactChangeKind::Unset,
                    FactChangeKind::Corrected => FactChangeKind::Retracted,
                    _ => return None,
                };
                (change.new, change.window) = (None, Validity::default());
            }
            // Of none became none.
            if (is_old || is_new) && change.old.is_none() && change.new.is_none() {
                return None;
            }
            change.name_after(last);
        }
        change.id.clone_into(last);
        Some(change)
    })
}

/// The text of a history without the places that are meant: where something was learned is not said there any more.
pub(crate) fn without_sources(source: &str, is_meant: impl Fn(&str) -> bool) -> String {
    with_lines(source, |mut change| {
        change.source = change.source.filter(|source| !is_meant(source));
        Some(change)
    })
}

/// The text of a history with what `edit` makes of each of its changes; the lines of those of which it makes nothing go.
fn with_lines(source: &str, mut edit: impl FnMut(FactChange) -> Option<FactChange>) -> String {
    let mut text = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let said = line.trim_end_matches(['\r', '\n']);
        let Some(was) = read_line(said) else {
            text += line;
            continue;
        };
        match edit(was.clone()) {
            Some(now) if now == was => text += line,
            Some(now) => text += &format!("{now}{}", &line[said.len()..]),
            None => {}
        }
    }
    text
}

#[cfg(test)]
mod tests_of_lines {
    use proptest::prelude::*;

    use super::*;
    use crate::base::chance::proptest_config;

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn a_line_reads_as_it_was_written(
            text in "[ -~→—·^]{1,20}", old in prop::option::of("\\PC{1,12}"), source in prop::option::of("[a-z`/ ·]{1,12}#L1"), kind in 0..6u8
        ) {
            let window = Validity::at_end("x (from 2026-03-09, until 2026-06-01)").unwrap().unwrap().1;
            let none = Validity::default();
            let (kind, new, window) = match kind {
                0 => (FactChangeKind::Set, Some(text.as_str()), &none),
                1 => (FactChangeKind::Set, Some(text.as_str()), &window),
                2 => (FactChangeKind::Corrected, Some(text.as_str()), &window),
                3 => (FactChangeKind::Unset, None, &none),
                4 => (FactChangeKind::WasNot, None, &window),
                _ => (FactChangeKind::Retracted, None, &none),
            };
            let by = NoticedBy { learned: 1_700_000_000_123, by: "agent ada", source: source.as_deref() };
            let change = FactsHistory::default().change(("a/b", "key"), old.as_deref(), kind, (new, window), &by);
            let read = read_line(&change.to_string());
            prop_assert_eq!(read, Some(change));
        }

        #[test]
        fn nothing_makes_it_panic(text in "(- |2026-01-01T00:00:00Z|`|a|: |→|—| was |\\(from |\\)|·|\\^|\n){0,20}") {
            FactsHistory::read(&text);
        }
    }
}
