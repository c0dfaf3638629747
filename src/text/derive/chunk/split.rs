//! Splits a block that is longer than a chunk should be: at lines or sentences, then words, then characters; and knows those that say nothing by
//! themselves: anchors, link definitions, embeds, rules, marks without a word.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

use super::chunker::cuts;
use super::id::{TokenTally, token_estimate};
use crate::text::derive::said::sentence_bounds;
use crate::text::note::BlockKind;

/// About what a chunk should hold at most, in tokens.
pub(super) const TARGET: usize = 128;
/// What is embedded of a chunk never exceeds this: the length small embedding models were trained on.
pub(super) const LIMIT: usize = 256;

/// A stretch of text that is not cut further.
#[derive(Debug, Clone)]
pub(super) struct Piece {
    pub span: Range<usize>,
    pub tokens: usize,
    pub key: u64,
    /// Whether it says nothing by itself.
    pub noise: bool,
}

impl Piece {
    pub(super) fn new(source: &str, span: Range<usize>) -> Self {
        let text = &source[span.clone()];
        let digest = blake3::hash(text.trim().as_bytes());
        let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
        let key = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        Self { tokens: token_estimate(text), key, noise: !has_letters(text), span }
    }
}

/// Splits the block at `span` into pieces of about [`TARGET`] tokens; one that fits stays whole.
pub(super) fn split(source: &str, span: Range<usize>, by_lines: bool) -> Vec<Piece> {
    let whole = Piece::new(source, span);
    if whole.tokens <= TARGET {
        return vec![whole];
    }
    let text = &source[whole.span.clone()];
    let atoms: Vec<&str> =
        if by_lines { text.split_inclusive('\n').collect() } else { sentence_bounds(text).collect() };
    let mut at = whole.span.start;
    let mut pieces = Vec::new();
    for atom in atoms {
        pieces.extend(split_words(source, at..at + atom.len()));
        at += atom.len();
    }
    join(source, &pieces)
}

/// Splits a sentence that is itself too long.
fn split_words(source: &str, span: Range<usize>) -> Vec<Piece> {
    let whole = Piece::new(source, span.clone());
    if whole.tokens <= TARGET {
        return vec![whole];
    }
    let mut pieces = Vec::new();
    let (mut start, mut at, mut tally) = (span.start, span.start, TokenTally::default());
    for word in source[span.clone()].split_word_bounds() {
        // One endless word, as base64 makes them, is cut at characters.
        for part in bounded(word, TARGET) {
            let mut next = tally.with(part);
            if next.tokens > TARGET / 2 && tally.tokens > 0 {
                pieces.push(Piece::new(source, start..at));
                (start, next) = (at, TokenTally::default().with(part));
            }
            at += part.len();
            tally = next;
        }
    }
    pieces.push(Piece::new(source, start..span.end));
    pieces
}

/// Parts of a word of at most `max` characters.
fn bounded(word: &str, max: usize) -> impl Iterator<Item = &str> {
    let mut rest = word;
    std::iter::from_fn(move || {
        let end = rest.char_indices().nth(max).map_or(rest.len(), |(at, _)| at);
        let (part, after) = rest.split_at(end);
        rest = after;
        (!part.is_empty()).then_some(part)
    })
}

/// Joins adjacent pieces at the cuts of [`cuts`], and keeps each below [`LIMIT`].
pub(super) fn join(source: &str, pieces: &[Piece]) -> Vec<Piece> {
    groups(source, pieces)
        .into_iter()
        .map(|group| Piece::new(source, pieces[group.start].span.start..pieces[group.end - 1].span.end))
        .collect()
}

/// Whether pieces that follow one another are together no longer than a chunk may be.
pub(super) fn fits(source: &str, pieces: &[Piece]) -> bool {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return true };
    token_estimate(&source[first.span.start..last.span.end]) <= LIMIT
}

