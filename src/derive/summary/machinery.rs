//! What stands in conversations and was said by nobody: what a model was told by its program, what it thought, what tools answered, and
//! memory that was put before it. Nothing is derived of that, or it would be learned anew each time it is recalled.

use std::borrow::Cow;

use crate::derive::words::fold;

/// Speakers that are no one: roles of the interfaces of chat models.
const MACHINES: &[&str] =
    &["system", "developer", "tool", "tools", "function", "tool result", "tool_result", "environment", "ipython"];

/// The beginnings of names of tags between which stands what nobody said.
const FENCES: &[&str] = &[
    "think",
    "reasoning",
    "analysis",
    "scratchpad",
    "memory",
    "memories",
    "recalled",
    "relevant-memor",
    "relevant_memor",
    "retrieved",
    "vault",
    "context",
    "system",
    "tool_",
    "tool-",
    "function_",
    "antml",
];

/// Whether a speaker is a program: a system prompt, the output of a tool.
pub(super) fn is_machine(speaker: &str) -> bool {
    let speaker = fold(speaker.trim());
    MACHINES.contains(&speaker.as_str()) || speaker.starts_with("tool:") || speaker.starts_with("tool ")
}

/// A text without `<think>…</think>`, recalled memory between tags or between two lines `=== … ===` that are the same, and the like. What is
/// opened and never closed goes on to the end.
pub(super) fn without_machinery(text: &str) -> Cow<'_, str> {
    if !text.contains('<') && !text.contains("===") {
        return Cow::Borrowed(text);
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = next_fenced(rest) {
        kept.push_str(before);
        rest = after;
    }
    kept.push_str(rest);
    Cow::Owned(kept)
}

/// What comes before the next fenced part, and what after it.
fn next_fenced(text: &str) -> Option<(&str, &str)> {
    let tag = text.match_indices('<').find_map(|(at, _)| Some((at, fence_name(&text[at..])?)));
    let line = fence_line(text);
    match (tag, line) {
        (Some((at, _)), Some((start, fence))) if start < at => Some(after_line(text, start, fence)),
        (None, Some((start, fence))) => Some(after_line(text, start, fence)),
        (Some((at, name)), _) => {
            let close = format!("</{name}");
            let after = text[at..].find(&close).map_or("", |found| {
                let closing = &text[at + found..];
                closing.find('>').map_or("", |end| &closing[end + 1..])
            });
            Some((&text[..at], after))
        }
        (None, None) => None,
    }
}

/// The name of the tag that a text begins with, where what stands in it was said by nobody.
fn fence_name(text: &str) -> Option<&str> {
    let name = text.strip_prefix('<')?;
    let end =
        name.find(|character: char| !(character.is_ascii_alphanumeric() || matches!(character, '_' | '-' | ':')))?;
    let (name, after) = name.split_at(end);
    let lower = name.to_ascii_lowercase();
    let is_one = FENCES.iter().any(|fence| lower.starts_with(fence));
    (is_one && after.starts_with(|character: char| character == '>' || character.is_whitespace())).then_some(name)
}

/// The first line `=== hexadecimal digits ===`, 16 of them or more, with where it begins.
fn fence_line(text: &str) -> Option<(usize, &str)> {
    text.match_indices("=== ").find_map(|(at, _)| {
        let line = text[at..].lines().next()?.trim_end();
        let inside = line.strip_prefix("=== ")?.strip_suffix(" ===")?;
        let is_fence = (16..=64).contains(&inside.len()) && inside.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_fence.then_some((at, line))
    })
}

fn after_line<'t>(text: &'t str, start: usize, fence: &str) -> (&'t str, &'t str) {
    let inside = &text[start + fence.len()..];
    let after = inside.rfind(fence).map_or("", |at| &inside[at + fence.len()..]);
    (&text[..start], after)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_said_is_left_out() {
        for (text, kept) in [
            ("<think>We decided nothing.</think>Hello", "Hello"),
            ("a <memory id=\"3\">I like soup</memory> b", "a  b"),
            ("a <recalled_context>never closed", "a "),
            ("a <THINK>b</THINK> c", "a  c"),
            ("x < y and <b>bold</b>", "x < y and <b>bold</b>"),
            ("<https://example.org/context>", "<https://example.org/context>"),
            ("plain", "plain"),
        ] {
            assert_eq!(without_machinery(text), kept);
        }
        let fence = "=== 0123456789abcdef0123456789abcdef ===";
        assert_eq!(without_machinery(&format!("a\n{fence}\nrecalled\n{fence}\nb")), "a\n\nb");
        assert_eq!(without_machinery(&format!("a\n{fence}\nrecalled")), "a\n");
    }

    #[test]
    fn programs_are_no_speakers() {
        assert!(is_machine("system") && is_machine(" Tool ") && is_machine("tool: bash"));
        assert!(!is_machine("user") && !is_machine("Maya") && !is_machine("code agent"));
    }
}
