//! What the codes of a font mean, and how wide they are.

use std::collections::HashMap;

use encoding_rs::{BIG5, EUC_JP, EUC_KR, GB18030, SHIFT_JIS, UTF_16BE};
use lopdf::{Dictionary, Document, Object};

use super::cmap::CodeMap;

/// Maximum bytes that a stream of a document unpacks to.
pub(super) const MAX_STREAM: usize = 64 << 20;
/// Maximum widths that are known of a font.
const MAX_WIDTHS: usize = 70_000;

/// A font as far as text is concerned.
pub(super) struct PdfFont {
    map: Option<CodeMap>,
    letters: Letters,
    widths: HashMap<u32, f64>,
    usual_width: Option<f64>,
}

/// What codes are without a table.
enum Letters {
    /// One byte each: what each of the 256 is.
    Bytes(Vec<String>),
    /// An encoding of several bytes, by its name.
    Named(&'static encoding_rs::Encoding),
    /// Numbers of drawings, two bytes each.
    Unknown,
}

/// A text as a font shows it.
#[derive(Debug, Default)]
pub(super) struct ShownText {
    pub(super) text: String,
    /// How far it leads to the right, for a font of size 1.
    pub(super) width: f64,
    /// How many codes it has, and how many of them are the byte 32.
    pub(super) codes: usize,
    pub(super) blanks: usize,
}

impl PdfFont {
    /// Reads a font of a document.
    pub(super) fn read(document: &Document, font: &Dictionary) -> Self {
        let is_composite = font.get(b"Subtype").and_then(Object::as_name).is_ok_and(|name| name == b"Type0");
        let stream = font.get_deref(b"ToUnicode", document).and_then(Object::as_stream);
        let table = stream.and_then(|stream| stream.get_plain_content_with_limit(MAX_STREAM));
        let map = table.ok().map(|table| CodeMap::read(&table)).filter(|map| !map.is_empty());
        if is_composite {
            let letters = named_encoding(document, font).map_or(Letters::Unknown, Letters::Named);
            let descendant = font.get_deref(b"DescendantFonts", document).and_then(Object::as_array);
            let descendant = descendant.ok().and_then(|fonts| fonts.first());
            let descendant = descendant.and_then(|font| document.dereference(font).ok()?.1.as_dict().ok());
            let (widths, usual) = descendant.map(|font| composite_widths(document, font)).unwrap_or_default();
            return Self { map, letters, widths, usual_width: Some(usual.unwrap_or(1.0)) };
        }
        Self {
            map,
            letters: Letters::Bytes(letters(document, font)),
            widths: widths(document, font),
            usual_width: None,
        }
    }

    /// What is shown for some bytes.
    pub(super) fn show(&self, bytes: &[u8]) -> ShownText {
        let mut shown = ShownText::default();
        if let (None, Letters::Named(encoding)) = (&self.map, &self.letters) {
            shown.text = encoding.decode_without_bom_handling(bytes).0.into_owned();
            shown.codes = bytes.len() / 2;
            shown.width = shown.codes as f64 * self.usual_width.unwrap_or(1.0);
            return shown;
        }
        let usual = if matches!(self.letters, Letters::Bytes(_)) { 1 } else { 2 };
        let mut rest = bytes;
        while !rest.is_empty() {
            let (code, length) = match &self.map {
                // The table of a simple font may say that its codes have two bytes, and they have one all the same.
                Some(map) if usual == 2 => map.next(rest, usual),
                _ => {
                    let length = usual.min(rest.len());
                    (rest[..length].iter().fold(0, |code, byte| code << 8 | u32::from(*byte)), length)
                }
            };
            let before = shown.text.len();
            let is_known = self.map.as_ref().is_some_and(|map| map.get(code, &mut shown.text));
            if !is_known && let Letters::Bytes(letters) = &self.letters {
                shown.text.push_str(letters.get(code as usize).map_or("", String::as_str));
            }
            let width = self.widths.get(&code).copied().or(self.usual_width);
            shown.width += width.unwrap_or_else(|| guessed_width(&shown.text[before..]));
            shown.codes += 1;
            shown.blanks += usize::from(length == 1 && code == 32);
            rest = &rest[length..];
        }
        shown
    }
}

/// What each byte is in a simple font.
fn letters(document: &Document, font: &Dictionary) -> Vec<String> {
    let encoding = font.get_font_encoding_with_limit(document, MAX_STREAM);
    let encoding = encoding.unwrap_or(lopdf::Encoding::SimpleEncoding(b"WinAnsiEncoding"));
    let letter = |byte: u8| {
        let text = encoding.bytes_to_string(&[byte]).unwrap_or_default();
        // A table of drawings without names is no text; ASCII mostly is what it says.
        if text.is_empty() && byte.is_ascii_graphic() { char::from(byte).into() } else { text }
    };
    (0..=255).map(letter).collect()
}

/// The encoding that a composite font names.
fn named_encoding(document: &Document, font: &Dictionary) -> Option<&'static encoding_rs::Encoding> {
    let name = font.get_deref(b"Encoding", document).and_then(Object::as_name).ok()?;
    let name = std::str::from_utf8(name).ok()?;
    let has = |part: &str| name.contains(part);
    match () {
        () if has("UCS2") || has("UTF16") => Some(UTF_16BE),
        () if has("GBK") || has("GBpc") || has("GB-EUC") => Some(GB18030),
        () if has("RKSJ") => Some(SHIFT_JIS),
        () if has("KSC") => Some(EUC_KR),
        () if has("B5") || has("ETen") => Some(BIG5),
        () if name == "EUC-H" || name == "EUC-V" => Some(EUC_JP),
        () => None,
    }
}

