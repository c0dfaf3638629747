//! Word documents (DOCX): an archive with XML in it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Cursor, Read};

use quick_xml::XmlVersion;
use quick_xml::events::{BytesStart, Event};
use quick_xml::reader::Reader;
use zip::ZipArchive;
use zip::result::ZipError;

use super::reader::{DocumentPart, MAX_PARAGRAPH, Tell};

/// Maximum bytes that a part of the archive unpacks to. The largest books are a tenth of that.
const MAX_XML: u64 = 256 << 20;
/// Maximum styles that are known.
const MAX_STYLES: usize = 10_000;
/// How the files of older versions of Word, and encrypted ones, begin.
const COMPOUND: &[u8] = &[0xd0, 0xcf, 0x11, 0xe0];

type DocxArchive<'a> = ZipArchive<Cursor<&'a [u8]>>;

/// Reads a document.
pub(super) fn read(bytes: &[u8], tell: Tell<'_>) {
    if bytes.starts_with(COMPOUND) {
        let reason = "it is encrypted with a password, or of a version of Word before 2007";
        return tell(DocumentPart::Refused(reason.into()));
    }
    let mut archive = match ZipArchive::new(Cursor::new(bytes)) {
        Ok(archive) => archive,
        Err(error) => return tell(DocumentPart::Refused(format!("it is not a Word document: {error}"))),
    };
    // Some programs number it.
    let is_main = |name: &&str| name.starts_with("word/document") && name.ends_with(".xml");
    let main = archive.file_names().find(is_main).unwrap_or("word/document.xml").to_owned();
    let styles = part(&mut archive, "word/styles.xml").ok().map(styles).unwrap_or_default();
    let text = match part(&mut archive, &main) {
        Ok(text) => text,
        Err(ZipError::FileNotFound) => {
            return tell(DocumentPart::Refused(format!("it is not a Word document: it has no `{main}`")));
        }
        Err(error) => return tell(DocumentPart::Refused(format!("its text cannot be read: {error}"))),
    };
    paragraphs(text, &styles, tell);
    for notes in ["word/footnotes.xml", "word/endnotes.xml"] {
        if let Ok(text) = part(&mut archive, notes) {
            paragraphs(text, &styles, tell);
        }
    }
}

fn part<'a>(archive: &'a mut DocxArchive<'_>, name: &str) -> Result<impl BufRead + 'a, ZipError> {
    Ok(BufReader::with_capacity(64 * 1024, archive.by_name(name)?.take(MAX_XML)))
}

/// The levels of headings by the names of styles: what they are called in a language says nothing, what they are based on does.
fn styles(xml: impl BufRead) -> HashMap<String, u8> {
    let (mut levels, mut current): (HashMap<String, u8>, Option<String>) = (HashMap::new(), None);
    // What is damaged leaves the styles before it.
    let _ = each(xml, &mut |event| {
        let (Event::Start(element) | Event::Empty(element)) = event else { return };
        let val = || attribute(element, "val");
        let level = match element.local_name().into_inner() {
            "style" => {
                current = attribute(element, "styleId");
                None
            }
            "name" => val().and_then(|name| level_of(&name)),
            // What it says itself counts.
            "basedOn" if current.as_ref().is_some_and(|style| levels.contains_key(style)) => None,
            "basedOn" => val().and_then(|base| levels.get(&base).copied()),
            "outlineLvl" => match (&current, val().and_then(|level| level.parse::<u8>().ok())) {
                (_, Some(level @ 0..=5)) => Some(level + 1),
                // Body text, as the heading of a table of contents.
                (Some(style), Some(9)) => levels.remove(style).and(None),
                _ => None,
            },
            _ => None,
        };
        if let (Some(style), Some(level), true) = (&current, level, levels.len() < MAX_STYLES) {
            levels.insert(style.clone(), level);
        }
    });
    levels
}

/// The level that the English name of a style means, which all versions write.
fn level_of(name: &str) -> Option<u8> {
    let name = name.to_lowercase();
    if name == "title" {
        return Some(1);
    }
    let level: u8 = name.strip_prefix("heading")?.trim_start_matches([' ', '-']).parse().ok()?;
    (1..=9).contains(&level).then_some(level.min(6))
}

