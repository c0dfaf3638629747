//! What a file of an agent's memory says after a change. Pure.
//!
//! Whatever an agent writes is text of the body: the frontmatter is the person's, and stays as it was to the byte. What would hide
//! the file from its agent, or the text from every search, is refused.

use std::ops::Range;

use serde_json::{Map, Value};

use crate::text::note::{Note, compose};

/// Why a change is not made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum EditError {
    /// The agent could not read it any more.
    #[error(
        "this would make the file private, and you could no longer read it: leave out the tag `#private`, and text that \
         looks like private frontmatter"
    )]
    Private,
    /// No search would find it.
    #[error("a comment (`%%` or `<!--`), in this text or in the file, is not closed, and would hide text of the file")]
    Hidden,
    /// Text would become frontmatter.
    #[error("the rest would begin with text that looks like frontmatter; replace the text of the whole file instead")]
    Frontmatter,
    /// The text is not there.
    #[error("the text is not in the file; it must match exactly")]
    Absent,
    /// The text is there more than once.
    #[error("the text occurs {0} times in the file; give more of it, or `all_matches`")]
    Ambiguous(usize),
}

/// A word that comes after a text, to see whether that hides it.
const PROBE: &str = "probe";

/// The text of a file with content at its end, or in place of its body. `made` is what the frontmatter says where there must be some to
/// keep the content out of it.
pub(super) fn with_content(
    existing: Option<&str>,
    content: &str,
    append: bool,
    made: &Map<String, Value>,
) -> Result<String, EditError> {
    let content = content.trim_start_matches(['\u{feff}', '\n']).trim_end();
    let existing = existing.unwrap_or_default();
    let old = Note::parse(existing, "");
    let end = if existing.contains("\r\n") { "\r\n" } else { "\n" };
    let kept = if append { existing } else { &existing[..old.body.start] };
    let kept = kept.trim_end_matches(['\r', '\n']);
    let content = format!("{content}\n").replace('\n', end);
    let text = match kept.trim_start_matches('\u{feff}').is_empty() {
        false => format!("{kept}{end}{end}{content}"),
        // Nothing is above it: it must not begin as frontmatter does.
        true if begins_as_frontmatter(&content) => compose(made, &content).replace("\r\n", "\n").replace('\n', end),
        true => format!("{kept}{content}"),
    };
    let note = Note::parse(&text, "");
    if existing[..old.body.start].trim_start_matches('\u{feff}').is_empty() {
        let composed = note.metadata == *made;
        if !composed && !text[..note.body.start].trim_start_matches('\u{feff}').is_empty() {
            return Err(EditError::Frontmatter);
        }
    } else if text.get(..old.body.start) != existing.get(..old.body.start) && note.metadata != old.metadata {
        return Err(EditError::Frontmatter);
    }
    if note.is_private() {
        return Err(EditError::Private);
    }
    // What is there stays to be seen, what is new is seen, and so will be what comes after it.
    let probed = format!("{text}{end}{PROBE}{end}");
    let after = Note::parse(&probed, "");
    let seen = |from: usize, to: usize| after.visible(&probed, from..to.max(from)).trim().to_owned();
    let stays = if append { kept.len().max(note.body.start) } else { note.body.start };
    let same =
        stays == note.body.start || seen(old.body.start, stays) == old.visible(existing, old.body.clone()).trim();
    // An HTML comment that is never closed is no secret to a search, and hides all below it from who reads the rendered file.
    let closed = after.problems.len() <= old.problems.len();
    if closed && same && !seen(stays, text.len()).is_empty() && seen(stays, probed.len()).ends_with(PROBE) {
        Ok(text)
    } else {
        Err(EditError::Hidden)
    }
}

fn begins_as_frontmatter(content: &str) -> bool {
    let note = Note::parse(content, "");
    note.body.start > 0 || content.starts_with("---") || content.starts_with("+++") || content.starts_with('\u{feff}')
}

/// A file without a text of its body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Without {
    /// What stays.
    pub text: String,
    /// How often it was there.
    pub matches: usize,
    /// Whether nothing is left of the file, frontmatter included.
    pub empty: bool,
}

