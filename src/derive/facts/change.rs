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

use super::name::{full_name, split_name};
use super::window::Validity;

/// Stands for no value.
const NONE: &str = "—";
/// Digits of a change's name.
const ID_CHARS: usize = 12;

/// A change of a fact.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactChange {
    /// When it was noticed, in milliseconds since 1970.
    pub(crate) learned: i64,
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
}

impl FactChangeKind {
    /// Whether the value stands, or stood, in the file: a span of the past never did.
    pub(crate) fn is_said(&self) -> bool {
        !matches!(self, Self::Was { .. })
    }

    /// The value that it brings, and from when and until when.
    pub(crate) fn value(&self) -> Option<(&str, &Validity)> {
        match self {
            Self::Set { text, window } | Self::Corrected { text, window } | Self::Was { text, window } => {
                Some((text, window))
            }
            Self::Unset | Self::Retracted => None,
        }
    }
}

impl FactChange {
    /// Whether it is what is left of another one of that moment after a purge of a value that the other has, the value before or the new, or of
    /// the place where it was learned.
    pub(super) fn is_purged_of(&self, whole: &Self) -> bool {
        let is_old_purged = self.old.is_none() && whole.old.is_some();
        let is_new_purged = matches!(
            (&self.kind, &whole.kind),
            (FactChangeKind::Unset, FactChangeKind::Set { .. })
                | (FactChangeKind::Retracted, FactChangeKind::Corrected { .. })
        );
        (is_old_purged || self.old == whole.old)
            && (is_new_purged || self.kind == whole.kind)
            && (self.source.is_none() || self.source == whole.source)
            && self.by == whole.by
    }

    /// Names it, as one that comes after another of the same fact.
    pub(super) fn name_after(&mut self, before: &str) {
        self.id = self.named_after(before);
    }

    /// The name that it has after another of the same fact.
    pub(super) fn named_after(&self, before: &str) -> String {
        let said = format!("{before}\n{}", ChangeText(self));
        blake3::hash(said.as_bytes()).to_hex()[..ID_CHARS].to_owned()
    }
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
            FactChangeKind::Retracted => write!(f, ": {old} → retracted")?,
        }
        match change.kind.value().filter(|(_, window)| !window.is_empty()) {
            Some((_, window)) => write!(f, " {window}"),
            None => Ok(()),
        }
    }
}

/// Its line, without the line's end.
impl fmt::Display for FactChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let learned = Timestamp::from_millisecond(self.learned).unwrap_or_default();
        write!(f, "- {learned:.3} {} · by {}", ChangeText(self), self.by)?;
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
            (old, FactChangeKind::Retracted, rest)
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
        Some(rest) => rest.split_at(rest.find(" · source `").or_else(|| rest.rfind(" ^"))?),
        None => ("", rest),
    };
    let (source, rest) = match rest.strip_prefix(" · source ") {
        Some(rest) => take_code(rest).map(|(source, rest)| (Some(source), rest))?,
        None => (None, rest),
    };
    // A line that somebody wrote has the name of nothing but its place in the text.
    let id = rest.trim().strip_prefix('^').filter(|id| !id.is_empty()).map(str::to_owned);
    let id = id.unwrap_or_else(|| blake3::hash(line.trim().as_bytes()).to_hex()[..ID_CHARS].to_owned());
    let (namespace, key, by) = (namespace.to_owned(), key.to_owned(), by.to_owned());
    Some(FactChange { learned, namespace, key, old, kind, by, source, id })
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
            text in "[ -~→—·^]{1,20}", old in prop::option::of("\\PC{1,12}"), source in prop::option::of("[a-z`/ ·]{1,12}#L1"), kind in 0..5u8
        ) {
            let window = Validity::at_end("x (from 2026-03-09, until 2026-06-01)").unwrap().unwrap().1;
            let kind = match kind {
                0 => FactChangeKind::Set { text, window: Validity::default() },
                1 => FactChangeKind::Set { text, window },
                2 => FactChangeKind::Corrected { text, window },
                3 => FactChangeKind::Unset,
                _ => FactChangeKind::Retracted,
            };
            let by = NoticedBy { learned: 1_700_000_000_123, by: "agent ada", source: source.as_deref() };
            let change = FactsHistory::default().change("a/b", "key", old.as_deref(), kind, &by);
            let read = read_line(&change.to_string());
            prop_assert_eq!(read, Some(change));
        }

        #[test]
        fn nothing_makes_it_panic(text in "(- |2026-01-01T00:00:00Z|`|a|: |→|—| was |\\(from |\\)|·|\\^|\n){0,20}") {
            FactsHistory::read(&text);
        }
    }
}
