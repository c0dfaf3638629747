//! What was true when, as far as it was known at some moment: the windows of a fact, worked out of its changes.

use super::change::{FactChange, FactChangeKind};

/// A value, and the half-open span in which it was true.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FactWindow<'h> {
    /// The value as it was written.
    pub(crate) text: &'h str,
    /// Milliseconds since 1970; `None` is always.
    pub(crate) from: Option<i64>,
    /// Milliseconds since 1970, no longer in it; `None` is until further notice.
    pub(crate) until: Option<i64>,
    /// The change that brought it.
    pub(crate) change: &'h FactChange,
    /// Whether it was never true.
    pub(crate) is_retracted: bool,
}

impl FactWindow<'_> {
    /// Whether a moment lies in it.
    pub(crate) fn holds(&self, at: i64) -> bool {
        !self.is_retracted && self.from.is_none_or(|from| from <= at) && self.until.is_none_or(|until| at < until)
    }
}

/// The windows of one fact, the earliest first. No two that are not retracted overlap.
///
/// `changes` are those of one key in the order in which they were learned; who asks what was known at a moment leaves out the later ones.
pub(crate) fn windows<'h>(changes: impl Iterator<Item = &'h FactChange>) -> Vec<FactWindow<'h>> {
    let mut windows: Vec<FactWindow<'h>> = Vec::new();
    for change in changes {
        match &change.kind {
            FactChangeKind::Set { text, .. } => {
                // The same value again says better when it was true.
                let refined = change.old.as_deref() == Some(text.as_str());
                if let Some(at) = windows.iter().rposition(|window| refined && is_said(window) && window.text == text) {
                    windows.remove(at);
                }
                let (from, until) = bounds(change, Some(change.learned));
                end_from(&mut windows, from);
                windows.push(FactWindow { text, from, until, change, is_retracted: false });
            }
            FactChangeKind::Corrected { text, .. } => {
                let wrong = retract(&mut windows, change.old.as_deref());
                let (from, until) = bounds(change, wrong.map_or(Some(change.learned), |at| windows[at].from));
                end_from(&mut windows, from);
                windows.push(FactWindow { text, from, until, change, is_retracted: false });
            }
            FactChangeKind::Was { text, .. } => {
                let (from, until) = bounds(change, None);
                windows = windows.into_iter().flat_map(|window| without_span(window, from, until)).collect();
                windows.push(FactWindow { text, from, until, change, is_retracted: false });
            }
            FactChangeKind::Unset => end_from(&mut windows, Some(change.learned)),
            FactChangeKind::Retracted => drop(retract(&mut windows, change.old.as_deref())),
        }
        windows.retain(|window| window.until.is_none_or(|until| window.from.is_none_or(|from| from < until)));
    }
    windows.sort_by_key(|window| (window.from, window.change.learned));
    windows
}

/// The window that a change says; `else_from` where it does not say from when.
fn bounds(change: &FactChange, else_from: Option<i64>) -> (Option<i64>, Option<i64>) {
    let window = change.kind.value().map(|(_, window)| window);
    let from = window.and_then(|window| window.from.as_ref()).map_or(else_from, |from| from.ms);
    (from, window.and_then(super::window::Validity::end))
}

/// From a moment on nothing is said any more.
fn end_from(windows: &mut Vec<FactWindow<'_>>, from: Option<i64>) {
    windows.retain(|window| {
        window.is_retracted || window.from.is_none_or(|begin| from.is_some_and(|from| begin < from)) && from.is_some()
    });
    for window in windows.iter_mut().filter(|window| !window.is_retracted) {
        window.until = match (window.until, from) {
            (Some(until), Some(from)) => Some(until.min(from)),
            (None, from) => from,
            (until, None) => until,
        };
    }
}

