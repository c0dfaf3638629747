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

/// Where a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Outside,
    Ours,
    /// What both began with, as `merge.conflictStyle = diff3` gives it; of neither side.
    Base,
    Theirs,
}

/// The conflicts of a text that are meant, each as the numbers of its first and last line, from 0: the markers in order, each at the start of a
/// line. A whole conflict inside one block of code is an example of one.
fn conflicts(text: &str) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    if !text.contains("<<<<<<< ") {
        return found;
    }
    let (mut fence, mut stage, mut example, mut first): (Option<&str>, _, bool, usize) =
        (None, Stage::Outside, false, 0);
    for (at, line) in text.lines().enumerate() {
        let bare = line.trim();
        match fence {
            None => fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)),
            Some(mark) if bare.starts_with(mark) => {
                fence = None;
                if example {
                    (stage, example) = (Stage::Outside, false);
                }
            }
            Some(_) => {}
        }
        match stage {
            Stage::Outside if line.starts_with("<<<<<<< ") => {
                (stage, example, first) = (Stage::Ours, fence.is_some(), at)
            }
            Stage::Ours if line.starts_with("||||||| ") => stage = Stage::Base,
            Stage::Ours | Stage::Base if line == "=======" => stage = Stage::Theirs,
            Stage::Theirs if line.starts_with(">>>>>>> ") && !example => {
                found.push((first, at));
                // What opens within a side of it is of that side.
                (stage, fence) = (Stage::Outside, None);
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
    conflicts(text).first().map(|(first, _)| first + 1)
}

/// Both sides of a text with conflict markers; `None` where it has none.
pub(crate) fn sides(text: &str) -> Option<Sides> {
    let found = conflicts(text);
    let mut sides = Sides { ours: String::new(), theirs: String::new(), both: String::new() };
    let mut within = found.iter().copied().peekable();
    let mut stage = Stage::Outside;
    for (at, line) in text.split_inclusive('\n').enumerate() {
        let bare = line.trim_end_matches(['\r', '\n']);
        while within.peek().is_some_and(|(_, last)| *last < at) {
            within.next();
        }
        let Some((first, last)) = within.peek().copied().filter(|(first, _)| *first <= at) else {
            [&mut sides.ours, &mut sides.theirs, &mut sides.both].into_iter().for_each(|side| side.push_str(line));
            continue;
        };
        match stage {
            _ if at == first => stage = Stage::Ours,
            _ if at == last => stage = Stage::Outside,
            Stage::Ours if bare.starts_with("||||||| ") => stage = Stage::Base,
            Stage::Ours | Stage::Base if bare == "=======" => stage = Stage::Theirs,
            Stage::Ours => [&mut sides.ours, &mut sides.both].into_iter().for_each(|side| side.push_str(line)),
            Stage::Theirs => [&mut sides.theirs, &mut sides.both].into_iter().for_each(|side| side.push_str(line)),
            Stage::Base | Stage::Outside => {}
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
