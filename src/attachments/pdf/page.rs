//! What a page draws, as far as it is text.

use std::collections::HashMap;
use std::rc::Rc;

use lopdf::{Dictionary, Document, Error, Object, ObjectId};

use super::font::{MAX_STREAM, PdfFont};
use super::layout::Layout;
use super::matrix::Matrix;
use super::tokens::{ContentToken, ContentTokens, Operand};
use crate::attachments::part::MAX_TEXT;

/// Maximum depth of drawings within drawings.
const MAX_DEPTH: usize = 12;
/// Maximum times that a page draws such a thing.
const MAX_DRAWN: usize = 10_000;
/// Maximum states that are put aside.
const MAX_STATES: usize = 512;
/// Maximum number of operands before an operator that count.
const MAX_OPERANDS: usize = 32;
/// Maximum fonts that are kept.
const MAX_FONTS: usize = 500;

/// Reads the pages of a document.
pub(super) struct PageReader<'d> {
    document: &'d Document,
    fonts: HashMap<ObjectId, Rc<PdfFont>>,
}

/// What changes as a page is drawn.
#[derive(Clone)]
struct DrawState {
    place: Matrix,
    font: Option<Rc<PdfFont>>,
    size: f64,
    letter_gap: f64,
    blank_gap: f64,
    stretch: f64,
    leading: f64,
}

/// A page that is being read.
struct Drawing<'r, 'd> {
    reader: &'r mut PageReader<'d>,
    layout: Layout,
    state: DrawState,
    aside: Vec<DrawState>,
    /// Where the next letter stands, and where its line begins.
    letter: Matrix,
    line: Matrix,
    /// How many things within the page were drawn.
    drawn: usize,
}

impl<'d> PageReader<'d> {
    pub(super) fn new(document: &'d Document) -> Self {
        Self { document, fonts: HashMap::new() }
    }

    /// The paragraphs of a page.
    ///
    /// # Errors
    /// When what it draws cannot be unpacked.
    pub(super) fn read(&mut self, page: ObjectId) -> Result<Vec<String>, Error> {
        let document = self.document;
        let content = document.get_page_content_with_limit(page, MAX_STREAM)?;
        let (own, others) = document.get_page_resources(page)?;
        let others = others.into_iter().filter_map(|id| document.get_dictionary(id).ok());
        let resources: Vec<&Dictionary> = own.into_iter().chain(others).collect();
        let state = DrawState {
            place: Matrix::SAME,
            font: None,
            size: 1.0,
            letter_gap: 0.0,
            blank_gap: 0.0,
            stretch: 1.0,
            leading: 0.0,
        };
        let mut drawing = Drawing {
            reader: self,
            layout: Layout::default(),
            state,
            aside: Vec::new(),
            letter: Matrix::SAME,
            line: Matrix::SAME,
            drawn: 0,
        };
        drawing.draw(&content, &resources, 0);
        Ok(drawing.layout.finish())
    }

