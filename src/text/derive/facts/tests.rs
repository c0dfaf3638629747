//! Tests of what a history notes, whatever was done to its lines.

use proptest::prelude::*;

use super::file::FactsFile;
use super::history::{
    FactChange, FactChangeKind, FactsHistory, NoticedBy, lines_after, without_changes, without_sources,
};
use super::item::Validity;
use super::timeline::windows;
use crate::base::chance::proptest_config;

fn by(learned: i64) -> NoticedBy<'static> {
    NoticedBy { learned, by: "edit", source: None }
}

/// The text of a history with changes at its end.
pub(super) fn with_changes(source: &str, changes: &[FactChange]) -> String {
    format!("{source}{}", lines_after(source, changes))
}

/// Plays saves of a file into a history, each a second after the one before.
fn played(saves: &[&str]) -> String {
    let mut text = String::new();
    for (at, save) in saves.iter().enumerate() {
        let changes = FactsHistory::read(&text).unnoticed(&FactsFile::read(save), &by(at as i64 * 1000));
        text = with_changes(&text, &changes);
        let again = FactsHistory::read(&text).unnoticed(&FactsFile::read(save), &by(at as i64 * 1000 + 1));
        assert_eq!(again, [], "noticed once");
    }
    text
}

fn lines(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| line.starts_with("- "));
    lines.map(|line| line.split_once(' ').unwrap().1.split_once(" · by").unwrap().0.to_owned()).collect()
}

/// The starter notes have a past, as the program would have noted it.
#[test]
fn the_template_is_as_the_program_writes_it() {
    let written = include_str!("../../../../vault-template/facts.history.md");
    let mut text = String::new();
    for change in FactsHistory::read(written).changes() {
        let noticed = NoticedBy { learned: change.learned, by: &change.by, source: change.source.as_deref() };
        let (name, said) = ((change.namespace.as_str(), change.key.as_str()), (change.new.as_deref(), &change.window));
        let again = FactsHistory::read(&text).change(name, change.old.as_deref(), change.kind, said, &noticed);
        text = with_changes(&text, &[again]);
    }
    assert_eq!(written, text);
    let facts = FactsFile::read(include_str!("../../../../vault-template/facts.md"));
    assert_eq!(FactsHistory::read(written).unnoticed(&facts, &by(i64::MAX)), [], "nothing to note");
    assert_eq!((facts.problems.len(), facts.facts().count()), (0, 4));
}

#[test]
fn a_change_is_a_line() {
    let text = played(&[
        "- a: main\n",
        "- a: release (from 2026-03-09)\n- b: x\n",
        "- a: ~~release~~ rel-2\n- b: ~~x~~\n",
        "- b: ~~x~~ y\n",
        "",
    ]);
    assert_eq!(
        lines(&text),
        [
            "1970-01-01T00:00:00.000Z `a`: — → `main`",
            "1970-01-01T00:00:01.000Z `a`: `main` → `release` (from 2026-03-09)",
            "1970-01-01T00:00:01.000Z `b`: — → `x`",
            "1970-01-01T00:00:02.000Z `a`: `release` corrected to `rel-2`",
            "1970-01-01T00:00:02.000Z `b`: `x` → retracted",
            "1970-01-01T00:00:03.000Z `b`: `x` corrected to `y`",
            "1970-01-01T00:00:03.000Z `a`: `rel-2` → —",
            "1970-01-01T00:00:04.000Z `b`: `y` → —",
        ]
    );
}

#[test]
fn what_two_have_noticed_counts_once() {
    let base = played(&["- a: 1\n"]);
    let file = FactsFile::read("- a: 2\n");
    let here = FactsHistory::read(&base).unnoticed(&file, &by(5000));
    let there = FactsHistory::read(&base).unnoticed(&file, &NoticedBy { by: "owner", ..by(7000) });
    let merged = with_changes(&with_changes(&base, &there), &here);
    let history = FactsHistory::read(&merged);
    let learned: Vec<i64> = history.changes().iter().map(|change| change.learned).collect();
    assert_eq!(learned, [0, 5000]);
    assert_eq!(history.unnoticed(&file, &by(9000)), []);
    // There and back is another change each time.
    let text = played(&["- a: 1\n", "- a: 2\n", "- a: 1\n", "- a: 2\n"]);
    assert_eq!(FactsHistory::read(&text).changes().len(), 4);
}

