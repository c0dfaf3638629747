//! List items as lines of a file that says one thing an item: which count, and what each says as one text.

use std::ops::Range;

use super::entries::MAX_ENTRY_BYTES;
use crate::text::note::{Block, BlockKind, Note};

/// Why an item is not changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ItemEditError {
    /// A merge left its marks in the file.
    #[error("it has conflict markers; resolve them first")]
    Conflict,
    /// A comment stands in the line.
    #[error("the line has a comment; edit it by hand")]
    Mixed,
    /// Something stands below the item.
    #[error("text below its line would end up below another line; remove it by hand")]
    Parent,
    /// The line says something else than it did when it was read.
    #[error("the line was edited meanwhile; look at it again")]
    Changed,
    /// There is no such fact or entry.
    #[error("there is no such {0}")]
    Absent(&'static str),
    /// The key is none.
    #[error("a key takes letters, digits, `_`, `-` and `.`, and starts with a letter or `_`")]
    Key,
    /// The namespace is none.
    #[error("a namespace is the headings above a fact, in lower case and joined by `/`")]
    Namespace,
    /// The text says nothing.
    #[error("an entry needs text")]
    Empty,
    /// The text is too long.
    #[error("an entry takes up to {MAX_ENTRY_BYTES} bytes")]
    Long,
    /// The sources cannot be listed in the frontmatter.
    #[error("the list `sources` cannot be added to its frontmatter; edit it by hand")]
    Frontmatter,
    /// After the change the file would not say what it is to say.
    #[error("the changed file would be read wrongly; edit it by hand")]
    Unreadable,
    /// After the change the entry would not be seen.
    #[error("the changed file would be read wrongly, perhaps for an open comment; edit the text, or the file by hand")]
    Hidden,
}

/// A bulleted item of an outermost list.
pub(super) struct ListItem<'n> {
    pub(super) block: &'n Block,
    /// 1-based line of its start.
    pub(super) line: usize,
    /// 1-based line of its end.
    pub(super) last_line: usize,
    /// What it says on one line, without its marker and comments.
    pub(super) text: String,
    /// Whether a comment stands in it, so that it is for a person alone to change.
    pub(super) is_mixed: bool,
    /// Where what it says begins in the source.
    from: usize,
    /// Offsets in the text from which on another one is to be added, and which.
    parts: Vec<(usize, usize)>,
}

impl ListItem<'_> {
    /// Where an offset of the text is in the source.
    pub(super) fn offset(&self, at: usize) -> usize {
        let part = self.parts.iter().rev().find(|(begin, _)| *begin <= at);
        part.map_or(self.from, |(begin, source)| source + (at - begin))
    }
}

/// The items of a file that says one thing an item, in their order.
pub(super) fn list_items<'n>(note: &'n Note, source: &'n str) -> impl Iterator<Item = ListItem<'n>> {
    // The indentation of the list that the last block was of.
    let mut list = None;
    note.blocks.iter().filter_map(move |block| {
        let span = &block.span;
        let indentation = blanks(&source[span.clone()]);
        if block.kind != BlockKind::ListItem {
            // What is indented belongs to an item.
            list = list.filter(|_| indentation > 0);
            return None;
        }
        let item = &source[span.start + indentation..span.end];
        let list = *list.get_or_insert(indentation);
        let is_outermost = indentation <= list || indentation == list + 1 && !source[span.clone()].starts_with('\t');
        let rest = item.strip_prefix(['-', '*', '+']).filter(|rest| is_outermost && blanks(rest) > 0)?;
        let from = span.end - rest.len() + blanks(rest);
        let (mut text, parts) = on_one_line(&source[from..span.end], from);
        let is_mixed = note.comments.iter().any(|comment| comment.start < span.end && span.start < comment.end);
        if is_mixed {
            (text, _) = on_one_line(&note.visible(source, from..span.end), 0);
        }
        let line = note.lines.line_of(span.start);
        let last_line = note.lines.line_of(span.end.saturating_sub(1));
        Some(ListItem { block, line, last_line, text, is_mixed, from, parts })
    })
}

