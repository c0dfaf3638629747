//! What was true when, as far as it was known at some moment: the windows of a fact, worked out of its changes.

use super::history::{FactChange, FactChangeKind};

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
    let mut told = FactTimeline::default();
    changes.for_each(|change| told.learn(change));
    told.windows()
}

/// What was said last of a value as it is known, or that there is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StepKind {
    /// From then on the file said so.
    Said,
    /// It said so, and that was never true: what was before it ends all the same.
    Struck,
    /// It was so in a span.
    Was,
    /// A value was not true in a span; of whichever value where it is empty.
    WasNot,
    /// From then on there was none.
    Ended,
}

/// What was said of a fact, in the order in which it counts: what is said better of a value stands where that stood.
#[derive(Default)]
struct FactTimeline<'h> {
    /// Each with the value, which is empty where there is none, and the span that it is about.
    steps: Vec<(StepKind, FactWindow<'h>)>,
    never: Vec<FactWindow<'h>>,
}

impl<'h> FactTimeline<'h> {
    fn learn(&mut self, change: &'h FactChange) {
        let text = change.new.as_deref().unwrap_or_default();
        // From when, if that is said, and until when its value is true.
        let from = change.window.from.as_ref().map(|from| from.ms);
        let until = change.window.end();
        let noticed = Some(change.learned);
        let step = |kind, from| (kind, FactWindow { text, from, until, change, is_retracted: false });
        match change.kind {
            FactChangeKind::Set => {
                let is_better = change.old.as_deref() == Some(text);
                let known = is_better.then(|| self.last_said(text, StepKind::Said)).flatten();
                // The same value again says better when it was true; without a beginning it has the one that it had, if that has come.
                let Some(at) = known else { return self.steps.push(step(StepKind::Said, from.unwrap_or(noticed))) };
                let said = step(StepKind::Said, from.unwrap_or(self.steps[at].1.from.min(noticed)));
                if self.is_last_said(at) {
                    self.steps[at] = said;
                } else {
                    self.steps.remove(at);
                    self.steps.push(said);
                }
            }
            FactChangeKind::Corrected => {
                let wrong = self.strike(change.old.as_deref());
                // Without a beginning it has that of what it corrects, if that has come.
                let begun = wrong.map_or(noticed, |at| self.steps[at].1.from.min(noticed));
                let said = step(StepKind::Said, from.unwrap_or(begun));
                match wrong.filter(|at| self.is_last_said(*at)) {
                    Some(at) => self.steps[at] = said,
                    None => self.steps.push(said),
                }
            }
            FactChangeKind::Retracted => drop(self.strike(change.old.as_deref())),
            FactChangeKind::Unset => self.steps.push(step(StepKind::Ended, noticed)),
            FactChangeKind::Was => self.steps.push(step(StepKind::Was, from.flatten())),
            FactChangeKind::WasNot => self.take_back(change, from.flatten(), until),
        }
    }

    /// The place of what was said last of a value.
    fn last_said(&self, text: &str, kind: StepKind) -> Option<usize> {
        self.steps.iter().rposition(|(of, step)| *of == kind && step.text == text)
    }

    /// Whether the file said nothing else after it.
    fn is_last_said(&self, at: usize) -> bool {
        let later = self.steps[at + 1..].iter();
        !later.map(|(kind, _)| kind).any(|kind| matches!(kind, StepKind::Said | StepKind::Struck | StepKind::Ended))
    }

    /// Takes back what was last said of a value; gives its place, or that of one that was taken back before.
    fn strike(&mut self, text: Option<&str>) -> Option<usize> {
        let text = text?;
        let Some(at) = self.last_said(text, StepKind::Said) else {
            return self.last_said(text, StepKind::Struck);
        };
        let (kind, step) = &mut self.steps[at];
        *kind = StepKind::Struck;
        self.never.push(FactWindow { is_retracted: true, ..step.clone() });
        Some(at)
    }

    /// Takes a value back in a span: what was said of such a span goes, and what stood in the file was not true in it.
    fn take_back(&mut self, change: &'h FactChange, from: Option<i64>, until: Option<i64>) {
        let text = change.old.as_deref();
        let mut steps = Vec::with_capacity(self.steps.len() + 1);
        for (kind, step) in std::mem::take(&mut self.steps) {
            if kind != StepKind::Was || text.is_some_and(|text| step.text != text) {
                steps.push((kind, step));
                continue;
            }
            let pieces = without_span((step.from, step.until), (from, until));
            steps.extend(pieces.map(|(from, until)| (kind, FactWindow { from, until, ..step.clone() })));
        }
        self.steps = steps;
        let taken = FactWindow { text: text.unwrap_or_default(), from, until, change, is_retracted: true };
        self.never.extend(text.is_some().then(|| taken.clone()));
        self.steps.push((StepKind::WasNot, taken));
    }