/// Groups pieces into chunks, as ranges of their indices.
pub(super) fn groups(source: &str, pieces: &[Piece]) -> Vec<Range<usize>> {
    let keys: Vec<u64> = pieces.iter().map(|piece| piece.key).collect();
    let sizes: Vec<usize> = pieces.iter().map(|piece| piece.tokens).collect();
    let mut groups = Vec::new();
    let mut start = 0;
    for end in cuts(&keys, &sizes).into_iter().chain([pieces.len()]) {
        let mut tally = TokenTally::default();
        for (at, piece) in pieces.iter().enumerate().take(end).skip(start) {
            let gap = if at > start { &source[pieces[at - 1].span.end..piece.span.start] } else { "" };
            let piece = &source[piece.span.clone()];
            let mut next = tally.with(gap).with(piece);
            // Only a run of blocks with the same text gets this long, or one with pages of nothing in it.
            if next.tokens > LIMIT && at > start {
                groups.push(start..at);
                (start, next) = (at, TokenTally::default().with(piece));
            }
            tally = next;
        }
        if start < end {
            groups.push(start..end);
        }
        start = end;
    }
    groups
}

/// Whether a block has nothing to say to who reads it alone. `text` is what is visible of it.
pub(super) fn is_noise(kind: BlockKind, text: &str) -> bool {
    match kind {
        BlockKind::Rule | BlockKind::Comment => true,
        BlockKind::Code => text.lines().all(says_nothing_in_code),
        BlockKind::Other if DEFINITION.is_match(text) => true,
        _ => !has_words(text),
    }
}

/// Whether there is a letter or a digit in a text.
fn has_letters(text: &str) -> bool {
    text.contains(char::is_alphanumeric)
}

/// Whether a line of a block of code is a fence, stands for another file (`{{#include …}}`), or has no letter in it.
fn says_nothing_in_code(line: &str) -> bool {
    let line = line.trim_matches(|c: char| c.is_whitespace() || c == '>');
    let is_fence = line.starts_with("```") || line.starts_with("~~~");
    is_fence || (line.starts_with("{{") && line.ends_with("}}")) || !has_letters(line)
}

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a test uses each")
}

/// `[name]: address`, with or without a title; not a footnote.
static DEFINITION: LazyLock<Regex> = LazyLock::new(|| {
    regex(r#"\A[ \t>]*\[[^^\[\]\n][^\[\]\n]*\]:\s*(?:<[^>]*>\s*|(?:[^<\s]\S*)?(?:\s+|\z))(?:["'(]|\z)"#)
});

/// The marks of quotes and lists, the box of a task and the kind of a callout, with which a text may begin.
static MARKER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\A[\s>]*(?:[0-9]{1,9}[.)](?:\s|\z))?[\s*+-]*(?:\[(?:![^\]]*|.)\][+-]?(?:\s|\z))?"));

/// What shows no words: tags of HTML (not addresses in angles), `{{…}}`, embeds, images, where links lead, entities and the name of a block
/// (`^a1b2`) at the end. Code is shown as it is, whatever it looks like.
static MARKUP: LazyLock<Regex> = LazyLock::new(|| {
    regex(concat!(
        r#"`+([^`]+)`+|</*[A-Za-z][A-Za-z0-9-]*(?:[\s/](?:[^"'<>]|"[^"]*"|'[^']*')*)?>|\{\{[^{}]*\}\}|!\[\[[^\[\]]*\]\]|"#,
        r"(?:!\[[^\[\]]*)?\]\((?:[^()\n]|\([^()\n]*\))*\)|&[A-Za-z0-9#]{1,10};|(?:\A|\s)\^[A-Za-z0-9-]*\s*\z",
    ))
});

