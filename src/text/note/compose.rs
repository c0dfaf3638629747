//! Writes a note's text, the reverse of reading it, and a turn of a conversation. What is said there is text, and stays text: whatever it holds,
//! it is one turn, and tags nothing.

use jiff::Zoned;
use jiff::civil::Date;
use serde_json::{Map, Value};

use super::untagged;

/// A note with frontmatter in the order given, and a body that begins after a blank line and ends with a new line. What the
/// body holds stays in the body, whatever it looks like.
pub(crate) fn compose(frontmatter: &Map<String, Value>, body: &str) -> String {
    let yaml = serde_yaml::to_string(frontmatter).expect("JSON is YAML");
    let body = body.trim_start_matches('\n').trim_end();
    format!("---\n{yaml}---\n\n{body}\n")
}

/// Marks a file that is private because what was captured before under its name is. The person may make it `true`, or take it
/// out.
pub(crate) const INHERITED: &str = "inherited";
/// The key of frontmatter with which a person makes a note private.
pub(crate) const PRIVATE: &str = "private";

/// The frontmatter of a new file, private if what it goes on with is.
pub(crate) fn kept_private(mut front: Map<String, Value>, private: bool) -> Map<String, Value> {
    if private {
        front.insert(PRIVATE.into(), INHERITED.into());
    }
    front
}

/// A time as it stands in frontmatter: with its offset, to the second.
pub(crate) fn written(at: &Zoned) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// A title for a text: its first line that says something, without what Markdown puts around it, cut at a word.
pub(crate) fn title_of(text: &str, otherwise: &str) -> String {
    const MAX: usize = 60;
    let bare = |line: &str| {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        line.trim_matches(['#', '>', '-', '*', '`', '|', ' ']).to_owned()
    };
    let line = text.lines().map(bare).find(|line| line.chars().any(char::is_alphanumeric));
    cut_at_word(line.as_deref().unwrap_or(otherwise), MAX)
}

/// A text of one line, cut at a word where it has more than so many characters and most of them are left.
pub(crate) fn cut_at_word(line: &str, max: usize) -> String {
    let Some((end, _)) = line.char_indices().nth(max) else { return line.to_owned() };
    let words = line[..end].rfind(' ').filter(|at| at * 2 > end);
    format!("{}…", line[..words.unwrap_or(end)].trim_end())
}

/// A turn: `**18:32 · Maya:** text`, with the date before the time where that is not `file_date`. What is more than a line is quoted below
/// that, so that its headings, fences, rules and comments end with the quote.
pub(crate) fn turn_block(speaker: &str, text: &str, at: &Zoned, file_date: Date) -> String {
    let time = if at.date() == file_date { at.strftime("%H:%M") } else { at.strftime("%Y-%m-%d %H:%M") };
    let speaker = plain(speaker);
    let text = guarded(text);
    // Some text can follow the speaker on the same line.
    if !text.contains('\n') && !text.starts_with([' ', '\t']) {
        return untagged(&format!("**{time} · {speaker}:** {text}"), 0);
    }
    let quoted: String = text
        .lines()
        .map(|line| if line.trim().is_empty() { "\n>".to_owned() } else { format!("\n> {line}") })
        .collect();
    untagged(&format!("**{time} · {speaker}:**{quoted}"), 0)
}

/// A speaker's name, without what would end the bold text or begin something else.
fn plain(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if matches!(c, '#' | '*' | '`' | '<' | '>' | '[' | ']' | '\\' | '%' | '$') { ' ' } else { c })
        .collect();
    let plain = plain.split_whitespace().collect::<Vec<_>>().join(" ");
    if plain.is_empty() { "?".into() } else { plain }
}

/// With a backslash in what would begin a comment and hide text, here or in what follows: `%\%`, `<\!--`. Markdown shows the
/// text as it was, and taking one backslash out of each gives it back.
pub(crate) fn guarded(text: &str) -> String {
    let mut guarded = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        guarded.push(first);
        rest = &rest[first.len_utf8()..];
        let closes = match first {
            '%' => "%",
            '<' => "!--",
            _ => continue,
        };
        if rest.trim_start_matches('\\').starts_with(closes) {
            guarded.push('\\');
        }
    }
    guarded
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::note::Note;

    #[test]
    fn titles_come_from_the_first_line_that_says_something() {
        for (text, title) in [
            ("\n\n## A\theading\ntext", "A heading"),
            ("```rust\nfn main() {}\n```", "rust"),
            ("***\n---\n", "Snippet"),
            (&"word ".repeat(40), "word word word word word word word word word word word word…"),
        ] {
            assert_eq!(title_of(text, "Snippet"), title);
        }
    }

    #[test]
    fn what_is_composed_is_read_again() {
        let frontmatter = json!({
            "title": "a: \"quoted\" # title\n---\nprivate: true", "tags": ["one", "yes", "007"], "n": 3, "deep": {"list": [null, 1.5]},
        });
        let frontmatter = frontmatter.as_object().unwrap();
        for body in ["plain", "---\nprivate: true\n---\nx", "# Heading\n\n```\nopen fence", "+++\na = 1\n+++"] {
            let text = compose(frontmatter, body);
            let note = Note::parse(&text, "stem");
            assert_eq!(&note.metadata, frontmatter);
            assert_eq!(text[note.body.clone()].trim(), body);
            assert_eq!(note.problems, [], "{text}");
        }
    }
}
