//! What says nothing by itself: anchors, link definitions, embeds, rules, marks without a word.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::note::BlockKind;

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
pub(super) fn has_letters(text: &str) -> bool {
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
