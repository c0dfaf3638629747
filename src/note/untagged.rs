//! Markdown without tags: what others wrote is not to tag, or hide, the note it is put into.

use super::tags::TagSet;
use super::{Lines, body};

/// Maximum number of rounds. More are never needed but by hostile text, in which one backslash may begin what the next is in.
const ROUNDS: usize = 4;

/// Markdown in which no `#` from an offset on begins a tag, certain or doubtful: a backslash goes before each that would.
/// Markdown shows the text as it was. Code has no tags, and stays as it is.
pub(crate) fn untagged(markdown: &str, from: usize) -> String {
    let mut text = markdown.to_owned();
    for _ in 0..ROUNDS {
        let hashes = hashes(&text, from);
        if hashes.is_empty() {
            return text;
        }
        text = escaped(&text, &hashes);
    }
    let all: Vec<usize> = text.match_indices('#').map(|(at, _)| at).filter(|at| *at >= from).collect();
    escaped(&text, &all)
}

fn hashes(text: &str, from: usize) -> Vec<usize> {
    if !text.get(from..).is_some_and(|rest| rest.contains('#')) {
        return Vec::new();
    }
    let mut hashes = body::read(text, 0, &Lines::new(text), &mut TagSet::default()).hashes;
    hashes.retain(|at| *at >= from);
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}

fn escaped(text: &str, hashes: &[usize]) -> String {
    let mut escaped = String::with_capacity(text.len() + hashes.len());
    let mut start = 0;
    for at in hashes {
        escaped.push_str(&text[start..*at]);
        escaped.push('\\');
        start = *at;
    }
    escaped.push_str(&text[start..]);
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::chance::proptest_config;
    use crate::note::Note;

    #[test]
    fn what_would_be_a_tag_is_none_and_all_else_stays() {
        for (text, expected) in [
            ("a #private b", "a \\#private b"),
            ("#a/b, (#c) *#d*", "\\#a/b, (\\#c) *\\#d*"),
            ("# Heading\n\n`#code` C# #1 https://x/#y", "# Heading\n\n`#code` C# #1 https://x/#y"),
            ("```\n#include <x>\n```", "```\n#include <x>\n```"),
            ("<https://x.org/?a=#private> [[#private]]", "<https://x.org/?a=#private> [[#private]]"),
            ("x.#private $#private$ <b id=\"#private\">", "x.\\#private $\\#private$ <b id=\"\\#private\">"),
            ("\\#a \\\\#a", "\\#a \\\\#a"),
            ("plain", "plain"),
        ] {
            assert_eq!(untagged(text, 0), expected);
        }
        assert_eq!(untagged("#mine\n\n#theirs", 5), "#mine\n\n\\#theirs");
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn nothing_is_a_tag_any_more(text in "([#a-z\\\\ \\n`$%<>!*_\\[\\]()|.:/-]|#private|<!--|-->|%%|```){0,40}") {
            let text = untagged(&text, 0);
            let note = Note::parse(&format!("---\nx: 1\n---\n\n{text}\n"), "");
            prop_assert!(note.tags.is_empty() && note.doubtful.is_empty() && !note.is_private(), "{text:?} {:?}", note);
            prop_assert_eq!(untagged(&text, 0), text);
        }
    }
}