/// The file without a text, which must stand in its body as it is given; lines that are all of it go with their ends.
pub(super) fn without_text(existing: &str, text: &str, all: bool) -> Result<Without, EditError> {
    let note = Note::parse(existing, "");
    let body = note.body.start;
    let plain = text.replace("\r\n", "\n");
    let spelled = [text.to_owned(), plain.clone(), plain.replace('\n', "\r\n")];
    let found = spelled.iter().map(|text| occurrences(existing, body, text)).find(|found| !found.is_empty());
    let found = found.ok_or(EditError::Absent)?;
    if found.len() > 1 && !all {
        return Err(EditError::Ambiguous(found.len()));
    }
    let mut left = existing.to_owned();
    for span in found.iter().rev() {
        // What went below may have taken blank lines along that this one ends with.
        let span = span.start..span.end.min(left.len());
        left.replace_range(whole_lines(&left, body, &span), "");
    }
    checked(existing, &note, left).map(|(text, empty)| Without { text, matches: found.len(), empty })
}

/// The text of a file after a part of its body was taken out, unless that made frontmatter of what follows, or hides it.
pub(super) fn checked(existing: &str, note: &Note, left: String) -> Result<(String, bool), EditError> {
    let after = Note::parse(&left, "");
    if left[..after.body.start] != existing[..note.body.start] {
        return Err(EditError::Frontmatter);
    }
    if after.is_private() {
        return Err(EditError::Private);
    }
    let empty = left.trim_start_matches('\u{feff}').trim().is_empty();
    Ok((left, empty))
}

fn occurrences(text: &str, from: usize, wanted: &str) -> Vec<Range<usize>> {
    if wanted.trim().is_empty() {
        return Vec::new();
    }
    text[from..].match_indices(wanted).map(|(at, found)| from + at..from + at + found.len()).collect()
}

