//! List items as lines of a file that says one thing an item: which count, and what each says as one text.

use std::ops::Range;

use crate::note::{Block, BlockKind};

/// Knows which list items are those of an outermost list.
#[derive(Default)]
pub(super) struct OuterList {
    /// The indentation of the list that the last block was of.
    indentation: Option<usize>,
}

impl OuterList {
    /// The text of a block that is a bulleted item and lies in no other.
    pub(super) fn item(&mut self, block: &Block, source: &str) -> Option<ItemText> {
        let text = &source[block.span.clone()];
        let indentation = text.len() - text.trim_start_matches([' ', '\t']).len();
        if block.kind != BlockKind::ListItem {
            // What is indented belongs to an item.
            self.indentation = self.indentation.filter(|_| indentation > 0);
            return None;
        }
        let list = *self.indentation.get_or_insert(indentation);
        let is_outermost = indentation <= list || indentation == list + 1 && !text.starts_with('\t');
        let marker = text[indentation..].chars().next().filter(|c| matches!(c, '-' | '*' | '+'))?;
        let rest = &text[indentation + marker.len_utf8()..];
        if !is_outermost || !rest.starts_with([' ', '\t']) {
            return None;
        }
        let blank = rest.len() - rest.trim_start_matches([' ', '\t']).len();
        let from = block.span.start + indentation + marker.len_utf8() + blank;
        Some(ItemText::of(&source[from..block.span.end], from))
    }
}

/// A text of several lines as one, and where each part of it stands.
pub(super) struct ItemText {
    pub(super) text: String,
    /// Where it begins in the source.
    pub(super) from: usize,
    /// Offsets in the text from which on another one is to be added, and which.
    parts: Vec<(usize, usize)>,
}

impl ItemText {
    /// Of an item that begins at `from`, its marker left out.
    pub(super) fn of(source: &str, from: usize) -> Self {
        let (mut text, mut parts, mut at) = (String::with_capacity(source.len()), Vec::new(), 0);
        for line in source.split_inclusive(['\n', '\r']) {
            let shown = line.trim();
            if !shown.is_empty() {
                if !text.is_empty() {
                    text.push(' ');
                }
                let begin = at + line.len() - line.trim_start().len();
                parts.push((text.len(), from + begin));
                text += shown;
            }
            at += line.len();
        }
        Self { text, from, parts }
    }

    /// Where an offset of the text is in the source.
    pub(super) fn offset(&self, at: usize) -> usize {
        let part = self.parts.iter().rev().find(|(begin, _)| *begin <= at);
        part.map_or(self.from, |(begin, source)| source + (at - begin))
    }
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

/// Where the line after an offset begins.
pub(super) fn line_end(source: &str, at: usize) -> usize {
    source[at..].find('\n').map_or(source.len(), |end| at + end + 1)
}

/// Where an item ends with all that is indented below it.
pub(super) fn item_end(source: &str, item: &Range<usize>) -> usize {
    let blank = |line: &str| line.len() - line.trim_start_matches([' ', '\t']).len();
    let marker = blank(&source[item.clone()]);
    let (mut end, mut at) = (line_end(source, item.end), line_end(source, item.end));
    for line in source[at..].split_inclusive('\n') {
        at += line.len();
        if line.trim().is_empty() {
            continue;
        }
        if blank(line) <= marker + 1 {
            break;
        }
        end = at;
    }
    end
}
