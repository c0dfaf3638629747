//! From what the Markdown parser names to blocks that cover the body.

use super::{Block, BlockKind, Lines, outside};
use std::ops::Range;

/// Widens the blocks found to whole lines, and gives a block to every line that has none. `found` is in source order.
pub(super) fn cover(
    source: &str,
    lines: &Lines,
    body: Range<usize>,
    found: Vec<Block>,
    comments: &[Range<usize>],
) -> Vec<Block> {
    let mut cover = Cover { source, lines, comments, blocks: Vec::with_capacity(found.len()), at: body.start };
    for block in found {
        // Masked comments may have had the parser see boundaries where the source has none.
        let span = source.floor_char_boundary(block.span.start)..source.floor_char_boundary(block.span.end);
        let content = source[span.clone()].trim_end().len();
        if content == 0 {
            continue;
        }
        let first = lines.span(lines.line_of(span.start));
        let last = lines.span(lines.line_of(span.start + content - 1));
        let start = first.start.max(cover.at);
        let end = start + source[start..last.end.max(start)].trim_end().len();
        if start >= end {
            continue;
        }
        cover.fill(start);
        cover.blocks.push(Block { span: start..end, ..block });
        cover.at = end;
    }
    cover.fill(body.end);
    cover.name_comments();
    cover.blocks
}

struct Cover<'a> {
    source: &'a str,
    lines: &'a Lines,
    comments: &'a [Range<usize>],
    blocks: Vec<Block>,
    /// Everything before is covered.
    at: usize,
}

impl Cover<'_> {
    /// Covers the lines up to an offset.
    fn fill(&mut self, end: usize) {
        if self.at >= end || self.source[self.at..end].trim().is_empty() {
            self.at = end.max(self.at);
            return;
        }
        for line in self.lines.line_of(self.at)..=self.lines.line_of(end - 1) {
            let span = self.lines.span(line);
            let start = span.start.max(self.at);
            let text = &self.source[start..span.end.min(end).max(start)];
            let span = start..start + text.trim_end().len();
            if !span.is_empty() {
                self.add_line(line, span);
            }
        }
        self.at = end;
    }

    fn add_line(&mut self, line: usize, span: Range<usize>) {
        let text = &self.source[span.clone()];
        let only_quote_marks = text.chars().all(|c| c == '>' || c.is_whitespace());
        let comment = self.comment_at(span.start).filter(|_| !self.is_visible(&span));
        let section = self.blocks.last().and_then(|block| block.section);
        if let Some(last) = self.blocks.last_mut() {
            // The `>` between two paragraphs of a quote is no block of its own.
            let continues_quote = only_quote_marks && self.lines.line_of(last.span.end - 1) + 1 == line;
            let continues_comment = last.kind == BlockKind::Comment
                && comment.is_some_and(|index| self.comments[index].start < last.span.end);
            if continues_quote || continues_comment {
                last.span.end = span.end;
                return;
            }
        }
        let kind = if comment.is_some() { BlockKind::Comment } else { BlockKind::Other };
        self.blocks.push(Block { kind, span, section });
    }

    /// A block that holds nothing but comments is one, but for headings, which open sections all the same.
    fn name_comments(&mut self) {
        let mut blocks = std::mem::take(&mut self.blocks);
        for block in &mut blocks {
            if !matches!(block.kind, BlockKind::Heading(_)) && !self.is_visible(&block.span) {
                block.kind = BlockKind::Comment;
            }
        }
        self.blocks = blocks;
    }

    /// Index of the first comment that ends after an offset.
    fn comment_at(&self, offset: usize) -> Option<usize> {
        let index = self.comments.partition_point(|comment| comment.end <= offset);
        (index < self.comments.len()).then_some(index)
    }

    /// Whether a span has a non-blank byte outside of comments.
    fn is_visible(&self, span: &Range<usize>) -> bool {
        !outside(self.comments, self.source, span.clone()).trim().is_empty()
    }
}