/// A span, with the end of its last line when it is all of its lines; of blank lines on both sides only those above stay.
fn whole_lines(text: &str, body: usize, span: &Range<usize>) -> Range<usize> {
    let above = text[body..span.start].trim_end_matches([' ', '\t']);
    let starts_line = above.is_empty() || above.ends_with('\n');
    let below = text[span.end..].trim_start_matches([' ', '\t']);
    let ends_line = text[..span.end].ends_with('\n') || below.is_empty() || below.starts_with(['\n', '\r']);
    if !starts_line || !ends_line {
        return span.clone();
    }
    let blank = |text: &str| text.is_empty() || text.ends_with("\n\n") || text.ends_with("\n\r\n");
    let mut start = body + above.len();
    let mut end = span.end;
    if !text[..span.end].ends_with('\n') {
        end = text.len() - below.len();
        end += text[end..].len() - text[end..].trim_start_matches('\r').len();
        end += usize::from(text[end..].starts_with('\n'));
    }
    if text[end..].trim().is_empty() {
        // It was the last: the line above it is the last now.
        let kept = above.trim_end();
        let line_end = above[kept.len()..].find('\n').filter(|_| !kept.is_empty());
        start = body + kept.len() + line_end.map_or(0, |at| at + 1);
        end = text.len();
    } else if blank(above) {
        end += text[end..].len() - text[end..].trim_start_matches(['\n', '\r']).len();
    }
    start..end
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn made() -> Map<String, Value> {
        json!({"created": "2026-01-05"}).as_object().cloned().unwrap()
    }

    fn saved(existing: &str, content: &str) -> Result<String, EditError> {
        with_content(Some(existing), content, true, &made())
    }

    fn put(existing: &str, content: &str) -> Result<String, EditError> {
        with_content(Some(existing), content, false, &made())
    }

    #[test]
    fn texts_come_below_each_other() {
        assert_eq!(with_content(None, "one\n\n", true, &made()).unwrap(), "one\n");
        assert_eq!(saved("one\n", "two").unwrap(), "one\n\ntwo\n");
        assert_eq!(saved("one", "\ntwo").unwrap(), "one\n\ntwo\n");
        assert_eq!(saved("a: 1\r\n", "two\nthree").unwrap(), "a: 1\r\n\r\ntwo\r\nthree\r\n");
        assert_eq!(saved("", "two").unwrap(), "two\n");
        assert_eq!(put("one\n", "two").unwrap(), "two\n");
    }

    #[test]
    fn the_persons_frontmatter_stays() {
        let head = "\u{feff}---\ntitle: Mine # so\nbase: &b [1]\n---\n";
        assert_eq!(saved(&format!("{head}one\n"), "two").unwrap(), format!("{head}one\n\ntwo\n"));
        assert_eq!(put(&format!("{head}\none\n"), "two").unwrap(), format!("{head}\ntwo\n"));
        assert_eq!(put(head, "---\nprivate: false\n---\n").unwrap(), format!("{head}\n---\nprivate: false\n---\n"));
        assert_eq!(without_text(&format!("{head}Mine\n"), "Mine", false).unwrap().text, head);
        assert_eq!(without_text(&format!("{head}one\n"), "title: Mine", false), Err(EditError::Absent));
    }

    #[test]
    fn nothing_becomes_frontmatter() {
        for content in [
            "---\ntitle: injected\n---\ntext",
            "+++\ntitle = \"injected\"\n+++\ntext",
            "\u{feff}---\ntitle: injected\n---\ntext",
            "\u{feff}\u{feff}\n---\ntitle: injected\n---\ntext",
            "---\nunclosed: yes\ntext",
            "--- \ntitle: injected\n--- \ntext",
        ] {
            for text in [
                with_content(None, content, true, &made()),
                saved("\n", content),
                saved("\u{feff}", content),
                put("old", content),
            ] {
                let text = text.unwrap();
                let note = Note::parse(&text, "stem");
                assert_eq!(note.title, "stem", "{text}");
                assert!(!note.is_private() && text[note.body.clone()].contains("text"), "{text}");
                assert!(note.metadata.is_empty() || note.metadata == made(), "{text}");
            }
        }
        assert_eq!(without_text("x\n---\na: 1\n---\ny\n", "x", false), Err(EditError::Frontmatter));
    }

    #[test]
    fn what_would_hide_a_file_or_a_text_is_refused() {
        for content in ["a #private b", "tags: #private/x", "<!-- #private -->\n\nx", "%% #private %%\n\nx"] {
            assert_eq!(with_content(None, content, true, &made()), Err(EditError::Private), "{content}");
            assert_eq!(saved("# Memory\n\n- one\n", content), Err(EditError::Private), "{content}");
        }
        // It says so where it does not count.
        for existing in ["", "one\n", "---\ntitle: T\n---\n"] {
            let text = saved(existing, "---\nprivate: true\n---\nx").unwrap();
            assert!(!Note::parse(&text, "").is_private(), "{text}");
        }
        for content in ["<!-- open", "%% all of it %%", "ok\n\n<!-- open"] {
            assert_eq!(saved("one\n", content), Err(EditError::Hidden), "{content}");
        }
        assert_eq!(saved("one\n\n%%\n\ntwo\n", "%%"), Err(EditError::Hidden));
        assert_eq!(saved("one\n\n<!-- two\n", "three -->"), Err(EditError::Hidden));
        assert!(saved("one\n\n<!-- two\n", "three").is_ok(), "it is the person's to close");
        assert_eq!(saved("one\n\n%%\n\ntwo\n", "%% and then a text that is longer"), Err(EditError::Hidden));
        assert!(saved("one\n\n%% said %%\n", "two %% three").is_ok());
        assert!(saved("one\n", "```\ncode\n```").is_ok());
    }

    #[test]
    fn a_text_goes_and_the_others_stay() {
        let without = |existing: &str, text: &str| without_text(existing, text, false).map(|left| left.text);
        assert_eq!(without("- one\n- two\n- three\n", "- two").unwrap(), "- one\n- three\n");
        assert_eq!(without("- one\n- two\n", "- two\n").unwrap(), "- one\n");
        assert_eq!(without("one two three\n", " two").unwrap(), "one three\n");
        assert_eq!(without("one\n\ntwo\n\nthree\n", "two").unwrap(), "one\n\nthree\n");
        assert_eq!(without("one\r\n\r\ntwo\r\nmore\r\n\r\nthree\r\n", "two\nmore").unwrap(), "one\r\n\r\nthree\r\n");
        assert_eq!(without("two\n\nthree", "two").unwrap(), "three");
        assert_eq!(without("one\r\n\r\ntwo\r\n\r\n", "two").unwrap(), "one\r\n");
        assert_eq!(without("one\n\ntwo\n", "one\n\ntwo\n").unwrap(), "");
        assert_eq!(without("one", "two"), Err(EditError::Absent));
        assert_eq!(without("one", " \n"), Err(EditError::Absent));
        assert_eq!(without("a b a", "a"), Err(EditError::Ambiguous(2)));
        let all = without_text("- a\n- b\n- a\n", "- a", true).unwrap();
        assert_eq!((all.text.as_str(), all.matches, all.empty), ("- b\n", 2, false));
        for (existing, text) in [("a\n\na\n", "a"), ("a\n\na\n\n", "a\n\n"), ("a a\n", "a")] {
            assert!(without_text(existing, text, true).unwrap().empty, "{existing:?}");
        }
        assert_eq!(without_text("x  \n\na\n\na\n", "a", true).unwrap().text, "x  \n");
        assert!(without_text("\u{feff}a\n", "a", false).unwrap().empty);
        assert!(!without_text("---\nt: 1\n---\na\n", "a", false).unwrap().empty);
    }
}