fn number(document: &Document, object: &Object) -> Option<f64> {
    document.dereference(object).ok()?.1.as_float().ok().map(f64::from)
}

fn widths(document: &Document, font: &Dictionary) -> HashMap<u32, f64> {
    let first = font.get(b"FirstChar").ok().and_then(|first| number(document, first)).unwrap_or(0.0) as u32;
    let Ok(all) = font.get_deref(b"Widths", document).and_then(Object::as_array) else { return HashMap::new() };
    // Fonts that draw themselves have a measure of their own; the usual one is close enough.
    (first..)
        .zip(all.iter().take(MAX_WIDTHS))
        .filter_map(|(code, width)| Some((code, number(document, width)? / 1000.0)))
        .collect()
}

/// The widths of a composite font: `code [w w …]` and `first last w`; and that of all others.
fn composite_widths(document: &Document, font: &Dictionary) -> (HashMap<u32, f64>, Option<f64>) {
    let usual = font.get(b"DW").ok().and_then(|width| number(document, width)).map(|width| width / 1000.0);
    let mut widths = HashMap::new();
    let all = font.get_deref(b"W", document).and_then(Object::as_array).map(Vec::as_slice).unwrap_or_default();
    let mut rest = all;
    while let [first, second, after @ ..] = rest {
        rest = after;
        let (Some(first), Ok((_, second))) = (number(document, first), document.dereference(second)) else { continue };
        let first = first as u32;
        if let Ok(each) = second.as_array() {
            for (code, width) in (first..).zip(each.iter().take(MAX_WIDTHS)) {
                widths.extend(number(document, width).map(|width| (code, width / 1000.0)));
            }
        } else if let (Ok(last), [width, after @ ..]) = (second.as_float(), after) {
            rest = after;
            let Some(width) = number(document, width) else { continue };
            let last = (last as u32).min(first.saturating_add(MAX_WIDTHS as u32));
            widths.extend((first..=last).map(|code| (code, width / 1000.0)));
        }
        if widths.len() > MAX_WIDTHS {
            break;
        }
    }
    (widths, usual)
}

/// How wide letters are where the font does not say, as one of those that every reader has: about as in Helvetica.
fn guessed_width(text: &str) -> f64 {
    let width = |character: char| match character {
        'i' | 'j' | 'l' | 'f' | 't' | 'I' | ' ' | '.' | ',' | ':' | ';' | '!' | '\'' | '|' | '/' | '(' | ')' => 0.28,
        'm' | 'w' | 'M' | 'W' | '@' | '%' => 0.85,
        character if character.is_uppercase() => 0.68,
        character if character.is_ascii() => 0.54,
        _ => 0.6,
    };
    if text.is_empty() { 0.5 } else { text.chars().map(width).sum() }
}
