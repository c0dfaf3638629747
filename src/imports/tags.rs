//! Tags between which programs put what nobody said.

use crate::derive::code::code;
use std::ops::Range;

/// Maximum number of times that it is looked anew where code is, because a tag went that had opened some: each costs the rest of the text.
const MAX_LOOKS: usize = 16;

/// Where a tag counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagPlace {
    /// At the beginning of a line.
    Line,
    /// Anywhere; one that begins the text and is never closed goes on to its end.
    Anywhere,
}

/// Words that stand in other texts as well: between tags of these names programs put something where nothing else stands in the tag.
const COMMON: [&str; 2] = ["memory", "instructions"];

/// Whether the text after a `<` is this tag.
fn is_named(rest: &str, tag: &str) -> bool {
    let named = rest.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag));
    let is_bare = COMMON.contains(&tag);
    named && rest[tag.len()..].starts_with(|c: char| c == '>' || (!is_bare && (c == '/' || c.is_whitespace())))
}

/// Where the tag is closed that was opened before `from`, and first closed at `first`: behind as many others of its name as are opened
/// within it, outside of `code`. `None` where they are not closed.
fn close_of(lower: &str, from: usize, tag: &str, first: usize, code: &[Range<usize>]) -> Option<usize> {
    let (mut depth, mut at, mut next) = (1_usize, from, 0);
    while let Some(start) = lower[at..].find('<').map(|found| at + found) {
        at = start + 1;
        while code.get(next).is_some_and(|range| range.end <= start) {
            next += 1;
        }
        let is_code = code.get(next).is_some_and(|range| range.contains(&start));
        if start == first || (!is_code && lower[at..].strip_prefix('/').is_some_and(|rest| is_named(rest, tag))) {
            depth -= 1;
            if depth == 0 {
                return Some(start);
            }
        } else if !is_code && is_named(&lower[at..], tag) {
            depth += 1;
        }
    }
    None
}

/// A text without what stands before a tag of this name, in lower case, that is closed and was never opened; `None` where there is none.
/// Some models begin to think without a tag. What stands in code is not looked at.
pub(super) fn without_unopened(text: &str, tag: &str) -> Option<String> {
    let lower = text.to_ascii_lowercase();
    let close = format!("</{tag}>");
    if !lower.contains(&close) {
        return None;
    }
    let (ranges, mut next, mut at) = (code(text), 0, 0);
    while let Some(start) = lower[at..].find('<').map(|found| at + found) {
        at = start + 1;
        while ranges.get(next).is_some_and(|range| range.end <= start) {
            next += 1;
        }
        if ranges.get(next).is_some_and(|range| range.contains(&start)) {
            continue;
        }
        if lower[start..].starts_with(&close) {
            return Some(text[start + close.len()..].trim_start_matches([' ', '\t']).to_owned());
        }
        if is_named(&lower[at..], tag) {
            return None;
        }
    }
    None
}

/// A text without what stands between tags of these names, in lower case; `None` where nothing does. What stands in code stays.
pub(super) fn without_tags(text: &str, tags: &[&str], place: TagPlace) -> Option<String> {
    if !text.contains('<') {
        return None;
    }
    let mut ranges = code(text);
    let (mut next, mut looks) = (0, 0);
    let lower = text.to_ascii_lowercase();
    let (mut kept, mut from, mut at) = (String::new(), 0, 0);
    // All of it is looked at once: no step goes back to the beginning of the text, or of its line.
    let first = text.len() - text.trim_start().len();
    let (mut seen, mut is_line_blank) = (0, true);
    // A tag that is nowhere closed after this place is not looked for again.
    let (mut unclosed, mut unbalanced): (Vec<&str>, Vec<&str>) = Default::default();
    while let Some(start) = lower[at..].find('<').map(|found| at + found) {
        at = start + 1;
        let since = &text[seen..start];
        is_line_blank = match since.rfind('\n') {
            Some(end) => since[end..].trim().is_empty(),
            None => is_line_blank && since.trim().is_empty(),
        };
        seen = start;
        while ranges.get(next).is_some_and(|range| range.end <= start) {
            next += 1;
        }
        if ranges.get(next).is_some_and(|range| range.contains(&start)) {
            continue;
        }
        if place == TagPlace::Line && !is_line_blank {
            continue;
        }
        let Some(tag) = tags.iter().find(|tag| is_named(&lower[at..], tag)) else { continue };
        if unclosed.contains(tag) {
            continue;
        }
        let close = format!("</{tag}");
        let first_close = lower[at..].find(&close).map(|found| at + found);
        let end = match first_close {
            // What is not closed as often as it is opened ends at its first close.
            Some(end) if place == TagPlace::Anywhere && !unbalanced.contains(tag) => {
                Some(close_of(&lower, at, tag, end, &ranges[next..]).unwrap_or_else(|| {
                    unbalanced.push(tag);
                    end
                }))
            }
            end => end,
        };
        let end = end.map(|end| lower[end..].find('>').map_or(lower.len(), |close| end + close + 1));
        let end = match end {
            Some(end) => end,
            None if place == TagPlace::Anywhere && start <= first => text.len(),
            None => {
                unclosed.push(tag);
                continue;
            }
        };
        kept.push_str(&text[from..start]);
        // What it began its line with began the line as well.
        let blanks =
            if is_line_blank { text[end..].len() - text[end..].trim_start_matches([' ', '\t']).len() } else { 0 };
        (from, at, seen) = (end + blanks, end + blanks, end + blanks);
        if ranges.get(next).is_some_and(|range| range.start < end && end < range.end) && looks < MAX_LOOKS {
            looks += 1;
            ranges = code(&text[end..]).into_iter().map(|range| range.start + end..range.end + end).collect();
            next = 0;
        }
    }
    if from == 0 {
        return None;
    }
    kept.push_str(&text[from..]);
    Some(kept)
}
