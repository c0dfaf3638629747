//! Tags between which programs put what nobody said.

use super::code::code;

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

/// Whether the text after a `<` is this tag.
fn is_named(rest: &str, tag: &str) -> bool {
    let named = rest.get(..tag.len()).is_some_and(|name| name.eq_ignore_ascii_case(tag));
    named && rest[tag.len()..].starts_with(|c: char| c == '>' || c == '/' || c.is_whitespace())
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
    let mut unclosed: Vec<&str> = Vec::new();
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
        let end = lower[at..].find(&format!("</{tag}")).map(|found| at + found);
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
