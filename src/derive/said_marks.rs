//! The marks that a line of a text begins with, which say nothing.

use super::chunk::turn_mark;

/// The marks that a line begins with.
pub(super) struct LineMarks {
    /// Where the text begins.
    pub(super) end: usize,
    /// Whether it begins a block.
    pub(super) begins: bool,
    /// Whether it is a heading.
    pub(super) heading: bool,
}

impl LineMarks {
    /// Those of a line.
    pub(super) fn of(line: &str) -> Self {
        let mut marks = Self { end: 0, begins: false, heading: false };
        loop {
            let rest = &line[marks.end..];
            let rest = rest.trim_start_matches([' ', '\t', '\u{3000}', '\u{200b}', '\u{2060}', '\u{feff}']);
            marks.end = line.len() - rest.len();
            if let Some(length) = turn_mark(rest) {
                marks.end += length;
                marks.begins = true;
            } else if let Some((length, heading)) = mark(rest) {
                marks.end += length;
                marks.begins |= !rest.starts_with('>');
                marks.heading |= heading;
            } else if rest.starts_with('|') {
                marks.begins = true;
                return marks;
            } else {
                return marks;
            }
        }
    }
}

/// The length of the mark that a line begins with, if it does, and whether that is a heading's: quotes, list items, boxes of tasks, the
/// time in a file of a day.
fn mark(rest: &str) -> Option<(usize, bool)> {
    if rest.starts_with('>') {
        return Some((1, false));
    }
    let blank = |after: &str| after.is_empty() || after.starts_with([' ', '\t', '\n', '\r']);
    let hashes = rest.len() - rest.trim_start_matches('#').len();
    if (1..=6).contains(&hashes) && blank(&rest[hashes..]) {
        return Some((hashes, true));
    }
    let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    if (1..=9).contains(&digits)
        && let Some(after) = rest[digits..].strip_prefix(['.', ')'])
        && blank(after)
    {
        return Some((digits + 1, false));
    }
    if let Some(after) = rest.strip_prefix(['-', '*', '+'])
        && blank(after)
    {
        return Some((1, false));
    }
    for task in ["[ ] ", "[x] ", "[X] "] {
        if rest.starts_with(task) {
            return Some((task.len(), false));
        }
    }
    let time = rest.as_bytes().get(..5).is_some_and(|time| {
        time.iter().enumerate().all(|(at, byte)| if at == 2 { *byte == b':' } else { byte.is_ascii_digit() })
    });
    (time && rest[5..].starts_with(" · ")).then_some((5 + " · ".len(), false))
}
