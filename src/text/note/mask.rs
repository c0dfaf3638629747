//! What the Markdown parser must not see: Obsidian's comments, and nesting that only hostile text has.

use super::parse::OPTIONS;
use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag};
use regex::{Captures, Regex};
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// A text of the same length and lines, in which comments are blank or `%`.
pub(super) struct Masked<'t> {
    pub(super) text: Cow<'t, str>,
    /// `%%…%%`, disjoint and in order.
    pub(super) comments: Vec<Range<usize>>,
    /// Where a `%%` alone on its line is never closed.
    pub(super) unclosed: Option<usize>,
}

/// Masks a text.
pub(super) fn mask(text: &str) -> Masked<'_> {
    comments(text, limit_nesting(line_feeds(text)))
}

/// A lone CR becomes LF: CommonMark lets it end a line, but pulldown-cmark closes no code fence before one.
fn line_feeds(text: &str) -> Cow<'_, str> {
    static ENDS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\r\n?").expect("a test uses it"));
    ENDS.replace_all(text, |end: &Captures<'_>| if end[0].len() == 2 { "\r\n" } else { "\n" })
}

/// Maximum number of times that the whole text is parsed to find its comments. One is enough unless a comment holds an opening fence,
/// which seems to hide what follows it until the comment is masked.
const MAX_PARSES: usize = 8;

/// A `%%` counts unless it is in code, math or HTML, and what opens one of those does not count in a comment. So: parse,
/// pair the `%%` outside of them, mask the pairs, and start again where a pair swallowed the start of one that outlives it.
fn comments<'t>(original: &'t str, text: Cow<'t, str>) -> Masked<'t> {
    let mut masked = Masked { text, comments: Vec::new(), unclosed: None };
    let mut from = 0;
    for parse in 1..=MAX_PARSES {
        if !original[from..].contains("%%") {
            break;
        }
        let opaque = opaque(&masked.text);
        let known = masked.comments.len();
        let resync = pair(original, &opaque, from, parse < MAX_PARSES, &mut masked);
        let new = &masked.comments[known..];
        if !new.is_empty() {
            masked.text = Cow::Owned(fill(original, masked.text.into_owned(), new));
        }
        match resync {
            Some(end) => from = end,
            None => break,
        }
    }
    masked
}

/// Pairs the `%%` from an offset on. Returns where to go on after another parse, if that is needed.
fn pair(text: &str, opaque: &[Range<usize>], from: usize, may_stop: bool, into: &mut Masked<'_>) -> Option<usize> {
    let find = |at: usize| text.get(at..).and_then(|rest| rest.find("%%")).map(|offset| at + offset);
    let mut at = from;
    let mut next = 0;
    while let Some(open) = find(at) {
        while opaque.get(next).is_some_and(|range| range.end <= open) {
            next += 1;
        }
        if let Some(range) = opaque.get(next).filter(|range| range.start <= open) {
            at = range.end;
            continue;
        }
        let Some(close) = find(open + 2) else {
            into.unclosed = has_own_lines(text, &(open..open + 2)).then_some(open);
            return None;
        };
        at = close + 2;
        into.comments.push(open..at);
        while opaque.get(next).is_some_and(|range| range.end <= at) {
            next += 1;
        }
        if may_stop && opaque.get(next).is_some_and(|range| range.start < at) {
            return Some(at);
        }
    }
    None
}

/// Code, math and HTML, in order.
fn opaque(text: &str) -> Vec<Range<usize>> {
    Parser::new_ext(text, OPTIONS)
        .into_offset_iter()
        .filter_map(|(event, range)| match event {
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) | Event::InlineHtml(_) => Some(range),
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => Some(range),
            _ => None,
        })
        .collect()
}

/// The places of code in a text, between fences or backticks, in their order. Tags and links are none here: what is in code was said as it is.
pub(crate) fn code(text: &str) -> Vec<Range<usize>> {
    let plain = text.replace(['<', '['], ".");
    let is_code =
        |event: &Event<'_>| matches!(event, Event::Code(_) | Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(_))));
    let plain = limit_nesting(line_feeds(&plain));
    Parser::new(&plain).into_offset_iter().filter(|(event, _)| is_code(event)).map(|(_, range)| range).collect()
}

/// A comment on lines of its own becomes blank. Beside other text it becomes `%`, which means nothing in Markdown, while
/// blanks would move the text and could make code of it.
fn fill(original: &str, text: String, comments: &[Range<usize>]) -> String {
    let mut bytes = text.into_bytes();
    for comment in comments {
        let own_lines = has_own_lines(original, comment);
        for byte in &mut bytes[comment.clone()] {
            *byte = match *byte {
                b'\n' | b'\r' | b' ' | b'\t' => *byte,
                _ if own_lines => b' ',
                _ => b'%',
            };
        }
    }
    // Whole characters were replaced by ASCII; and if not, the text as it is remains safe.
    String::from_utf8(bytes).unwrap_or_else(|_| original.to_owned())
}

/// Whether there are only blanks beside a span on its lines.
fn has_own_lines(text: &str, span: &Range<usize>) -> bool {
    let blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let line_end = |byte: Option<&u8>| byte.is_none_or(|byte| matches!(byte, b'\n' | b'\r'));
    let bytes = text.as_bytes();
    line_end(bytes[..span.start].iter().rev().find(|byte| !blank(byte)))
        && line_end(bytes[span.end..].iter().find(|byte| !blank(byte)))
}

/// Maximum bytes of list and quote markers and of indentation that a line may start with: 32 levels at 4 blanks.
const MAX_MARKERS: usize = 128;

/// Blunts list, quote and footnote markers past [`MAX_MARKERS`]. pulldown-cmark looks at every open container for every
/// line: 250,000 nested lists above 250,000 short lines, a file of 1 MB, take it three minutes.
fn limit_nesting(text: Cow<'_, str>) -> Cow<'_, str> {
    static MARKERS: LazyLock<Regex> = LazyLock::new(|| {
        let pattern = r"\A(?:[ \t]|>|(?:[-*+]|[0-9]{1,9}[.)])(?:[ \t\r\n]|\z)|\[\^[^\]\r\n]*\]:)*";
        Regex::new(pattern).expect("a test uses it")
    });
    let lines = || text.split_inclusive(['\n', '\r']);
    let markers = |line: &str| match line.len() > MAX_MARKERS {
        true => MARKERS.find(line).map_or(0, |markers| markers.end()),
        false => 0,
    };
    if !lines().any(|line| markers(line) > MAX_MARKERS) {
        return text;
    }
    let mut blunt = String::with_capacity(text.len());
    for line in lines() {
        let end = markers(line);
        let from = line.floor_char_boundary(end.min(MAX_MARKERS));
        blunt += &line[..from];
        blunt.extend(
            line[from..end].bytes().map(|byte| if byte.is_ascii_whitespace() { char::from(byte) } else { '.' }),
        );
        blunt += &line[end..];
    }
    blunt.into()
}