    fn windows(self) -> Vec<FactWindow<'h>> {
        let mut windows: Vec<FactWindow<'h>> = Vec::new();
        for (kind, step) in self.steps {
            // What the file said bounds all that was before it.
            let until = step.until.filter(|_| matches!(kind, StepKind::Was | StepKind::WasNot));
            let is_any = kind != StepKind::WasNot || step.text.is_empty();
            for window in std::mem::take(&mut windows) {
                if is_any || window.text == step.text {
                    let pieces = without_span((window.from, window.until), (step.from, until));
                    windows.extend(pieces.map(|(from, until)| FactWindow { from, until, ..window.clone() }));
                } else {
                    windows.push(window);
                }
            }
            if matches!(kind, StepKind::Said | StepKind::Was) {
                windows.push(step);
            }
            windows.retain(|window| !is_empty((window.from, window.until)));
        }
        windows.extend(self.never.into_iter().filter(|window| !is_empty((window.from, window.until))));
        windows.sort_by_key(|window| (window.from, window.change.learned));
        windows
    }
}

/// A half-open span: `None` is always at its beginning, and until further notice at its end.
type FactSpan = (Option<i64>, Option<i64>);

fn is_empty((from, until): FactSpan) -> bool {
    until.is_some_and(|until| from.is_some_and(|from| until <= from))
}