/// One replaced a value while another took it back as never true.
#[test]
fn a_value_that_was_taken_back_elsewhere_ends_no_other() {
    let mut begun = FactsHistory::read(&played(&["- a: 1\n"]));
    let replaced = begun.unnoticed(&FactsFile::read("- a: 2\n"), &by(1_000));
    let taken_back = begun.unnoticed(&FactsFile::read("- a: ~~1~~\n"), &by(2_000));
    begun = begun.with(&replaced).with(&taken_back);
    assert_eq!(begun.unnoticed(&FactsFile::read("- a: 2\n"), &by(3_000)), []);
    let gone = begun.unnoticed(&FactsFile::read("- a: ~~1~~\n"), &by(3_000));
    assert_eq!((gone[0].old.as_deref(), gone[0].kind), (Some("2"), FactChangeKind::Unset));
    let ended = begun.with(&gone);
    assert!(windows(ended.of("", "a")).iter().all(|window| !window.holds(3_000)));
    assert_eq!(ended.unnoticed(&FactsFile::read("- a: ~~1~~\n"), &by(4_000)), []);
}

#[test]
fn a_clock_that_goes_back_changes_no_order() {
    let base = played(&["- a: 1\n", "- a: 2\n"]);
    let changes = FactsHistory::read(&base).unnoticed(&FactsFile::read("- a: 3\n"), &by(-50_000));
    assert_eq!(changes[0].learned, 1000);
    let history = FactsHistory::read(&with_changes(&base, &changes));
    assert_eq!(history.last("", "a").unwrap().0, "3");
    // One line out of the future dates no other fact.
    let future = format!("{base}- 2099-01-01T00:00:00Z `x`: — → `y` ^future\n");
    let changes = FactsHistory::read(&future).unnoticed(&FactsFile::read("- a: 3\n- x: y\n"), &by(5000));
    assert_eq!(changes.iter().map(|change| change.learned).collect::<Vec<_>>(), [5000]);
}

#[test]
fn while_a_merge_is_open_nothing_is_noticed() {
    let history = FactsHistory::read(&played(&["- a: 1\n"]));
    let file = FactsFile::read("<<<<<<< HEAD\n- a: 1\n=======\n- a: 2\n>>>>>>> x\n");
    assert_eq!(history.unnoticed(&file, &by(9000)), []);
}

#[test]
fn a_place_that_goes_leaves_the_line_and_its_name() {
    let learned = |source| NoticedBy { source: Some(source), ..by(0) };
    let window = Validity::default();
    let changes = [("x", "notes/a.md#L3"), ("y", "notes/b.md")].map(|(text, source)| {
        let said = (Some(text), &window);
        FactsHistory::default().change(("", text), None, FactChangeKind::Set, said, &learned(source))
    });
    let text = with_changes("", &changes).replace('\n', "\r\n");
    let without = without_sources(&text, |source| source.starts_with("notes/a.md"));
    assert_eq!(without, text.replace(" · source `notes/a.md#L3`", ""));
    let ids = |text: &str| FactsHistory::read(text).changes().iter().map(|one| one.id.clone()).collect::<Vec<_>>();
    assert_eq!(ids(&without), ids(&text));
}

#[test]
fn after_a_purge_on_one_machine_other_facts_count_once() {
    let saves = ["- a: one\n- b: x\n", "- a: secret\n- b: x\n", "- a: two\n- b: y\n", "- a: 3\n- b: y\n"];
    let text = played(&saves);
    let purged = without_changes(&text, |_, value| value == "secret");
    let of = |text: &str, key: &str| FactsHistory::read(text).of("", key).cloned().collect::<Vec<_>>();
    assert_eq!(of(&purged, "b"), of(&text, "b"), "other facts keep their lines and names");
    for merged in [format!("{text}{purged}"), format!("{purged}{text}")] {
        assert_eq!(of(&merged, "b"), of(&text, "b"));
        let history = FactsHistory::read(&merged);
        assert_eq!(history.unnoticed(&FactsFile::read(saves[3]), &by(9000)), [], "nothing is noted again");
    }
}

