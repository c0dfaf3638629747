//! What a merge left in a file for the person to decide: conflict markers, and the text of either side of them.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::code;

/// The problem of a note with conflict markers.
pub(crate) const CONFLICT_MARKS: &str = "conflict markers of git; `vault conflicts show` has both sides";

/// A text with conflict markers, as either side has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Sides {
    /// With what stands above each `=======`.
    pub(crate) ours: String,
    /// With what stands below it.
    pub(crate) theirs: String,
    /// With the one after the other.
    pub(crate) both: String,
}

/// The conflicts of a text that are meant, with what stands on either side. Behind the first may come what both began with, as
/// `merge.conflictStyle = diff3` gives it. A whole conflict inside one block of code is an example of one.
fn conflicts(text: &str) -> Vec<Captures<'_>> {
    static CONFLICT: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = concat!(
            r"(?m)^<<<<<<< [^\n]*\n(?P<ours>(?s:.*?))(?:^\|{7} [^\n]*\n(?s:.*?))?^=======\r?\n",
            r"(?P<theirs>(?s:.*?))^>>>>>>> [^\n]*(?:\n|\z)",
        );
        Regex::new(pattern).expect("a test uses it")
    });
    if !text.contains("<<<<<<< ") {
        return Vec::new();
    }
    let code = code(text);
    let is_meant = |found: &Captures<'_>| {
        let all = found.get_match().range();
        !code.iter().any(|code| code.start <= all.start && all.end <= code.end)
    };
    CONFLICT.captures_iter(text).filter(is_meant).collect()
}

/// Whether a text has conflict markers that are meant.
pub(crate) fn has_conflict(text: &str) -> bool {
    !conflicts(text).is_empty()
}

/// The line of the first marker, from 1.
pub(super) fn first_mark(text: &str) -> Option<usize> {
    conflicts(text).first().map(|first| text[..first.get_match().start()].matches('\n').count() + 1)
}

/// Both sides of a text with conflict markers; `None` where it has none.
pub(crate) fn sides(text: &str) -> Option<Sides> {
    let found = conflicts(text);
    let with = |sides: &[&str]| {
        let (mut said, mut at) = (String::with_capacity(text.len()), 0);
        for conflict in &found {
            let all = conflict.get_match();
            said += &text[at..all.start()];
            sides.iter().for_each(|side| said += &conflict[*side]);
            at = all.end();
        }
        said + &text[at..]
    };
    (!found.is_empty()).then(|| Sides {
        ours: with(&["ours"]),
        theirs: with(&["theirs"]),
        both: with(&["ours", "theirs"]),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_a_conflict_from_a_note_about_conflicts() {
        let conflict = "<<<<<<< HEAD\nmine\n=======\ntheirs\n>>>>>>> branch\n";
        assert!(has_conflict(conflict));
        assert!(has_conflict(&format!("# Title\n\n{conflict}\nmore\n")));
        assert!(has_conflict("<<<<<<< HEAD\n```\n=======\n```\nx\n```\n>>>>>>> branch\n"));
        assert!(has_conflict(&format!("```\ncode\n```\n{conflict}")));
        for fine in [
            "a title\n=======\n",
            "<<<<<<< HEAD\n",
            "indented\n    <<<<<<< HEAD\n    =======\n    >>>>>>> branch\n",
            ">>>>>>> quoted\n=======\n<<<<<<< backwards\n",
            &format!("```text\n{conflict}```\nafter\n"),
            &format!("~~~\n{conflict}~~~\n"),
        ] {
            assert!(!has_conflict(fine), "{fine}");
        }
    }

    #[test]
    fn each_side_has_what_both_have_and_its_own() {
        let text = "# Plan\r\n<<<<<<< HEAD\nmine\n||||||| base\nold\n=======\ntheirs\n>>>>>>> b\nmiddle\n<<<<<<< HEAD\n=======\nnew\n>>>>>>> b\nend";
        let sides = sides(text).unwrap();
        assert_eq!(sides.ours, "# Plan\r\nmine\nmiddle\nend");
        assert_eq!(sides.theirs, "# Plan\r\ntheirs\nmiddle\nnew\nend");
        assert_eq!(sides.both, "# Plan\r\nmine\ntheirs\nmiddle\nnew\nend");
        assert_eq!(first_mark(text), Some(2));
        assert_eq!((super::sides("# Plan\n=======\n"), first_mark("")), (None, None));
    }
}
