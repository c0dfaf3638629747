//! From the parts of a document, as its reader tells them, to its text, which is what is indexed, cited and shown.

use std::io;

use serde::{Deserialize, Serialize};

use crate::base::path::AttachmentKind;
use crate::text::note::plain_heading;

/// How the heading of a page begins.
const PAGE: &str = "Page ";

/// The text of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DocumentText {
    /// Headings as `## …` at the start of a line, paragraphs between blank lines.
    pub(super) text: String,
    /// What of it could not be read.
    pub(super) problems: Vec<String>,
}

/// Maximum problems that are told of one document.
const MAX_PROBLEMS: usize = 20;

impl DocumentText {
    /// Takes the next part. A page without a text leaves nothing.
    pub(super) fn add(&mut self, part: DocumentPart, page: &mut Option<u32>) {
        match part {
            DocumentPart::Page(number) => *page = Some(number),
            DocumentPart::Heading(level, text) => {
                let text = one_line(&text);
                if !text.is_empty() {
                    self.section(&format!("{} {text}", "#".repeat(level.clamp(1, 6).into())));
                }
            }
            DocumentPart::Text(text) => {
                let text = paragraph(&text);
                if !text.is_empty() {
                    if let Some(number) = page.take() {
                        self.section(&format!("## {PAGE}{number}"));
                    }
                    self.section(&text);
                }
            }
            DocumentPart::Problem(reason) if self.problems.len() < MAX_PROBLEMS => {
                self.problems.push(one_line(&reason))
            }
            _ => {}
        }
    }

    fn section(&mut self, text: &str) {
        if self.text.len() + text.len() > MAX_TEXT {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// A text without control characters and what is not shown.
fn clean(text: &str) -> String {
    text.chars().map(|c| if is_blank(c) { ' ' } else { c }).filter(|c| is_shown(*c)).collect()
}

/// The same, its blank space made single.
fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A paragraph whose lines are no headings, without blank lines.
fn paragraph(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{2028}', '\u{2029}']) {
        let line = clean(line);
        let line = line.trim_end();
        if line.trim().is_empty() {
            continue;
        }
        // A blank before it keeps it from being one of ours.
        lines.push(if plain_heading(line).is_some() { format!(" {line}") } else { line.to_owned() });
    }
    lines.join("\n")
}

fn is_blank(c: char) -> bool {
    c.is_control() || matches!(c, '\u{a0}' | '\u{2028}' | '\u{2029}')
}

/// Soft hyphens and what has no width part words that are one.
fn is_shown(c: char) -> bool {
    !matches!(c, '\u{ad}' | '\u{200b}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// The page that a passage of an attachment stands on, by the headings above it; `None` where there are no pages.
pub fn page_of(path: &str, heading_path: &[String]) -> Option<u32> {
    if AttachmentKind::of(path) != Some(AttachmentKind::Pdf) {
        return None;
    }
    heading_path.first()?.strip_prefix(PAGE)?.parse().ok()
}

/// The first and the last line of a page of a PDF's text, from 1.
pub(crate) fn page_lines(text: &str, page: u32) -> Option<(usize, usize)> {
    let wanted = format!("## {PAGE}{page}");
    let mut lines = (1..).zip(text.lines()).skip_while(|(_, line)| *line != wanted);
    let (first, _) = lines.next()?;
    let rest = lines.take_while(|(_, line)| !line.starts_with("## "));
    let last = rest.filter(|(_, line)| !line.is_empty()).last().map_or(first, |(last, _)| last);
    Some((first, last))
}

/// A part of a document, in the order in which it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DocumentPart {
    /// What follows is on this page, from 1.
    Page(u32),
    /// A heading with its level, 1 to 6.
    Heading(u8, String),
    /// A paragraph; it may have several lines.
    Text(String),
    /// Something that was not read, and why. What follows is read all the same.
    Problem(String),
    /// Nothing more can be read, and why.
    Refused(String),
    /// What of the confinement this system does not have.
    Unconfined(String),
    /// All of it was told.
    End,
}

/// Takes the parts of a document; an error where whoever listens wants no more.
pub(super) type Tell<'a> = &'a mut dyn FnMut(DocumentPart) -> io::Result<()>;

/// Maximum length of a paragraph, in bytes; a longer one is told in pieces.
pub(super) const MAX_PARAGRAPH: usize = 64 * 1024;

/// Maximum bytes of a document's text that are told.
pub(super) const MAX_TEXT: usize = 16_000_000;

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(parts: Vec<DocumentPart>) -> String {
        let (mut text, mut page) = (DocumentText::default(), None);
        parts.into_iter().for_each(|part| text.add(part, &mut page));
        text.text
    }

    #[test]
    fn parts_become_sections_and_pages_without_a_text_leave_nothing() {
        let parts = vec![
            DocumentPart::Page(1),
            DocumentPart::Text("one\n\n# two\r\nthr\u{ad}ee\u{0}".into()),
            DocumentPart::Text("four".into()),
            DocumentPart::Page(2),
            DocumentPart::Text(" \n ".into()),
            DocumentPart::Page(3),
            DocumentPart::Text("five".into()),
        ];
        let text = text_of(parts);
        assert_eq!(text, "## Page 1\n\none\n # two\nthree\n\nfour\n\n## Page 3\n\nfive\n");
        assert_eq!(page_lines(&text, 1), Some((1, 7)));
        assert_eq!(page_lines(&text, 3), Some((9, 11)));
        assert_eq!(page_lines(&text, 2), None);
    }

    #[test]
    fn a_heading_is_one_line() {
        assert_eq!(text_of(vec![DocumentPart::Heading(9, " a\n b\tc ".into())]), "###### a b c\n");
        assert_eq!(text_of(vec![DocumentPart::Heading(1, "\n".into())]), "");
    }

    #[test]
    fn only_a_pdf_has_pages() {
        let heading = ["Page 3".to_owned()];
        assert_eq!(page_of("a/b.PDF", &heading), Some(3));
        assert_eq!(page_of("a/b.docx", &heading), None);
        assert_eq!(page_of("a/b.pdf", &["Pages".to_owned()]), None);
    }
}
