//! Finds what a merge left in a file for the person to decide.

/// Whether a text has conflict markers that are meant: the three of them, in order, each at the start of a line. A whole
/// conflict inside one block of code is an example of one.
pub(super) fn has_conflict(text: &str) -> bool {
    let (mut fence, mut stage, mut example): (Option<&str>, u8, bool) = (None, 0, false);
    for line in text.lines() {
        let bare = line.trim();
        match fence {
            None => fence = ["```", "~~~"].into_iter().find(|mark| bare.starts_with(mark)),
            Some(mark) if bare.starts_with(mark) => {
                fence = None;
                if example {
                    (stage, example) = (0, false);
                }
            }
            Some(_) => {}
        }
        match stage {
            0 if line.starts_with("<<<<<<< ") => (stage, example) = (1, fence.is_some()),
            1 if line == "=======" => stage = 2,
            2 if line.starts_with(">>>>>>> ") && !example => return true,
            _ => {}
        }
    }
    false
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
}
