//! A turn of a conversation as Markdown. What is said is text, and stays text: whatever it holds, it is one turn, and tags nothing.

use gray_matter::Pod;
use jiff::Zoned;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

use super::untagged;

/// A turn: `**18:32 · Maya:** text`, with the date before the time where that is not `file_date`. What is more than a line is quoted below
/// that, so that its headings, fences, rules and comments end with the quote.
pub(crate) fn turn_block(speaker: &str, text: &str, at: &Zoned, file_date: Date) -> String {
    let time = if at.date() == file_date { at.strftime("%H:%M") } else { at.strftime("%Y-%m-%d %H:%M") };
    let speaker = plain(speaker);
    let text = guarded(text);
    if is_plain_line(&text) {
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

/// Whether a text can follow the speaker on the same line.
fn is_plain_line(text: &str) -> bool {
    !text.contains('\n') && !text.starts_with([' ', '\t'])
}

/// What a block of frontmatter turned out to be.
///
/// An engine hands it to gray_matter as JSON text, because gray_matter's own value (`Pod`) loses the order of keys and
/// integers past `i64`, and its error has no line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ParsedBlock {
    Mapping(Map<String, Value>),
    /// Valid, but not key and value: prose between two thematic breaks, a list.
    NotMapping,
    Duplicate(String),
    Invalid {
        line: Option<usize>,
        message: String,
    },
}

pub(super) fn hand_over(outcome: &ParsedBlock) -> gray_matter::Result<Pod> {
    serde_json::to_string(outcome)
        .map(Pod::String)
        .map_err(|error| gray_matter::Error::DeserializeError(error.to_string()))
}

/// JSON has no NaN and no infinity: their names, so that they are not taken for nothing.
pub(super) fn from_float(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| Value::String(number.to_string()), Value::Number)
}