/// Whether a text of prose has words that are shown.
fn has_words(text: &str) -> bool {
    let text = &text[MARKER.find(text).map_or(0, |marker| marker.end())..];
    text.starts_with(char::is_alphanumeric) || has_letters(&MARKUP.replace_all(text, "$1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_block_and_keep_the_limit() {
        let prose = "One sentence of several plain words follows another. ".repeat(100);
        let endless = "x".repeat(50_000);
        let unspaced = "東京都の天気は晴れ".repeat(500);
        for text in [&prose, &endless, &unspaced] {
            for by_lines in [false, true] {
                let pieces = split(text, 0..text.len(), by_lines);
                assert_eq!(pieces.first().unwrap().span.start, 0);
                assert_eq!(pieces.last().unwrap().span.end, text.len());
                assert!(pieces.windows(2).all(|pair| pair[0].span.end == pair[1].span.start));
                assert!(pieces.iter().all(|piece| piece.tokens <= LIMIT), "{:?}", pieces[0]);
            }
        }
    }

    #[test]
    fn pages_of_nothing_make_no_endless_piece() {
        for blank in ["\t", "\n", " ", "\u{3000}", " \t\n"] {
            let text = format!("one{}two", blank.repeat(20_000));
            for by_lines in [false, true] {
                let pieces = split(&text, 0..text.len(), by_lines);
                let longest = pieces.iter().map(|piece| token_estimate(&text[piece.span.clone()])).max().unwrap();
                assert!(longest <= LIMIT, "{longest} tokens of {blank:?}");
            }
            let apart = [Piece::new(&text, 0..3), Piece::new(&text, text.len() - 3..text.len())];
            assert_eq!(groups(&text, &apart), [0..1, 1..2]);
        }
    }

    #[test]
    fn a_block_that_fits_stays_whole() {
        assert_eq!(split("a short one", 0..11, false).len(), 1);
    }
}

#[cfg(test)]
mod tests_of_noise {
    use super::*;

    #[test]
    fn what_says_nothing_by_itself_is_noise() {
        for (kind, text) in [
            (BlockKind::Paragraph, "<a id=\"the-old-name\"></a>\n<a id=\"another\"></a>"),
            (BlockKind::Html, "<Listing number=\"2-2\" file-name=\"src/main.rs\" caption=\"a > b\">"),
            (BlockKind::Html, "<img src=\"a.svg\"\n     alt=\"Two boxes\" />"),
            (BlockKind::Html, "</Listing>"),
            (BlockKind::Other, "[cargo]: https://doc.rust-lang.org/cargo/ \"The book\""),
            (BlockKind::Other, "[a b]: <../a b.md>"),
            (BlockKind::Other, "-"),
            (BlockKind::Other, "1."),
            (BlockKind::Paragraph, "![[whiteboard.png|300]]"),
            (BlockKind::Paragraph, "![[Other note#Heading]] ![A cat (sleeping)](cat_(1).png)"),
            (BlockKind::Paragraph, "[![build](https://x.org/b.svg)](https://x.org)"),
            (BlockKind::ListItem, "1. ![[a]]"),
            (BlockKind::ListItem, "- [x]"),
            (BlockKind::Quote, "> ![[a]]"),
            (BlockKind::Callout, "> [!note]"),
            (BlockKind::Paragraph, "^a1b2c3"),
            (BlockKind::Paragraph, "&nbsp;"),
            (BlockKind::Paragraph, "* * * ✦ * * *"),
            (BlockKind::TableRow, "|---|:--|"),
            (BlockKind::Rule, "---"),
            (BlockKind::Code, "```rust,ignore\n{{#rustdoc_include ../src/main.rs:here}}\n```"),
            (BlockKind::Code, "```\n```"),
        ] {
            assert!(is_noise(kind, text), "{text}");
        }
    }

    #[test]
    fn what_says_something_is_no_noise() {
        for (kind, text) in [
            (BlockKind::Paragraph, "See ![[a]]"),
            (BlockKind::Paragraph, "[[Ridley Scott]]"),
            (BlockKind::Paragraph, "[a link](b.md)"),
            (BlockKind::Paragraph, "https://example.org/read-later"),
            (BlockKind::Paragraph, "<https://example.org/read-later>"),
            (BlockKind::Paragraph, "`<div>`"),
            (BlockKind::Paragraph, "a < b"),
            (BlockKind::Paragraph, "{{ one"),
            (BlockKind::Paragraph, "2 ^ 10"),
            (BlockKind::Paragraph, "東京"),
            (BlockKind::Html, "<span id=\"x\">Listing 5-1</span>"),
            (BlockKind::Other, "[^1]: a footnote"),
            (BlockKind::Other, "[a]: what somebody said of it"),
            (BlockKind::Other, "title: broken frontmatter"),
            (BlockKind::ListItem, "- [ ] call them"),
            (BlockKind::ListItem, "1. one"),
            (BlockKind::TableRow, "| 1 |"),
            (BlockKind::Code, "```html\n<br>\n```"),
            (BlockKind::Code, "    x = 1"),
        ] {
            assert!(!is_noise(kind, text), "{text}");
        }
    }
}
