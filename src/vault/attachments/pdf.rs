//! PDF: the text of each page, in the order in which the page draws it.
//!
//! hayro finds the objects, also where the table of them is broken, decrypts what has no password, and draws each page on a [`Drawing`], letter
//! after letter. Where letters stand says what is a word, a line and a paragraph.

use std::panic::{AssertUnwindSafe, catch_unwind};

use hayro_interpret::font::{Glyph, GlyphRun};
use hayro_interpret::hayro_cmap::{BfString, WritingMode};
use hayro_interpret::hayro_syntax::content::TypedIter;
use hayro_interpret::hayro_syntax::object::{Array, Stream};
use hayro_interpret::hayro_syntax::page::Page;
use hayro_interpret::hayro_syntax::{LoadPdfError, Pdf};
use hayro_interpret::kurbo::{Affine, BezPath, Point, Rect, Vec2};
use hayro_interpret::{
    BlendMode, ClipPath, Context, Device, DrawMode, DrawProps, Image, ImageDrawProps, InterpreterCache,
    InterpreterSettings, SoftMask, interpret,
};
use unicode_normalization::UnicodeNormalization;

use super::reader::{DocumentPart, MAX_TEXT, Tell};

/// A file may have something before it, as mail puts there.
const LOOKED_AT: usize = 1024;
/// A gap between letters that is a blank, as a share of their height. Pairs of letters are moved by less, words by more.
const BLANK: f64 = 0.16;
/// How far a line is from the one before, at most, to be of the same paragraph.
const LINE: f64 = 1.9;
/// The units of a glyph, per height of its font.
const UNITS: f64 = 1000.0;

/// Reads a document, page by page.
pub(super) fn read(bytes: &[u8], tell: Tell<'_>) {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    if !head.windows(5).any(|window| window == b"%PDF-") {
        return tell(DocumentPart::Refused("it is not a PDF".into()));
    }
    let document = match Pdf::new(bytes.to_vec()) {
        Ok(document) => document,
        Err(LoadPdfError::Decryption(_)) => {
            return tell(DocumentPart::Refused("it is encrypted, and takes a password".into()));
        }
        Err(LoadPdfError::Invalid) => return tell(DocumentPart::Refused("it is damaged".into())),
    };
    let cache = InterpreterCache::new();
    let (mut is_empty, mut has_text, mut has_problem) = (true, false, false);
    for (number, page) in (1..).zip(document.pages().iter()) {
        is_empty = false;
        // One page that fails must not keep the others from being read.
        match catch_unwind(AssertUnwindSafe(|| paragraphs(&document, page, &cache))) {
            Ok(paragraphs) => {
                tell(DocumentPart::Page(number));
                has_text |= !paragraphs.is_empty();
                paragraphs.into_iter().for_each(|text| tell(DocumentPart::Text(text)));
            }
            Err(_) => {
                has_problem = true;
                tell(DocumentPart::Problem(format!("page {number}: it cannot be read")));
            }
        }
    }
    match (is_empty, has_text || has_problem) {
        (true, _) => tell(DocumentPart::Refused("it has no pages; it is damaged".into())),
        (_, false) => tell(DocumentPart::Refused("there is no text in it; it may be pictures of pages".into())),
        _ => {}
    }
}

/// The paragraphs of a page.
fn paragraphs<'a>(document: &'a Pdf, page: &Page<'a>, cache: &InterpreterCache<'a>) -> Vec<String> {
    let settings = InterpreterSettings::default();
    let area = Rect::new(0.0, 0.0, 1.0, 1.0);
    let mut context = Context::new(Affine::IDENTITY, area, cache, document.xref(), settings);
    let mut drawing = Drawing::default();
    interpret(TypedIter::new(&content(page)), page.resources(), &mut context, &mut drawing);
    drawing.end_paragraph();
    drawing.paragraphs
}

/// What a page draws. The page itself would keep it, and all pages together may unpack to more than there is memory.
fn content(page: &Page<'_>) -> Vec<u8> {
    let all = page.raw().get::<Array<'_>>("Contents");
    let all = all.iter().flat_map(|all| all.iter::<Stream<'_>>()).chain(page.raw().get::<Stream<'_>>("Contents"));
    let mut content = Vec::new();
    for part in all.filter_map(|stream| stream.decoded_data().ok()) {
        content.extend_from_slice(&part);
        // What ends in one does not go on in the next.
        content.push(b'\n');
    }
    content
}