/// Takes back the last window of a value; gives its place, or that of one that was taken back before.
fn retract(windows: &mut [FactWindow<'_>], text: Option<&str>) -> Option<usize> {
    let at = windows.iter().rposition(|window| is_said(window) && Some(window.text) == text);
    if let Some(at) = at {
        windows[at].is_retracted = true;
        return Some(at);
    }
    windows.iter().rposition(|window| window.change.kind.is_said() && Some(window.text) == text)
}

/// Whether a window is of a value that stood in the file, and was not taken back.
fn is_said(window: &FactWindow<'_>) -> bool {
    !window.is_retracted && window.change.kind.is_said()
}

/// What is left of a window on both sides of a span.
fn without_span<'h>(window: FactWindow<'h>, from: Option<i64>, until: Option<i64>) -> Vec<FactWindow<'h>> {
    if window.is_retracted {
        return vec![window];
    }
    let before =
        from.map(|from| FactWindow { until: Some(window.until.map_or(from, |end| end.min(from))), ..window.clone() });
    let after =
        until.map(|until| FactWindow { from: Some(window.from.map_or(until, |begin| begin.max(until))), ..window });
    before.into_iter().chain(after).collect()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::file::FactsFile;
    use super::super::history::{FactsHistory, NoticedBy, with_changes};
    use super::*;
    use crate::chance::proptest_config;

    fn ms(text: &str) -> i64 {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    /// The history of saves of a file, each at a month's beginning of 2026.
    fn months(saves: &[&str]) -> FactsHistory {
        let mut text = String::new();
        for (at, save) in saves.iter().enumerate() {
            let by = NoticedBy { learned: ms(&format!("2026-{:02}-01T00:00:00Z", at + 1)), by: "edit", source: None };
            text = with_changes(&text, &FactsHistory::read(&text).unnoticed(&FactsFile::read(save), &by));
        }
        FactsHistory::read(&text)
    }

    /// What was true in the middle of a month, by what was known in the middle of another.
    fn at(history: &FactsHistory, as_of: u8, known: u8) -> Option<String> {
        let middle = |month: u8| ms(&format!("2026-{month:02}-15T00:00:00Z"));
        let known = history.of("", "a").filter(|change| change.learned <= middle(known));
        let windows = windows(known);
        windows.iter().find(|window| window.holds(middle(as_of))).map(|window| window.text.to_owned())
    }

    fn year(history: &FactsHistory, known: u8) -> Vec<String> {
        (1..=8).map(|month| at(history, month, known).unwrap_or_default()).collect()
    }

    #[test]
    fn a_value_takes_the_place_of_another() {
        let history = months(&["- a: x\n", "- a: x\n", "- a: y\n", "", "- a: z\n"]);
        assert_eq!(year(&history, 12), ["x", "x", "y", "", "z", "z", "z", "z"]);
        assert_eq!(year(&history, 2), ["x", "x", "x", "x", "x", "x", "x", "x"], "known in February");
    }

    #[test]
    fn what_is_said_of_when_counts() {
        let history = months(&["- a: x (from 0)\n", "", "", "- a: y (from 2026-03-01, until 2026-06-01)\n"]);
        assert_eq!(year(&history, 12), ["x", "", "y", "y", "y", "", "", ""]);
        assert_eq!(at(&history, 3, 3), None, "nobody knew in March");
        // Said better, it is the same fact.
        let history = months(&["- a: x\n", "- a: x (from 2026-04-01)\n"]);
        assert_eq!(year(&history, 12), ["", "", "", "x", "x", "x", "x", "x"]);
    }

    #[test]
    fn what_was_never_true_leaves_what_was_true_when() {
        let history = months(&["- a: x\n", "- a: y\n", "- a: y\n", "- a: ~~y~~ z\n"]);
        assert_eq!(year(&history, 12), ["x", "z", "z", "z", "z", "z", "z", "z"]);
        assert_eq!(year(&history, 3), ["x", "y", "y", "y", "y", "y", "y", "y"], "believed in March");
        let history = months(&["- a: x\n", "- a: y\n", "- a: ~~y~~\n"]);
        assert_eq!(year(&history, 12), ["x", "", "", "", "", "", "", ""]);
        // The correction was wrong.
        let history = months(&["- a: x\n", "- a: ~~x~~ y\n", "- a: ~~y~~ x\n"]);
        assert_eq!(year(&history, 12), ["x"; 8]);
        assert_eq!(year(&history, 2), ["y"; 8]);
    }

    #[test]
    fn a_span_of_the_past_leaves_what_is_around_it() {
        let mut text = String::new();
        let by =
            |month: u8| NoticedBy { learned: ms(&format!("2026-{month:02}-01T00:00:00Z")), by: "owner", source: None };
        text = with_changes(&text, &FactsHistory::read(&text).unnoticed(&FactsFile::read("- a: x (from 0)\n"), &by(1)));
        let history = FactsHistory::read(&text);
        let window =
            crate::derive::facts::Validity::at_end("- (from 2026-03-01T00:00:00Z, until 2026-05-01T00:00:00Z)")
                .unwrap()
                .unwrap()
                .1;
        let was = history.change("", "a", None, FactChangeKind::Was { text: "y".into(), window }, &by(7));
        let history = FactsHistory::read(&with_changes(&text, &[was]));
        assert_eq!(year(&history, 12), ["x", "x", "y", "y", "x", "x", "x", "x"]);
        assert_eq!(history.unnoticed(&FactsFile::read("- a: x (from 0)\n"), &by(8)), []);
    }

    #[test]
    fn what_is_taken_back_is_what_stood_in_the_file() {
        let by =
            |month: u8| NoticedBy { learned: ms(&format!("2026-{month:02}-01T00:00:00Z")), by: "owner", source: None };
        let mut text = with_changes("", &FactsHistory::default().unnoticed(&FactsFile::read("- a: x\n"), &by(2)));
        let window =
            crate::derive::facts::Validity::at_end("- (from 2020-01-01, until 2021-01-01)").unwrap().unwrap().1;
        let kind = FactChangeKind::Was { text: "x".into(), window };
        text = with_changes(&text, &[FactsHistory::read(&text).change("", "a", None, kind, &by(3))]);
        let taken = FactsHistory::read(&text).unnoticed(&FactsFile::read("- a: ~~x~~\n"), &by(4));
        let history = FactsHistory::read(&with_changes(&text, &taken));
        assert_eq!(year(&history, 12), [""; 8]);
        let then = windows(history.of("", "a"));
        assert!(then.iter().any(|window| window.holds(ms("2020-06-01T00:00:00Z"))), "{then:?}");
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn at_most_one_value_is_true_at_a_moment(saves in prop::collection::vec(
            "(- a: (~~[xyz]~~ )?[xyz]?( \\((from 2026-0[1-6]-01)?\\))?\n)?", 1..9)
        ) {
            let saves: Vec<&str> = saves.iter().map(String::as_str).collect();
            let history = months(&saves);
            let windows = windows(history.of("", "a"));
            for month in 1..=12 {
                let at = ms(&format!("2026-{month:02}-15T00:00:00Z"));
                prop_assert!(windows.iter().filter(|window| window.holds(at)).count() <= 1);
            }
        }
    }
}