/// Gives each event of an XML text to `take`, until it ends or is wrong: then why.
fn each(xml: impl BufRead, take: &mut dyn FnMut(&Event<'_>)) -> Option<String> {
    let mut reader = Reader::from_reader(xml);
    let mut buffer = Vec::new();
    loop {
        match reader.read_event_into(&mut buffer) {
            Ok(Event::Eof) => return None,
            Ok(event) => take(&event),
            Err(error) => return Some(error.to_string()),
        }
        buffer.clear();
    }
}

fn attribute(element: &BytesStart<'_>, name: &str) -> Option<String> {
    let found = element.attributes().flatten().find(|attribute| attribute.key.local_name().into_inner() == name)?;
    let value = found.normalized_value(XmlVersion::Implicit1_0);
    Some(value.map_or_else(|_| found.value.to_string(), Cow::into_owned))
}

/// Tells the paragraphs of a part.
fn paragraphs(xml: impl BufRead, styles: &HashMap<String, u8>, tell: Tell<'_>) {
    let mut body = DocxBody::default();
    let wrong = each(xml, &mut |event| {
        match event {
            Event::Start(element) => body.open(element, styles),
            Event::Empty(element) => {
                body.open(element, styles);
                body.close(element.local_name().into_inner());
            }
            Event::End(element) => body.close(element.local_name().into_inner()),
            Event::Text(text) => body.text(&text.xml10_content()),
            Event::CData(text) => body.text(&text.xml10_content()),
            Event::GeneralRef(reference) => match reference.resolve_char_ref() {
                Ok(Some(character)) => body.text(character.encode_utf8(&mut [0; 4])),
                // Entities of its own are not written out: they may grow without end.
                _ => body.text(quick_xml::escape::resolve_xml_entity(&reference.xml10_content()).unwrap_or_default()),
            },
            _ => {}
        }
        body.told.drain(..).for_each(&mut *tell);
    });
    body.end_paragraph();
    body.end_row();
    body.told.drain(..).for_each(&mut *tell);
    if let Some(wrong) = wrong {
        tell(DocumentPart::Problem(format!("the document is damaged; the rest is left out: {wrong}")));
    }
}

/// Where in a document's text the reader is.
#[derive(Default)]
struct DocxBody {
    /// What is to be told.
    told: Vec<DocumentPart>,
    line: String,
    /// The cells of the row so far.
    row: Option<Vec<String>>,
    level: Option<u8>,
    is_item: bool,
    /// Elements that are open and left out with all that is in them.
    left_out: usize,
    /// Within a run, whose text is not shown if `is_hidden`.
    is_hidden: bool,
    in_text: bool,
    /// Within the properties of a run, where `vanish` counts.
    in_properties: bool,
}

/// Maximum bytes of a row.
const MAX_ROW: usize = 64 * 1024;

impl DocxBody {
    fn open(&mut self, element: &BytesStart<'_>, styles: &HashMap<String, u8>) {
        let name = element.local_name();
        let name = name.into_inner();
        // The same text once more, for programs that cannot show it otherwise.
        if self.left_out > 0 || name == "Fallback" {
            self.left_out += 1;
            return;
        }
        let val = || attribute(element, "val");
        match name {
            "p" => self.end_paragraph(),
            "pStyle" => self.level = val().and_then(|style| styles.get(&style).copied()).or(self.level),
            "outlineLvl" => {
                let level = val().and_then(|level| level.parse::<u8>().ok()).filter(|level| *level < 6);
                self.level = level.map(|level| level + 1).or(self.level);
            }
            "numPr" => self.is_item = true,
            "r" => self.is_hidden = false,
            "rPr" => self.in_properties = true,
            "vanish" if self.in_properties => {
                self.is_hidden = !val().is_some_and(|value| matches!(value.as_str(), "0" | "false" | "off"));
            }
            "t" => self.in_text = true,
            "tab" if !self.in_properties => self.push(" "),
            "br" | "cr" => self.push("\n"),
            "noBreakHyphen" => self.push("-"),
            "tr" => {
                self.end_paragraph();
                self.end_row();
                self.row = Some(Vec::new());
            }
            _ => {}
        }
    }

    fn close(&mut self, name: &str) {
        if self.left_out > 0 {
            self.left_out -= 1;
            return;
        }
        match name {
            "p" => self.end_paragraph(),
            "t" => self.in_text = false,
            "r" => self.is_hidden = false,
            "rPr" => self.in_properties = false,
            "tr" => self.end_row(),
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if self.in_text && self.left_out == 0 {
            self.push(text);
        }
    }

    fn push(&mut self, text: &str) {
        if self.is_hidden {
            return;
        }
        self.line.push_str(text);
        if self.line.len() > MAX_PARAGRAPH {
            self.told.push(DocumentPart::Text(std::mem::take(&mut self.line)));
        }
    }

    fn end_paragraph(&mut self) {
        let line = std::mem::take(&mut self.line);
        let (level, is_item) = (self.level.take(), std::mem::take(&mut self.is_item));
        if line.trim().is_empty() {
            return;
        }
        match &mut self.row {
            Some(row) => {
                row.push(line.split_whitespace().collect::<Vec<_>>().join(" "));
                if row.iter().map(String::len).sum::<usize>() > MAX_ROW {
                    self.end_row();
                }
            }
            None => self.told.push(match level {
                Some(level) => DocumentPart::Heading(level, line),
                None if is_item => DocumentPart::Text(format!("- {line}")),
                None => DocumentPart::Text(line),
            }),
        }
    }

    fn end_row(&mut self) {
        if let Some(row) = self.row.take().filter(|row| !row.is_empty()) {
            self.told.push(DocumentPart::Text(row.join(" | ")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_is_a_heading_as_the_one_that_it_is_based_on() {
        let xml = "<styles><style styleId='h2'><name val='heading 2'/></style><style styleId='Kapitel'><name val='Kapitel'/>\
                   <basedOn val='h2'/></style><style styleId='x'><basedOn val='Normal'/></style>\
                   <style styleId='toc'><basedOn val='h2'/><outlineLvl val='9'/></style></styles>";
        assert_eq!(styles(xml.as_bytes()), HashMap::from([("h2".into(), 2), ("Kapitel".into(), 2)]));
    }
}