#[test]
fn a_clock_that_stands_still_keeps_every_line() {
    let mut text = String::new();
    for value in ["1", "2", "1", "2", "", "2"] {
        let file = FactsFile::read(&if value.is_empty() { String::new() } else { format!("- a: {value}\n") });
        let history = FactsHistory::read(&text);
        text = with_changes(&text, &history.unnoticed(&file, &by(0)));
        assert_eq!(FactsHistory::read(&text).unnoticed(&file, &by(0)), []);
    }
    assert_eq!(FactsHistory::read(&text).changes().len(), 6);
}

#[test]
fn lines_that_go_take_nothing_else_with_them() {
    let text = played(&["- a: secret\n- b: x\n", "- a: 2\n- b: x\n"]);
    let without = without_changes(&text, |change, _| change.key == "a");
    assert!(without.starts_with("# History of facts.md\n") && !without.contains("secret"));
    assert_eq!(lines(&without), ["1970-01-01T00:00:00.000Z `b`: — → `x`"]);
    assert_eq!(without_changes(&text, |_, _| false), text);
}

#[test]
fn a_value_that_goes_leaves_the_others_when_they_were_learned() {
    let saves = ["- a: one\n", "- a: secret\n", "- a: two\n", "- a: ~~two~~ secret\n", "- a: ~~secret~~ 3\n"];
    let text = played(&saves);
    let without = without_changes(&text, |_, value| value == "secret");
    assert_eq!(
        lines(&without),
        [
            "1970-01-01T00:00:00.000Z `a`: — → `one`",
            "1970-01-01T00:00:01.000Z `a`: `one` → —",
            "1970-01-01T00:00:02.000Z `a`: — → `two`",
            "1970-01-01T00:00:03.000Z `a`: `two` → retracted",
            "1970-01-01T00:00:04.000Z `a`: — corrected to `3`",
        ]
    );
    let history = FactsHistory::read(&without);
    assert_eq!(history.unnoticed(&FactsFile::read("- a: ~~secret~~ 3\n"), &by(9000)), [], "nothing is noted again");
    // No name tells what went: another value in its place leaves the same.
    let other = played(&saves.map(|save| save.replace("secret", "other")).each_ref().map(String::as_str));
    assert_eq!(without_changes(&other, |_, value| value == "other"), without);
    let only = played(&["- a: secret\n", "- a: x (from 2026-03-09)\n", "- b: secret\n"]);
    let without = without_changes(&only, |_, value| value == "secret");
    assert_eq!(
        lines(&without),
        ["1970-01-01T00:00:01.000Z `a`: — → `x` (from 2026-03-09)", "1970-01-01T00:00:02.000Z `a`: `x` → —"]
    );
}

/// It would count as the other line of that name, and be noted at each look.
#[test]
fn the_name_of_a_line_that_does_not_count_is_no_name_for_another() {
    let text = played(&["- a: y\n", "", "- a: x\n"]);
    let moved = text.replace("00:00:00.000Z", "00:00:03.000Z").replace("00:00:01.000Z", "00:00:03.000Z");
    let copy = text.lines().last().unwrap().replace("→ `x`", "→ `y`");
    let file = FactsFile::read("- a: x\n");
    for edited in [format!("{text}{copy}\n"), format!("{moved}{copy}\n"), format!("{copy}\n{moved}")] {
        let changes = FactsHistory::read(&edited).unnoticed(&file, &by(90_000));
        let edited = with_changes(&edited, &changes);
        assert_eq!(FactsHistory::read(&edited).unnoticed(&file, &by(91_000)), [], "{edited}");
    }
    let found = "- 1970-01-01T00:00:02.000Z `a`: — → `y` · by edit ^56301a7ed660\n\
        - 1970-01-01T00:00:03.000Z `a`: `y` → — · by edit ^dc1c5c6afcd0\n\
        - 1970-01-01T00:00:00.000Z `a`: — → `y` · by edit ^bffb433e097e\n\
        - 1970-01-01T00:00:02.000Z `a`: — → `x` · by edit ^56301a7ed660\n";
    let changes = FactsHistory::read(found).unnoticed(&file, &by(90_000));
    let noted = with_changes(found, &changes);
    assert_eq!(FactsHistory::read(&noted).unnoticed(&file, &by(91_000)), [], "{noted}");
}