/// A page as it is drawn, as far as it is text.
#[derive(Debug, Default)]
struct Drawing {
    paragraphs: Vec<String>,
    /// Lines of the paragraph that is being read.
    lines: Vec<String>,
    line: String,
    /// Bytes that were taken.
    bytes: usize,
    /// Where the last letter ended, and in which direction.
    end: Option<(Point, Vec2)>,
}

impl Device<'_> for Drawing {
    fn draw_glyph_run(&mut self, run: &GlyphRun<'_, '_>, props: DrawProps<'_>, _: &DrawMode) {
        let is_vertical = matches!(run.writing_mode(), WritingMode::Vertical);
        for glyph in run.glyphs() {
            let at = props.transform * glyph.transform();
            let (width, height) = match &**glyph {
                Glyph::Outline(glyph) => (glyph.advance_width().map_or(UNITS / 2.0, f64::from), UNITS),
                // A font that draws itself may say that its size is 1: a letter is about twice as high as it is wide.
                Glyph::Type3(glyph) => {
                    let width = glyph.advance_width().map_or(UNITS / 2.0, f64::from);
                    (width, UNITS.max(2.0 * width))
                }
            };
            let step = if is_vertical { Vec2::new(0.0, -UNITS) } else { Vec2::new(width, 0.0) };
            match (glyph.as_unicode(), &**glyph) {
                (Some(BfString::Char(letter)), _) => self.add(letter.encode_utf8(&mut [0; 4]), at, step, height),
                (Some(BfString::String(text)), _) => self.add(&text, at, step, height),
                // A table of drawings without names is no text; ASCII mostly is what it says.
                (None, Glyph::Type3(drawn)) => match u8::try_from(drawn.char_code()) {
                    Ok(code) if code.is_ascii_graphic() => {
                        self.add(char::from(code).encode_utf8(&mut [0; 4]), at, step, height)
                    }
                    _ => {}
                },
                (None, _) => {}
            }
        }
    }

    fn draw_path(&mut self, _: &BezPath, _: DrawProps<'_>, _: &DrawMode) {}
    fn draw_image(&mut self, _: Image<'_, '_>, _: ImageDrawProps<'_>) {}
    fn push_clip_path(&mut self, _: &ClipPath) {}
    fn pop_clip(&mut self) {}
    fn push_transparency_group(&mut self, _: f32, _: Option<SoftMask<'_>>, _: BlendMode) {}
    fn pop_transparency_group(&mut self) {}
}

impl Drawing {
    /// Takes a letter that stands at `at`, leads as far as `step` and is so high.
    fn add(&mut self, text: &str, at: Affine, step: Vec2, height: f64) {
        if text.is_empty() || self.bytes > MAX_TEXT {
            return;
        }
        self.bytes += text.len();
        let [a, b, c, d, ..] = at.as_coeffs();
        let turn = |step: Vec2| Vec2::new(a * step.x + c * step.y, b * step.x + d * step.y);
        let (leads, start) = (turn(step), at.translation().to_point());
        let right = if leads.hypot() > 0.0 && leads.is_finite() { leads.normalize() } else { Vec2::new(1.0, 0.0) };
        let height = turn(Vec2::new(0.0, height)).hypot();
        let height = if height.is_finite() && height > 0.0 { height } else { 1.0 };
        if let Some((end, before)) = self.end {
            let (along, across) = ((start - end).dot(right), (start - end).cross(right).abs());
            if right.dot(before) < 0.9 || across > LINE * height {
                self.end_paragraph();
            } else if across > 0.45 * height || along < -height {
                self.end_line();
            } else if along > BLANK * height && !self.line.ends_with(' ') && !text.starts_with(' ') {
                self.line.push(' ');
            }
        }
        for letter in text.chars() {
            // By letters that are drawn as one nobody searches.
            match letter {
                '\u{fb00}'..='\u{fb06}' => self.line.extend(letter.nfkc()),
                letter => self.line.push(letter),
            }
        }
        self.end = Some((start + leads, right));
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
            let hyphen = letters.next().is_some_and(|letter| matches!(letter, '-' | '\u{ad}' | '\u{2010}'));
            goes_on && hyphen && letters.next().is_some_and(char::is_alphabetic)
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
}

#[cfg(test)]
mod tests {
    use super::*;

    fn laid(texts: &[(&str, f64, f64)]) -> Vec<String> {
        let mut drawing = Drawing::default();
        for (text, x, y) in texts {
            let at = Affine::translate((*x, *y)) * Affine::scale(10.0 / UNITS);
            drawing.add(text, at, Vec2::new(text.chars().count() as f64 * UNITS / 2.0, 0.0), UNITS);
        }
        drawing.end_paragraph();
        drawing.paragraphs
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
