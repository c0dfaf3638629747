//! What says nothing by itself: anchors, link definitions, embeds, rules, marks without a word.

use crate::text::note::BlockKind;

/// Whether a block has nothing to say to who reads it alone. `text` is what is visible of it.
pub(super) fn is_noise(kind: BlockKind, text: &str) -> bool {
    match kind {
        BlockKind::Rule | BlockKind::Comment => true,
        BlockKind::Code => text.lines().all(says_nothing_in_code),
        BlockKind::Other if is_link_definition(text) => true,
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

/// `[name]: address`, with or without a title; not a footnote.
fn is_link_definition(text: &str) -> bool {
    let text = text.trim_start_matches([' ', '\t', '>']);
    let Some((name, address)) = text.strip_prefix('[').and_then(|rest| rest.split_once("]:")) else { return false };
    let has_name = !name.is_empty() && !name.starts_with('^') && !name.contains(['[', ']', '\n']);
    let mut rest = address.trim();
    rest = match rest.strip_prefix('<') {
        Some(inside) => inside.split_once('>').map_or(inside, |(_, after)| after),
        None => rest.split_once(char::is_whitespace).map_or("", |(_, after)| after),
    };
    let rest = rest.trim();
    has_name && (rest.is_empty() || rest.starts_with(['"', '\'', '(']))
}

/// Whether a text of prose has words that are shown: not within tags, embeds, images, addresses of links, `{{…}}`, names of
/// blocks (`^a1b2`) and entities.
fn has_words(text: &str) -> bool {
    let mut rest = text.trim_end();
    if let Some((before, name)) = rest.rsplit_once('^')
        && (before.is_empty() || before.ends_with(char::is_whitespace))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    {
        rest = before;
    }
    rest = without_marker(rest);
    while let Some(first) = rest.chars().next() {
        if let Some(after) = markup(rest) {
            rest = after;
        } else if first == '`' {
            // Code is shown as it is, whatever it looks like.
            let ticks = rest.len() - rest.trim_start_matches('`').len();
            let (fence, inside) = rest.split_at(ticks);
            match inside.split_once(fence) {
                Some((code, _)) if has_letters(code) => return true,
                Some((_, after)) => rest = after,
                None => rest = inside,
            }
        } else if first.is_alphanumeric() {
            return true;
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
    false
}

/// The text after the number of a list item, the box of a task, the kind of a callout.
fn without_marker(text: &str) -> &str {
    let mut rest = text.trim_start_matches(|c: char| c.is_whitespace() || c == '>');
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if (1..10).contains(&digits)
        && let Some(after) = rest[digits..].strip_prefix(['.', ')'])
        && after.chars().next().is_none_or(char::is_whitespace)
    {
        rest = after;
    }
    let inside = rest.trim_start_matches(|c: char| c.is_whitespace() || "-*+".contains(c));
    let Some(mark) = inside.strip_prefix('[') else { return rest };
    let end = if mark.starts_with('!') { mark.find(']') } else { mark.char_indices().nth(1).map(|(at, _)| at) };
    end.and_then(|end| mark[end..].strip_prefix(']')).filter(|after| !after.starts_with(['(', '['])).unwrap_or(rest)
}

/// What follows the piece of markup that a text begins with, if it begins with one that shows no words.
fn markup(text: &str) -> Option<&str> {
    let after = |open: &str, close: &str| {
        let (inside, after) = text.strip_prefix(open)?.split_once(close)?;
        (!inside.contains("\n\n")).then_some(after)
    };
    match text.as_bytes()[0] {
        b'<' => tag(text),
        b'{' => after("{{", "}}"),
        b'!' => after("![[", "]]").or_else(|| after("![", "](").and_then(destination)),
        b']' => text.strip_prefix("](").and_then(destination),
        b'&' => {
            let (name, after) = text[1..].split_once(';')?;
            let is_name =
                (1..=10).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'#');
            is_name.then_some(after)
        }
        _ => None,
    }
}

/// What follows the destination of a link, given after its `(`.
fn destination(text: &str) -> Option<&str> {
    let mut depth = 0_usize;
    let end = text.find(|c| match c {
        '(' => {
            depth += 1;
            false
        }
        ')' if depth > 0 => {
            depth -= 1;
            false
        }
        ')' | '\n' => true,
        _ => false,
    })?;
    text[end..].strip_prefix(')')
}

/// What follows a tag of HTML, `<a id="x">`, `</a>`, whatever its lines. Not an address in angles.
fn tag(text: &str) -> Option<&str> {
    let name = text[1..].trim_start_matches('/');
    let length = name.len() - name.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '-').len();
    let after = &name[length..];
    if !name.starts_with(|c: char| c.is_ascii_alphabetic())
        || !after.starts_with(|c: char| c.is_whitespace() || "/>".contains(c))
    {
        return None;
    }
    let mut quote = None;
    let end = after.find(|c| match (quote, c) {
        (None, '>') => true,
        (None, '"' | '\'') => {
            quote = Some(c);
            false
        }
        (Some(open), close) if open == close => {
            quote = None;
            false
        }
        _ => false,
    })?;
    Some(&after[end + 1..])
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
