//! A change of a fact, as a line of a history.
//!
//! ```text
//! - 2026-11-22T20:44:03.123Z `project/deploy_branch`: `main` → `release` (from 2026-03-09) · by edit ^f3a9c1b2d4e5
//! ```
//!
//! A line ends with a name that is made of what it says and of the change of that key before it. So two that noticed the same change name
//! it alike, and after a merge it counts once.

use std::fmt;

use jiff::Timestamp;

use super::item::{full_name, split_name};
use super::window::Validity;

/// Stands for no value.
const NONE: &str = "—";
/// Digits of a change's name.
const ID_CHARS: usize = 12;
/// Maximum number of names that may be taken where it is asked after which line a change was named.
const MAX_TAKEN_BEFORE: usize = 3;
/// Before when a line was noticed by the clock.
const CLOCK: &str = " · clock ";

/// A change of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactChange {
    /// Where it stands in the order of what was learned, in milliseconds since 1970: when it was noticed, or where what was noticed before
    /// it is said to be later than that, as late.
    pub(crate) learned: i64,
    /// When it was noticed by the clock, where that is before `learned`: a line of the history is ahead of the clock.
    pub(crate) clock: Option<i64>,
    /// Of which fact.
    pub(crate) namespace: String,
    /// Of which fact.
    pub(crate) key: String,
    /// The value before, as it was written.
    pub(crate) old: Option<String>,
    /// What became of it.
    pub(crate) kind: FactChangeKind,
    /// Who did it: `owner`, `agent ada`, `edit` for what was noticed in the file, `git` for what came with a commit.
    pub(crate) by: String,
    /// Where it was learned: `notes/api.md#L12`.
    pub(crate) source: Option<String>,
    /// Its name.
    pub(crate) id: String,
}

/// What became of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FactChangeKind {
    /// Another took its place.
    Set { text: String, window: Validity },
    /// It was never true; this one was.
    Corrected { text: String, window: Validity },
    /// Another was true in a span that is over; the value stays.
    Was { text: String, window: Validity },
    /// It is true no more.
    Unset,
    /// It was never true.
    Retracted,
    /// It was not true in a span that is over; the value of now stays.
    WasNot { window: Validity },
}

impl FactChangeKind {
    /// Whether the value stands, or stood, in the file: a span of the past never did.
    pub(crate) fn is_said(&self) -> bool {
        !matches!(self, Self::Was { .. } | Self::WasNot { .. })
    }

    /// From when and until when, as far as that is said.
    pub(crate) fn window(&self) -> Option<&Validity> {
        match self {
            Self::WasNot { window } => Some(window),
            other => other.value().map(|(_, window)| window),
        }
    }

    /// The value that it brings, and from when and until when.
    pub(crate) fn value(&self) -> Option<(&str, &Validity)> {
        match self {
            Self::Set { text, window } | Self::Corrected { text, window } | Self::Was { text, window } => {
                Some((text, window))
            }
            Self::Unset | Self::Retracted | Self::WasNot { .. } => None,
        }
    }
}

impl FactChange {
    /// When it was noticed by the clock, in milliseconds since 1970.
    pub(crate) fn noticed(&self) -> i64 {
        self.clock.unwrap_or(self.learned)
    }

    /// The line whose value the file has after this one, where it had that of `stood` before: nothing where it has none. What takes back
    /// another value than that one, as after a merge of two histories, leaves it.
    pub(super) fn leaves<'h>(&'h self, stood: Option<&'h Self>) -> Option<&'h Self> {
        match &self.kind {
            FactChangeKind::Set { .. } | FactChangeKind::Corrected { .. } => Some(self),
            FactChangeKind::Was { .. } | FactChangeKind::WasNot { .. } => stood,
            FactChangeKind::Unset => None,
            FactChangeKind::Retracted => stood.filter(|stood| {
                let stands = stood.kind.value().map(|(text, _)| text);
                self.old.as_deref().is_some_and(|taken_back| stands != Some(taken_back))
            }),
        }
    }

    /// Where it stands in the order of what was learned.
    pub(super) fn order(&self) -> (i64, Option<i64>) {
        (self.learned, self.clock)
    }

    /// Whether it says the same of the same fact, whenever it was noticed, and by whom.
    pub(super) fn says_as(&self, other: &Self) -> bool {
        (&self.namespace, &self.key, &self.old, &self.kind) == (&other.namespace, &other.key, &other.old, &other.kind)
    }

    /// Names it, as one that comes after another of the same fact.
    pub(super) fn name_after(&mut self, before: &str) {
        self.id = self.nth_name_after(before, 0);
    }

    /// The name that it has after another of the same fact, where so many names that it would have are taken by other lines.
    pub(super) fn nth_name_after(&self, before: &str, taken: usize) -> String {
        let more = if taken == 0 { String::new() } else { format!("\n{taken}") };
        name_of(&format!("{before}\n{}{more}", ChangeText(self)))
    }

    /// Whether its name goes on from a line's.
    pub(super) fn follows(&self, before: &str) -> bool {
        (0..=MAX_TAKEN_BEFORE).any(|taken| self.nth_name_after(before, taken) == self.id)
    }

    /// Names it by what it says alone, as one whose name is another line's.
    pub(super) fn name_alone(&mut self) {
        self.id = name_of(&format!("{}\n{}", self.id, ChangeText(self)));
    }
}

/// The name that a text gives.
fn name_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex()[..ID_CHARS].to_owned()
}

/// What is said of a fact, without when and by whom.
struct ChangeText<'a>(&'a FactChange);