/// What is left of a span on both sides of another.
fn without_span((begin, end): FactSpan, (from, until): FactSpan) -> impl Iterator<Item = FactSpan> {
    let before = from.map(|from| (begin, Some(end.map_or(from, |end| end.min(from)))));
    let after = until.map(|until| (Some(begin.map_or(until, |begin| begin.max(until))), end));
    before.into_iter().chain(after).filter(|span| !is_empty(*span))
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::super::file::FactsFile;
    use super::super::history::{FactsHistory, NoticedBy};
    use super::super::item::Validity;
    use super::super::tests::with_changes;
    use super::*;
    use crate::base::chance::proptest_config;

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
        let window = Validity::at_end("- (from 2026-03-01T00:00:00Z, until 2026-05-01T00:00:00Z)").unwrap().unwrap().1;
        let was = history.change(("", "a"), None, FactChangeKind::Was, (Some("y"), &window), &by(7));
        let history = FactsHistory::read(&with_changes(&text, &[was]));
        assert_eq!(year(&history, 12), ["x", "x", "y", "y", "x", "x", "x", "x"]);
        assert_eq!(history.unnoticed(&FactsFile::read("- a: x (from 0)\n"), &by(8)), []);
    }

    #[test]
    fn what_is_taken_back_is_what_stood_in_the_file() {
        let by =
            |month: u8| NoticedBy { learned: ms(&format!("2026-{month:02}-01T00:00:00Z")), by: "owner", source: None };
        let mut text = with_changes("", &FactsHistory::default().unnoticed(&FactsFile::read("- a: x\n"), &by(2)));
        let window = Validity::at_end("- (from 2020-01-01, until 2021-01-01)").unwrap().unwrap().1;
        let said = (Some("x"), &window);
        let was = FactsHistory::read(&text).change(("", "a"), None, FactChangeKind::Was, said, &by(3));
        text = with_changes(&text, &[was]);
        let taken = FactsHistory::read(&text).unnoticed(&FactsFile::read("- a: ~~x~~\n"), &by(4));
        let history = FactsHistory::read(&with_changes(&text, &taken));
        assert_eq!(year(&history, 12), [""; 8]);
        let then = windows(history.of("", "a"));
        assert!(then.iter().any(|window| window.holds(ms("2020-06-01T00:00:00Z"))), "{then:?}");
    }

    #[test]
    fn what_is_said_better_stands_where_it_stood() {
        let history = months(&["- a: x\n", "- a: y (from 2026-03-01)\n", "- a: y (from 2026-04-01)\n"]);
        assert_eq!(year(&history, 12), ["x", "x", "x", "y", "y", "y", "y", "y"]);
        let history = months(&["- a: x\n", "- a: y (from 2026-04-01)\n", "- a: y (from 2026-02-01)\n"]);
        assert_eq!(year(&history, 12), ["x", "y", "y", "y", "y", "y", "y", "y"]);
        // A correction, too.
        let history = months(&["- a: x\n", "- a: y (from 2026-03-01)\n", "- a: ~~y~~ z (from 2026-05-01)\n"]);
        assert_eq!(year(&history, 12), ["x", "x", "x", "x", "z", "z", "z", "z"]);
        // What was yet to come and is corrected without a beginning is true from now on.
        let history = months(&["- a: x\n", "- a: y (from 2026-08-01)\n", "- a: ~~y~~ z\n"]);
        assert_eq!(year(&history, 12), ["x", "x", "z", "z", "z", "z", "z", "z"]);
        // Where only its end is said, it begins when it did; what was yet to come is true from now on.
        let history =
            months(&["- a: x\n", "", "- a: x (from 2026-08-01)\n", "- a: x\n", "- a: x (until 2026-07-01)\n"]);
        assert_eq!(year(&history, 12), ["x", "", "", "x", "x", "x", "", ""]);
    }

    #[test]
    fn a_span_that_is_taken_back_leaves_what_is_known_without_it() {
        let span = |text: &str| Validity::at_end(text).unwrap().unwrap().1;
        let by =
            |month: u8| NoticedBy { learned: ms(&format!("2026-{month:02}-01T00:00:00Z")), by: "owner", source: None };
        let mut text =
            with_changes("", &FactsHistory::default().unnoticed(&FactsFile::read("- a: x (from 0)\n"), &by(1)));
        let mut note = |old: Option<&str>, new: Option<&str>, window: &Validity, month: u8| {
            let history = FactsHistory::read(&text);
            let kind = if new.is_some() { FactChangeKind::Was } else { FactChangeKind::WasNot };
            text = with_changes(&text, &[history.change(("", "a"), old, kind, (new, window), &by(month))]);
            let history = FactsHistory::read(&text);
            assert_eq!(history.unnoticed(&FactsFile::read("- a: x (from 0)\n"), &by(12)), []);
            history
        };
        let spring = span("- (from 2026-03-01, until 2026-06-01)");
        assert_eq!(year(&note(None, Some("y"), &spring, 7), 12), ["x", "x", "y", "y", "y", "x", "x", "x"]);
        let april = span("- (from 2026-04-01, until 2026-05-01)");
        let history = note(Some("y"), None, &april, 8);
        assert_eq!(year(&history, 12), ["x", "x", "y", "x", "y", "x", "x", "x"]);
        assert_eq!(year(&history, 7), ["x", "x", "y", "y", "y", "x", "x", "x"], "known in July");
        assert_eq!(history.values_in("", "a", &spring), ["y", "x"]);
        assert_eq!(year(&note(Some("y"), None, &spring, 9), 12), ["x"; 8]);
        // Of what stood in the file there is nothing left in it, until it is said again.
        let history = note(Some("x"), None, &spring, 10);
        assert_eq!(year(&history, 12), ["x", "x", "", "", "", "x", "x", "x"]);
        assert_eq!(year(&note(None, Some("y"), &spring, 11), 12), ["x", "x", "y", "y", "y", "x", "x", "x"]);
    }

    #[test]
    fn what_begins_later_leaves_what_is_true_until_then() {
        let now = ms("2026-06-15T00:00:00Z");
        let standing = |saves: &[&str]| {
            let file = FactsFile::read(saves.last().unwrap());
            let history = months(saves);
            history.standing(file.get("", "a").unwrap(), now).map(|window| (window.text.to_owned(), window.until))
        };
        let later = "- a: y (from 2026-12-01T00:00:00Z)\n";
        let until = Some(ms("2026-12-01T00:00:00Z"));
        assert_eq!(standing(&["- a: x\n", later]), Some(("x".to_owned(), until)));
        assert_eq!(standing(&["- a: x\n", later, "- a: ~~y~~\n"]), Some(("x".to_owned(), until)));
        for answered in [
            &["- a: x\n", "- a: y\n"][..],
            &[later],
            &["- a: x\n", "- a: ~~x~~\n"],
            &["- a: x\n", "- a: y (until 2026-04-01)\n"],
        ] {
            assert_eq!(standing(answered), None, "{answered:?}");
        }
        // Before it is noted, too.
        let file = FactsFile::read(later);
        assert_eq!(months(&["- a: x\n"]).standing(file.get("", "a").unwrap(), now).unwrap().text, "x");
        assert_eq!(months(&["- a: y\n"]).standing(file.get("", "a").unwrap(), now), None);
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