/// How many blanks a text begins with.
fn blanks(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}

/// What is reported of a file in which a merge left its marks.
pub(super) const CONFLICT: &str =
    "it has conflict markers; both sides are read, and nothing is written until you resolve them";

/// The lines of a text that begins at `from` as one, and where each part of it stands.
fn on_one_line(source: &str, from: usize) -> (String, Vec<(usize, usize)>) {
    let (mut text, mut parts, mut at) = (String::with_capacity(source.len()), Vec::new(), from);
    for line in source.split_inclusive(['\n', '\r']) {
        let shown = line.trim();
        if !shown.is_empty() {
            if !text.is_empty() {
                text.push(' ');
            }
            parts.push((text.len(), at + line.len() - line.trim_start().len()));
            text += shown;
        }
        at += line.len();
    }
    (text, parts)
}

/// The same text with blanks in place of the lines that git leaves around two sides, and whether there were any.
pub(super) fn without_conflict_marks(source: &str) -> (std::borrow::Cow<'_, str>, bool) {
    let is_begin = |line: &str| line.starts_with("<<<<<<< ");
    let is_mark = |line: &str| {
        is_begin(line) || line.starts_with(">>>>>>> ") || line.starts_with("||||||| ") || line.trim_end() == "======="
    };
    if !source.lines().any(is_begin) {
        return (source.into(), false);
    }
    let blanked = source.split_inclusive('\n').map(|line| {
        if !is_mark(line) {
            return line.to_owned();
        }
        let end = line.trim_end_matches(['\r', '\n']).len();
        " ".repeat(end) + &line[end..]
    });
    (blanked.collect::<String>().into(), true)
}

/// A text with others in some places; of places that lie in one another the outer one counts.
pub(super) fn with_parts(source: &str, mut parts: Vec<(Range<usize>, String)>) -> String {
    parts.sort_by_key(|(range, _)| (range.start, std::cmp::Reverse(range.end)));
    let (mut text, mut at) = (String::with_capacity(source.len()), 0);
    for (range, with) in parts {
        if range.start >= at {
            text += &source[at..range.start];
            text += &with;
        }
        at = at.max(range.end);
    }
    text + &source[at..]
}

/// How the lines of a text end.
pub(super) fn line_ending(source: &str) -> &'static str {
    if source.contains("\r\n") { "\r\n" } else { "\n" }
}

/// Where more items come after one and all below it, and their text, indented as that is.
pub(super) fn added_after(source: &str, item: &Range<usize>, lines: &[String]) -> (Range<usize>, String) {
    let (at, end) = (item_end(source, item), line_ending(source));
    let before = if source[..at].ends_with('\n') { "" } else { end };
    let indentation = &source[item.start..item.start + blanks(&source[item.clone()])];
    let lines: String = lines.iter().map(|line| format!("{indentation}{line}{end}")).collect();
    (at..at, format!("{before}{lines}"))
}

/// The lines of an item; `None` where something stands below it, that would stand below another.
pub(super) fn lines_alone(source: &str, item: &Range<usize>) -> Option<Range<usize>> {
    let end = line_end(source, item.end);
    (item_end(source, item) <= end).then_some(item.start..end)
}

/// Where the line after an offset begins.
fn line_end(source: &str, at: usize) -> usize {
    source[at..].find('\n').map_or(source.len(), |end| at + end + 1)
}

/// Where an item ends with all that is indented below it.
pub(super) fn item_end(source: &str, item: &Range<usize>) -> usize {
    let marker = blanks(&source[item.clone()]);
    let (mut end, mut at) = (line_end(source, item.end), line_end(source, item.end));
    for line in source[at..].split_inclusive('\n') {
        at += line.len();
        if line.trim().is_empty() {
            continue;
        }
        if blanks(line) <= marker + 1 {
            break;
        }
        end = at;
    }
    end
}