impl fmt::Display for ChangeText<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(change) = self;
        let name = full_name(&change.namespace, &change.key);
        let old = change.old.as_ref().map_or_else(|| NONE.to_owned(), |old| code(old));
        write!(f, "{}", code(&name))?;
        match &change.kind {
            FactChangeKind::Set { text, .. } => write!(f, ": {old} → {}", code(text))?,
            FactChangeKind::Corrected { text, .. } => write!(f, ": {old} corrected to {}", code(text))?,
            FactChangeKind::Was { text, .. } => write!(f, " was {}", code(text))?,
            FactChangeKind::Unset => write!(f, ": {old} → {NONE}")?,
            FactChangeKind::Retracted | FactChangeKind::WasNot { .. } => write!(f, ": {old} → retracted")?,
        }
        match change.kind.window().filter(|window| !window.is_empty()) {
            Some(window) => write!(f, " {window}"),
            None => Ok(()),
        }
    }
}

/// Its line, without the line's end.
impl fmt::Display for FactChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let learned = Timestamp::from_millisecond(self.learned).unwrap_or_default();
        write!(f, "- {learned:.3} {} · by {}", ChangeText(self), self.by)?;
        if let Some(clock) = self.clock {
            write!(f, "{CLOCK}{:.3}", Timestamp::from_millisecond(clock).unwrap_or_default())?;
        }
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
pub(super) fn read_line(line: &str) -> Option<FactChange> {
    let rest = line.trim().strip_prefix("- ")?;
    let (learned, rest) = rest.split_once(' ')?;
    let learned = learned.parse::<Timestamp>().ok()?.as_millisecond();
    let (name, rest) = take_code(rest)?;
    let (namespace, key) = split_name(&name);
    let (old, kind, rest) = if let Some(rest) = rest.strip_prefix(" was ") {
        let (text, rest) = take_code(rest)?;
        let (window, rest) = take_window(rest)?;
        (None, FactChangeKind::Was { text, window }, rest)
    } else {
        let (old, rest) = take_value(rest.strip_prefix(": ")?)?;
        if let Some(rest) = rest.strip_prefix(" → retracted") {
            match take_window(rest)? {
                (window, rest) if window.is_empty() => (old, FactChangeKind::Retracted, rest),
                (window, rest) => (old, FactChangeKind::WasNot { window }, rest),
            }
        } else if let Some(rest) = rest.strip_prefix(" corrected to ") {
            let (text, rest) = take_code(rest)?;
            let (window, rest) = take_window(rest)?;
            (old, FactChangeKind::Corrected { text, window }, rest)
        } else {
            match take_value(rest.strip_prefix(" → ")?)? {
                (None, rest) => (old, FactChangeKind::Unset, rest),
                (Some(text), rest) => {
                    let (window, rest) = take_window(rest)?;
                    (old, FactChangeKind::Set { text, window }, rest)
                }
            }
        }
    };
    let (by, rest) = match rest.strip_prefix(" · by ") {
        Some(rest) => {
            let end = [CLOCK, " · source `"].into_iter().filter_map(|mark| rest.find(mark)).min();
            rest.split_at(end.or_else(|| rest.rfind(" ^"))?)
        }
        None => ("", rest),
    };
    let (clock, rest) = match rest.strip_prefix(CLOCK) {
        Some(rest) => {
            let (clock, rest) = rest.split_at(rest.find(' ')?);
            (Some(clock.parse::<Timestamp>().ok()?.as_millisecond()).filter(|clock| *clock < learned), rest)
        }
        None => (None, rest),
    };
    let (source, rest) = match rest.strip_prefix(" · source ") {
        Some(rest) => take_code(rest).map(|(source, rest)| (Some(source), rest))?,
        None => (None, rest),
    };
    // A line that somebody wrote has the name of nothing but its place in the text.
    let id = rest.trim().strip_prefix('^').filter(|id| !id.is_empty()).map(str::to_owned);
    let id = id.unwrap_or_else(|| name_of(line.trim()));
    let (namespace, key, by) = (namespace.to_owned(), key.to_owned(), by.to_owned());
    Some(FactChange { learned, clock, namespace, key, old, kind, by, source, id })
}

fn take_window(text: &str) -> Option<(Validity, &str)> {
    if !text.starts_with(" (") {
        return Some((Validity::default(), text));
    }
    let end = text.find(')')? + 1;
    let (_, window) = Validity::at_end(&text[..end]).ok()??;
    Some((window, &text[end..]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::history::{FactsHistory, NoticedBy};
    use super::*;
    use crate::chance::proptest_config;

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn a_line_reads_as_it_was_written(
            text in "[ -~→—·^]{1,20}", old in prop::option::of("\\PC{1,12}"), source in prop::option::of("[a-z`/ ·]{1,12}#L1"), kind in 0..6u8,
            clock in prop::option::of(0..1_700_000_000_000i64)
        ) {
            let window = Validity::at_end("x (from 2026-03-09, until 2026-06-01)").unwrap().unwrap().1;
            let kind = match kind {
                0 => FactChangeKind::Set { text, window: Validity::default() },
                1 => FactChangeKind::Set { text, window },
                2 => FactChangeKind::Corrected { text, window },
                3 => FactChangeKind::Unset,
                4 => FactChangeKind::WasNot { window },
                _ => FactChangeKind::Retracted,
            };
            let by = NoticedBy { learned: 1_700_000_000_123, by: "agent ada", source: source.as_deref() };
            let mut change = FactsHistory::default().change("a/b", "key", old.as_deref(), kind, &by);
            change.clock = clock;
            let read = read_line(&change.to_string());
            prop_assert_eq!(read, Some(change));
        }

        #[test]
        fn nothing_makes_it_panic(text in "(- |2026-01-01T00:00:00Z|`|a|: |→|—| was |\\(from |\\)|·|\\^|\n){0,20}") {
            FactsHistory::read(&text);
        }
    }
}