    fn font(&mut self, resources: &[&'d Dictionary], name: &[u8]) -> Option<Rc<PdfFont>> {
        let object = resource(self.document, resources, b"Font", name)?;
        let id = object.as_reference().ok();
        if let Some(known) = id.and_then(|id| self.fonts.get(&id)) {
            return Some(Rc::clone(known));
        }
        let font = self.document.dereference(object).ok()?.1.as_dict().ok()?;
        let font = Rc::new(PdfFont::read(self.document, font));
        if let Some(id) = id {
            if self.fonts.len() >= MAX_FONTS {
                self.fonts.clear();
            }
            self.fonts.insert(id, Rc::clone(&font));
        }
        Some(font)
    }
}

/// What a name means, in the nearest of the resources that has it.
fn resource<'d>(document: &'d Document, resources: &[&'d Dictionary], kind: &[u8], name: &[u8]) -> Option<&'d Object> {
    resources.iter().find_map(|resources| resources.get_deref(kind, document).ok()?.as_dict().ok()?.get(name).ok())
}

impl<'d> Drawing<'_, 'd> {
    fn draw(&mut self, content: &[u8], resources: &[&'d Dictionary], depth: usize) {
        let mut tokens = ContentTokens::new(content);
        let mut operands = Vec::new();
        while let Some(token) = tokens.next() {
            match token {
                ContentToken::Operand(operand) => {
                    if operands.len() == MAX_OPERANDS {
                        operands.remove(0);
                    }
                    operands.push(operand);
                }
                ContentToken::Operator(b"ID") => tokens.skip_picture(),
                ContentToken::Operator(operator) => {
                    self.operate(operator, &operands, resources, depth);
                    operands.clear();
                }
            }
            if self.layout.bytes() > MAX_TEXT {
                return;
            }
        }
    }

    fn operate(&mut self, operator: &[u8], operands: &[Operand], resources: &[&'d Dictionary], depth: usize) {
        let numbers = Numbers(operands);
        match operator {
            b"q" if self.aside.len() < MAX_STATES => self.aside.push(self.state.clone()),
            b"Q" => self.state = self.aside.pop().unwrap_or_else(|| self.state.clone()),
            b"cm" => self.state.place = numbers.matrix().then(self.state.place),
            b"BT" => (self.letter, self.line) = (Matrix::SAME, Matrix::SAME),
            b"Tf" => {
                if let [.., Operand::Name(name), Operand::Number(size)] = operands {
                    (self.state.font, self.state.size) = (self.reader.font(resources, name), *size);
                }
            }
            b"Tc" => self.state.letter_gap = numbers.last(0),
            b"Tw" => self.state.blank_gap = numbers.last(0),
            b"Tz" => self.state.stretch = numbers.last(0) / 100.0,
            b"TL" => self.state.leading = numbers.last(0),
            b"Td" => self.next_line(numbers.last(1), numbers.last(0)),
            b"TD" => {
                self.state.leading = -numbers.last(0);
                self.next_line(numbers.last(1), numbers.last(0));
            }
            b"Tm" => (self.letter, self.line) = (numbers.matrix(), numbers.matrix()),
            b"T*" => self.next_line(0.0, -self.state.leading),
            b"Tj" => self.show_last(operands),
            b"'" => {
                self.next_line(0.0, -self.state.leading);
                self.show_last(operands);
            }
            b"\"" => {
                (self.state.blank_gap, self.state.letter_gap) = (numbers.last(2), numbers.last(1));
                self.next_line(0.0, -self.state.leading);
                self.show_last(operands);
            }
            b"TJ" => {
                let Some(Operand::Array(each)) = operands.last() else { return };
                for part in each {
                    match part {
                        Operand::Text(bytes) => self.show(bytes),
                        Operand::Number(back) => {
                            let step = -back / 1000.0 * self.state.size * self.state.stretch;
                            self.letter = Matrix::moved(step, 0.0).then(self.letter);
                        }
                        _ => {}
                    }
                }
            }
            b"Do" => {
                if let Some(Operand::Name(name)) = operands.last() {
                    self.draw_form(name, resources, depth);
                }
            }
            _ => {}
        }
    }

    fn next_line(&mut self, x: f64, y: f64) {
        self.line = Matrix::moved(x, y).then(self.line);
        self.letter = self.line;
    }

    fn show_last(&mut self, operands: &[Operand]) {
        if let Some(Operand::Text(bytes)) = operands.last() {
            self.show(bytes);
        }
    }

    fn show(&mut self, bytes: &[u8]) {
        let Some(font) = &self.state.font else { return };
        let shown = font.show(bytes);
        let state = &self.state;
        let gaps = shown.codes as f64 * state.letter_gap + shown.blanks as f64 * state.blank_gap;
        let width = (shown.width * state.size + gaps) * state.stretch;
        let at = self.letter.then(state.place);
        self.layout.add(&shown.text, at, at.height() * state.size.abs(), width);
        self.letter = Matrix::moved(width, 0.0).then(self.letter);
    }

    /// Draws what a page has put into a thing of its own.
    fn draw_form(&mut self, name: &[u8], resources: &[&'d Dictionary], depth: usize) {
        self.drawn += 1;
        if depth >= MAX_DEPTH || self.drawn > MAX_DRAWN {
            return;
        }
        let document = self.reader.document;
        let Some(object) = resource(document, resources, b"XObject", name) else { return };
        let Ok(form) = document.dereference(object).and_then(|(_, form)| form.as_stream()) else { return };
        if form.dict.get(b"Subtype").and_then(Object::as_name).ok() != Some(b"Form".as_slice()) {
            return;
        }
        let Ok(content) = form.get_plain_content_with_limit(MAX_STREAM) else { return };
        let own = form.dict.get_deref(b"Resources", document).and_then(Object::as_dict).ok();
        let all: Vec<&Dictionary> = own.into_iter().chain(resources.iter().copied()).take(MAX_DEPTH * 4).collect();
        let matrix = form.dict.get_deref(b"Matrix", document).and_then(Object::as_array).ok();
        let matrix = matrix.map(|numbers| numbers.iter().filter_map(|number| number.as_float().ok()).map(f64::from));
        let matrix: Vec<f64> = matrix.into_iter().flatten().collect();
        let (before, letter, line, aside) =
            (self.state.clone(), self.letter, self.line, std::mem::take(&mut self.aside));
        if let Ok(matrix) = <[f64; 6]>::try_from(matrix) {
            self.state.place = Matrix(matrix).then(self.state.place);
        }
        self.draw(&content, &all, depth + 1);
        (self.state, self.letter, self.line, self.aside) = (before, letter, line, aside);
    }
}

/// The numbers before an operator.
struct Numbers<'o>(&'o [Operand]);

impl Numbers<'_> {
    /// One of them, counted from the last.
    fn last(&self, from_end: usize) -> f64 {
        match self.0.iter().rev().nth(from_end) {
            Some(Operand::Number(number)) => *number,
            // Before `"` stands a text, too.
            _ => 0.0,
        }
    }

    fn matrix(&self) -> Matrix {
        if self.0.len() < 6 {
            return Matrix::SAME;
        }
        Matrix([5, 4, 3, 2, 1, 0].map(|at| self.last(at)))
    }
}