#[test]
fn a_line_with_another_date_is_noted_once_more_and_then_never_again() {
    let text = played(&["- a: main\n", "- a: release\n"]);
    let file = FactsFile::read("- a: release\n");
    let redated =
        text.replace("00:00:01.000Z", "00:00:00.000Z").replacen("1970-01-01T00:00:00", "1970-01-01T00:01:00", 1);
    let copied = format!("{text}{}\n", text.lines().last().unwrap().replace("→ `release`", "→ `other`"));
    for edited in [redated, copied] {
        let history = FactsHistory::read(&edited);
        let changes = history.unnoticed(&file, &by(90_000));
        assert_eq!(changes.len(), 1, "{edited}");
        let edited = with_changes(&edited, &changes);
        assert_eq!(FactsHistory::read(&edited).unnoticed(&file, &by(91_000)), [], "{edited}");
    }
}

#[test]
fn lines_ahead_of_the_clock_are_passed_over() {
    let text = format!("{}- 2099-01-01T00:00:00Z `a`: `1` → `x` ^future\n", played(&["- a: 1\n"]));
    let history = FactsHistory::read_until(&text, 5_000);
    assert_eq!((history.last("", "a").unwrap().0, history.ahead.as_slice()), ("1", &[6][..]));
    // Noted once more, it counts once when that time has come.
    let file = FactsFile::read("- a: x\n");
    let noted = with_changes(&text, &history.unnoticed(&file, &by(4_000)));
    assert_eq!(FactsHistory::read_until(&noted, 5_000).unnoticed(&file, &by(5_000)), []);
    assert_eq!(FactsHistory::read(&noted).unnoticed(&file, &by(5_000)), []);
}

/// What somebody may do to the lines of a history by hand.
fn edited(text: &str, edits: &[(u8, usize, usize)]) -> String {
    let (mut lines, head): (Vec<String>, Vec<String>) =
        text.lines().map(str::to_owned).partition(|line| line.starts_with("- "));
    for (what, at, to) in edits {
        if lines.is_empty() {
            break;
        }
        let (at, second) = (at % lines.len(), to % 120);
        let to = to % lines.len();
        let moment = format!("1970-01-01T00:{:02}:{:02}.000Z", second / 60, second % 60);
        match what {
            0 => lines.swap(at, to),
            1 => lines[at].replace_range(2..26, &moment),
            2 => lines.insert(to, lines[at].clone()),
            3 => {
                let mut copy = lines[at].clone();
                copy.replace_range(2..26, &moment);
                lines.insert(to, copy);
            }
            4 => lines.insert(to, lines[at].replace("→ `x`", "→ `y`")),
            5 => lines[at] = lines[at].replace("→ `y`", "→ `z`"),
            _ => drop(lines.remove(at)),
        }
    }
    head.into_iter().chain(lines).fold(String::new(), |text, line| text + &line + "\n")
}

proptest! {
    #![proptest_config(proptest_config(256))]

    #[test]
    fn whatever_is_done_to_the_lines_nothing_is_noted_twice(
        saves in prop::collection::vec("(- a: (~~[xyz]~~ )?[xyz]?( \\(from 1970-01-0[1-3]\\))?\n)?", 1..8),
        edits in prop::collection::vec((0..7u8, 0..40usize, 0..240usize), 0..8),
        stands_still: bool,
    ) {
        let saves: Vec<&str> = saves.iter().map(String::as_str).collect();
        let mut text = played(&saves);
        if stands_still {
            let lines = text.lines().map(|line| match line.strip_prefix("- 1970-01-01T00:00:0") {
                Some(rest) => format!("- 1970-01-01T00:00:00{}", &rest[1..]),
                None => line.to_owned(),
            });
            text = lines.fold(String::new(), |text, line| text + &line + "\n");
        }
        let text = edited(&text, &edits);
        let file = FactsFile::read(saves.last().unwrap());
        let history = FactsHistory::read(&text);
        let changes = history.unnoticed(&file, &by(90_000));
        let text = with_changes(&text, &changes);
        let again = FactsHistory::read(&text);
        prop_assert_eq!(again.unnoticed(&file, &by(91_000)), [], "{}", text);
        let (said, with) = (history.with(&changes), again);
        let of = |history: &FactsHistory| history.of("", "a").cloned().collect::<Vec<_>>();
        prop_assert_eq!(of(&said), of(&with), "{}", text);
    }
}
