//! What a merge left in a file for the person to decide: conflict markers, and the text of either side of them.

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

/// The conflicts of a text that are meant, each as the numbers of the lines of its four markers, from 0: in order, each at the start of a line.
/// Behind the second comes what both sides began with, as `merge.conflictStyle = diff3` gives it; without that it is the third. A whole conflict
/// inside one block of code is an example of one.
fn conflicts(text: &str) -> Vec<[usize; 4]> {
    let mut found = Vec::new();
    if !text.contains("<<<<<<< ") {
        return found;
    }
    let (mut fence, mut example): (Option<&str>, bool) = (None, false);
    let (mut first, mut base, mut middle) = (None, None, None);
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim();
        match fence {
            None => fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)),
            Some(mark) if bare.starts_with(mark) => {
                fence = None;
                if example {
                    (first, example) = (None, false);
                }
            }
            Some(_) => {}
        }
        match (first, middle) {
            (None, _) if line.starts_with("<<<<<<< ") => {
                (first, base, middle, example) = (Some(at), None, None, fence.is_some());
            }
            (Some(_), None) if base.is_none() && line.starts_with("||||||| ") => base = Some(at),
            (Some(_), None) if line == "=======" => middle = Some(at),
            (Some(begin), Some(middle)) if line.starts_with(">>>>>>> ") && !example => {
                found.push([begin, base.unwrap_or(middle), middle, at]);
                // What opens within a side of it is of that side.
                (first, fence) = (None, None);
            }
            _ => {}
        }
    }
    found
}

/// Whether a text has conflict markers that are meant.
pub(crate) fn has_conflict(text: &str) -> bool {
    !conflicts(text).is_empty()
}

/// The line of the first marker, from 1.
pub(super) fn first_mark(text: &str) -> Option<usize> {
    conflicts(text).first().map(|[first, ..]| first + 1)
}

/// Both sides of a text with conflict markers; `None` where it has none.
pub(crate) fn sides(text: &str) -> Option<Sides> {
    let found = conflicts(text);
    let mut sides = Sides { ours: String::new(), theirs: String::new(), both: String::new() };
    let mut next = 0;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        while found.get(next).is_some_and(|[.., last]| *last < at) {
            next += 1;
        }
        let (is_ours, is_theirs) = match found.get(next) {
            Some([first, base, middle, last]) if *first <= at => {
                (*first < at && at < *base, *middle < at && at < *last)
            }
            _ => (true, true),
        };
        for (has, side) in
            [(is_ours, &mut sides.ours), (is_theirs, &mut sides.theirs), (is_ours || is_theirs, &mut sides.both)]
        {
            side.push_str(if has { line } else { "" });
        }
    }
    (!found.is_empty()).then_some(sides)
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
