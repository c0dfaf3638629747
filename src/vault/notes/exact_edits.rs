//! Exact edits of a note's text: what each replaces stands there once. Pure.

use std::collections::HashSet;
use std::ops::Range;

use crate::serve::wire::TextEdit;
use crate::text::derive::Label;
use crate::text::note::{Note, has_scheme};

/// An edit that cannot be made: which of them, from 0, and how often what it replaces is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct MisplacedEdit {
    pub(super) at: usize,
    pub(super) times: usize,
}

/// Where a text stands in another, as it is or with the line ends of the other.
///
/// # Errors
/// How often it is there, if not once.
pub(super) fn place(text: &str, old: &str) -> Result<Range<usize>, usize> {
    let with_ends = with_ends_of(text, old);
    let old: &str = if text.contains(old) { old } else { &with_ends };
    let Some(first) = text.find(old).filter(|_| !old.is_empty()) else { return Err(0) };
    let next = first + old.chars().next().map_or(1, char::len_utf8);
    // Two places may overlap.
    match text[next..].contains(old) {
        true => Err(text.matches(old).count().max(2)),
        false => Ok(first..first + old.len()),
    }
}

/// A text with the line ends that another has.
fn with_ends_of(text: &str, new: &str) -> String {
    if text.contains("\r\n") { new.replace("\r\n", "\n").replace('\n', "\r\n") } else { new.to_owned() }
}

/// The text after all of the edits; each is of the text as it is.
///
/// # Errors
/// Which edit cannot be made.
pub(super) fn with_edits(text: &str, edits: &[TextEdit]) -> Result<String, MisplacedEdit> {
    let span = |(at, edit): (usize, &TextEdit)| match place(text, &edit.old) {
        Ok(span) => Ok((span, at)),
        Err(times) => Err(MisplacedEdit { at, times }),
    };
    let mut spans = edits.iter().enumerate().map(span).collect::<Result<Vec<_>, _>>()?;
    spans.sort_by_key(|(span, _)| span.start);
    if let Some(over) = spans.windows(2).find(|pair| pair[1].0.start < pair[0].0.end) {
        // The one before it takes its text away.
        return Err(MisplacedEdit { at: over[1].1, times: 0 });
    }
    let mut edited = text.to_owned();
    for (span, at) in spans.into_iter().rev() {
        edited.replace_range(span, &with_ends_of(text, &edits[at].new));
    }
    Ok(edited)
}

/// The text with another in lines of their own at its end; with a heading, at the end of what stands below that and above the next one.
///
/// # Errors
/// How many headings there are of that name, if not one.
pub(super) fn with_lines(text: &str, new: &str, heading: Option<&str>) -> Result<String, usize> {
    let end = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let note = Note::parse(text, "");
    let mut at = text.len();
    if let Some(named) = heading {
        let named = named.trim_start_matches('#').trim();
        let found: Vec<usize> = (0..note.headings.len()).filter(|at| note.headings[*at].text.trim() == named).collect();
        let [one] = found[..] else { return Err(found.len()) };
        let next = note.headings.get(one + 1).map_or(text.len(), |next| next.span.start);
        at = text[..next].trim_end().len();
    }
    let (before, after) = text.split_at(at);
    let begins = before.is_empty() || before.ends_with('\n');
    let new = with_ends_of(text, new.trim_end_matches(['\r', '\n']));
    let (start, stop) = (if begins { "" } else { end }, if after.is_empty() { end } else { "" });
    Ok(format!("{before}{start}{new}{stop}{after}"))
}

/// Why an agent may not make a note say this, if so: what others may see, and what is read as what, stays the owner's to change.
pub(super) fn refusal(before: &str, after: &str) -> Option<&'static str> {
    let (was, is) = (Note::parse(before, ""), Note::parse(after, ""));
    let documents = |note: &Note| -> HashSet<Label> {
        let links = note.links.iter().filter(|link| !has_scheme(&link.target));
        links.filter_map(|link| Label::of_document_link(&link.target)).collect()
    };
    let marks = |text: &str| ["%%", "<!--", "-->"].map(|mark| text.matches(mark).count());
    if before[..was.body.start] != after[..is.body.start] || was.metadata != is.metadata {
        Some("the frontmatter is the owner's to change")
    } else if is.is_private() && !was.is_private() {
        Some("it would make the note private")
    } else if !was.tags_missing_in(&is).is_empty() {
        Some("it would remove a tag, which may hide the note from somebody")
    } else if marks(before) != marks(after) {
        Some("it would begin or end a comment (`%%` or `<!--`)")
    } else if !documents(&is).is_subset(&documents(&was)) {
        Some("it would link to another attachment, which may be hidden")
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(old: &str, new: &str) -> TextEdit {
        TextEdit { old: old.into(), new: new.into() }
    }

    #[test]
    fn what_is_replaced_stands_there_once() {
        assert_eq!(with_edits("one two three", &[edit("three", "3"), edit("one", "1")]).unwrap(), "1 two 3");
        assert_eq!(with_edits("one\r\ntwo\r\n", &[edit("one\ntwo", "1\n2")]).unwrap(), "1\r\n2\r\n");
        for (text, edits, at, times) in [
            ("one two", &[edit("two", "2"), edit("four", "4")][..], 1, 0),
            ("one one", &[edit("one", "1")], 0, 2),
            ("aaa", &[edit("aa", "b")], 0, 2),
            ("one two", &[edit("", "x")], 0, 0),
            ("one two three", &[edit("two three", "x"), edit("one two", "y")], 0, 0),
        ] {
            assert_eq!(with_edits(text, edits), Err(MisplacedEdit { at, times }), "{text}");
        }
    }

    #[test]
    fn lines_go_to_the_end_or_below_a_heading() {
        let note = "# A\n\none\n\n## B\n\n# C\n";
        assert_eq!(with_lines(note, "two\n", None).unwrap(), format!("{note}two\n"));
        assert_eq!(with_lines(note, "two", Some("A")).unwrap(), "# A\n\none\ntwo\n\n## B\n\n# C\n");
        assert_eq!(with_lines(note, "two", Some("## B")).unwrap(), "# A\n\none\n\n## B\ntwo\n\n# C\n");
        assert_eq!(with_lines("# A", "two", Some("A")).unwrap(), "# A\ntwo\n");
        assert_eq!(with_lines("a\r\nb", "two\nthree", None).unwrap(), "a\r\nb\r\ntwo\r\nthree\r\n");
        assert_eq!((with_lines(note, "x", Some("D")), with_lines("# A\n# A\n", "x", Some("A"))), (Err(0), Err(2)));
    }

    #[test]
    fn what_others_may_see_stays_as_it_is() {
        let note = "---\ntags: [work]\n---\n# A\n\nText #health, [[a.pdf]].\n";
        assert_eq!(refusal(note, &note.replace("Text", "Words")), None);
        assert_eq!(refusal(note, &format!("{note}[x](https://a.b/c.pdf) [[other]]\n")), None);
        for (after, why) in [
            (note.replace("work", "play"), "frontmatter"),
            (format!("{note}#private\n"), "private"),
            (note.replace("#health", "health"), "tag"),
            (format!("{note}%% and so on\n"), "comment"),
            (format!("{note}![[b.pdf]]\n"), "attachment"),
        ] {
            assert!(refusal(note, &after).is_some_and(|said| said.contains(why)), "{after}");
        }
        assert!(refusal("", "---\nprivate: false\n---\nx\n").is_some(), "text becomes no frontmatter");
        assert!(refusal("x\n", "---\na: 1\n---\nx\n").is_some());
    }
}
