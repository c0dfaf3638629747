//! Byte offset → line number.

use std::ops::Range;

/// The line starts of a text, found once, so that an offset becomes a line by binary search.
///
/// A line ends at LF, CRLF or a lone CR, as in CommonMark and in Obsidian's editor. Lines count from 1. The text after
/// the last line end is a line too, even when it is empty, so every offset up to and including the length has a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lines {
    starts: Vec<usize>,
    len: usize,
}

impl Lines {
    /// Finds the lines of a text.
    pub fn new(source: &str) -> Self {
        let bytes = source.as_bytes();
        let mut starts = vec![0];
        for (i, &byte) in bytes.iter().enumerate() {
            if byte == b'\n' || (byte == b'\r' && bytes.get(i + 1) != Some(&b'\n')) {
                starts.push(i + 1);
            }
        }
        Self { starts, len: bytes.len() }
    }

    /// Returns how many lines there are; an empty text has one.
    pub fn count(&self) -> usize {
        self.starts.len()
    }

    /// Returns the 1-based line that holds a byte offset. An offset past the end is on the last line.
    pub fn line_of(&self, offset: usize) -> usize {
        self.starts.partition_point(|&start| start <= offset)
    }

    /// Returns the bytes of a 1-based line, its line end included. A line that does not exist is empty.
    pub fn span(&self, line: usize) -> Range<usize> {
        let start = |line: usize| self.starts.get(line).copied().unwrap_or(self.len);
        match line {
            0 => 0..0,
            _ => start(line - 1)..start(line),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_at_lf_crlf_and_lone_cr() {
        let text = "a\nb\r\nc\rd";
        let lines = Lines::new(text);
        let found: Vec<&str> = (1..=lines.count()).map(|n| &text[lines.span(n)]).collect();
        assert_eq!(found, ["a\n", "b\r\n", "c\r", "d"]);
        let of: Vec<usize> = (0..=text.len()).map(|at| lines.line_of(at)).collect();
        assert_eq!(of, [1, 1, 2, 2, 2, 3, 3, 4, 4]);
    }

    #[test]
    fn empty_text_and_offsets_past_the_end_have_a_line() {
        let lines = Lines::new("");
        assert_eq!((lines.count(), lines.line_of(0), lines.line_of(9)), (1, 1, 1));
        assert_eq!((lines.span(0), lines.span(1), lines.span(7)), (0..0, 0..0, 0..0));
        assert_eq!(Lines::new("a\n").line_of(2), 2);
    }
}
