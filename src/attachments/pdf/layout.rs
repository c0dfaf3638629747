//! From texts and where they stand to lines and paragraphs.

use super::matrix::Matrix;

/// A gap between letters that is a blank, as a share of their height. Pairs of letters are moved by less, words by more.
const BLANK: f64 = 0.16;
/// How far a line is from the one before, at most, to be of the same paragraph.
const LINE: f64 = 1.9;

/// The paragraphs of a page as they grow.
#[derive(Debug, Default)]
pub(super) struct Layout {
    paragraphs: Vec<String>,
    /// Lines of the paragraph that is being read.
    lines: Vec<String>,
    line: String,
    /// Bytes that were taken.
    bytes: usize,
    /// Where the last text ended, and in which direction.
    end: Option<((f64, f64), (f64, f64))>,
}

impl Layout {
    /// Takes a text of a height that starts at `from` and leads so far to the right.
    pub(super) fn add(&mut self, text: &str, at: Matrix, height: f64, width: f64) {
        if text.is_empty() {
            return;
        }
        self.bytes += text.len();
        let (right, scale) = at.right();
        let (x, y) = at.origin();
        let height = if height.is_finite() && height > 0.0 { height } else { 1.0 };
        if let Some(((end_x, end_y), before)) = self.end {
            let (dx, dy) = (x - end_x, y - end_y);
            let along = dx * right.0 + dy * right.1;
            let across = (dx * right.1 - dy * right.0).abs();
            let turned = right.0 * before.0 + right.1 * before.1 < 0.9;
            if turned || across > LINE * height {
                self.end_paragraph();
            } else if across > 0.45 * height || along < -height {
                self.end_line();
            } else if along > BLANK * height && !self.line.ends_with(' ') && !text.starts_with(' ') {
                self.line.push(' ');
            }
        }
        self.line.extend(text.chars().flat_map(|character| ligature(character).chars().chain(plain(character))));
        let far = width * scale;
        self.end = Some(((x + right.0 * far, y + right.1 * far), right));
    }

    fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let line = line.trim();
        if line.is_empty() {
            return;
        }
        // A word that was parted for the line is one again.
        let goes_on = line.starts_with(char::is_lowercase);
        let parted = |before: &&mut String| {
            let mut letters = before.chars().rev();
            goes_on && letters.next().is_some_and(is_hyphen) && letters.next().is_some_and(char::is_alphabetic)
        };
        match self.lines.last_mut().filter(parted) {
            Some(before) => {
                before.pop();
                before.push_str(line);
            }
            None => self.lines.push(line.to_owned()),
        }
    }

    fn end_paragraph(&mut self) {
        self.end_line();
        let lines = std::mem::take(&mut self.lines);
        if !lines.is_empty() {
            self.paragraphs.push(lines.join("\n"));
        }
    }

    /// Bytes that were taken.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// What it comes to.
    pub(super) fn finish(mut self) -> Vec<String> {
        self.end_paragraph();
        self.paragraphs
    }
}

fn is_hyphen(character: char) -> bool {
    matches!(character, '-' | '\u{ad}' | '\u{2010}')
}

/// Letters that are drawn as one, by which nobody searches.
fn ligature(character: char) -> &'static str {
    match character {
        '\u{fb00}' => "ff",
        '\u{fb01}' => "fi",
        '\u{fb02}' => "fl",
        '\u{fb03}' => "ffi",
        '\u{fb04}' => "ffl",
        '\u{fb05}' | '\u{fb06}' => "st",
        _ => "",
    }
}

fn plain(character: char) -> Option<char> {
    ligature(character).is_empty().then_some(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(texts: &[(&str, f64, f64)]) -> Vec<String> {
        let mut layout = Layout::default();
        for (text, x, y) in texts {
            layout.add(text, Matrix::moved(*x, *y), 10.0, text.chars().count() as f64 * 5.0);
        }
        layout.finish()
    }

    #[test]
    fn places_say_what_is_a_word_a_line_and_a_paragraph() {
        let found = laid(&[
            ("Hel", 0.0, 700.0),
            ("lo", 15.5, 700.0),
            ("world", 30.0, 700.0),
            ("again exam-", 0.0, 688.0),
            ("ple", 0.0, 676.0),
            ("next", 0.0, 640.0),
        ]);
        assert_eq!(found, ["Hello world\nagain example", "next"]);
        assert_eq!(laid(&[("ef\u{fb01}cient", 0.0, 0.0), (" ", 50.0, 0.0), ("x", 60.0, 0.0)]), ["efficient x"]);
        assert_eq!(laid(&[("", 0.0, 0.0)]), [""; 0]);
        assert_eq!(laid(&[("a", f64::NAN, 0.0), ("b", f64::INFINITY, f64::NAN)]).len(), 1);
    }
}
