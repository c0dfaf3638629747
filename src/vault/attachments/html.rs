//! Web pages, in whatever encoding they are: the text that a reader of the page sees, with its headings.

use std::borrow::Cow;

use encoding_rs::{Encoding, UTF_8, WINDOWS_1252};
use html5gum::{DefaultEmitter, Token, Tokenizer};

use super::reader::{DocumentPart, MAX_PARAGRAPH, Tell};

/// Elements that hold no text of the page.
const LEFT_OUT: [&str; 14] = [
    "script", "style", "template", "nav", "noscript", "iframe", "svg", "canvas", "object", "select", "button", "math",
    "video", "audio",
];
/// Elements that never have anything in them.
const EMPTY: [&str; 14] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"];
/// Elements within a line.
const INLINE: [&str; 29] = [
    "a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font", "i", "ins", "kbd", "label",
    "mark", "q", "ruby", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "u", "var",
];
/// Reads a page.
pub(super) fn read(bytes: &[u8], tell: Tell<'_>) {
    let has_mark = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
    if !has_mark && bytes.iter().take(1024).any(|byte| *byte == 0) {
        return tell(DocumentPart::Refused("it is not a web page: it has zero bytes".into()));
    }
    let text = decode(bytes);
    let mut emitter = DefaultEmitter::default();
    emitter.naively_switch_states(true);
    let mut page = WebPage::new(tell);
    for token in Tokenizer::new_with_emitter(&*text, emitter) {
        let Ok(token) = token;
        match token {
            Token::StartTag(tag) => {
                let is_hidden = tag.attributes.iter().any(|(name, value)| hides(name, value));
                page.open(&name_of(&tag.name), is_hidden, tag.self_closing);
            }
            Token::EndTag(tag) => page.close(&name_of(&tag.name)),
            Token::String(text) => page.text(&String::from_utf8_lossy(&text)),
            Token::Comment(_) | Token::Doctype(_) | Token::Error(_) => {}
        }
    }
    page.flush();
    if let Some(title) = page.title.take() {
        (page.tell)(DocumentPart::Heading(1, title));
    }
}

fn name_of(name: &[u8]) -> String {
    String::from_utf8_lossy(name).to_ascii_lowercase()
}

/// Whether an attribute keeps an element from being seen. What nobody sees, nobody has read before.
fn hides(name: &[u8], value: &[u8]) -> bool {
    match name {
        b"hidden" => !value.eq_ignore_ascii_case(b"until-found"),
        b"style" => {
            let style: Vec<u8> =
                value.iter().filter(|byte| !byte.is_ascii_whitespace()).map(u8::to_ascii_lowercase).collect();
            [b"display:none".as_slice(), b"visibility:hidden"]
                .iter()
                .any(|hidden| style.windows(hidden.len()).any(|at| at == *hidden))
        }
        _ => false,
    }
}

/// A page as far as it was read.
struct WebPage<'a> {
    tell: Tell<'a>,
    /// The element that is left out with all that is in it, and how many of its name are open.
    left_out: Option<(String, usize)>,
    /// The level of the heading that is open.
    heading: Option<u8>,
    in_title: bool,
    /// What the head says, until something of the body is told.
    title: Option<String>,
    /// Blank space stands as it is.
    preformatted: usize,
    /// The paragraph so far.
    line: String,
}

impl<'a> WebPage<'a> {
    fn new(tell: Tell<'a>) -> Self {
        Self { tell, left_out: None, heading: None, in_title: false, title: None, preformatted: 0, line: String::new() }
    }

    fn open(&mut self, name: &str, is_hidden: bool, self_closing: bool) {
        if let Some((left_out, depth)) = &mut self.left_out {
            *depth += usize::from(left_out == name && !self_closing);
            return;
        }
        let is_empty = EMPTY.contains(&name);
        if (LEFT_OUT.contains(&name) || is_hidden) && !is_empty {
            // Of the drawings and formulas within a page, one that is closed at once leaves nothing open.
            if !(self_closing && matches!(name, "svg" | "math")) {
                self.left_out = Some((name.to_owned(), 1));
            }
            return;
        }
        match name {
            "title" => self.in_title = true,
            "br" => self.line.push('\n'),
            "td" | "th" if !self.line.is_empty() && !self.line.ends_with('\n') => self.line.push_str(" | "),
            "td" | "th" | "img" | "input" | "wbr" => {}
            _ if INLINE.contains(&name) => {}
            _ => {
                self.flush();
                match (name.as_bytes(), name) {
                    ([b'h', level @ b'1'..=b'6'], _) => self.heading = Some(level - b'0'),
                    (_, "li") => self.line.push_str("- "),
                    (_, "pre") => self.preformatted += 1,
                    _ => {}
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        if let Some((left_out, depth)) = &mut self.left_out {
            *depth -= usize::from(left_out == name);
            if *depth == 0 {
                self.left_out = None;
            }
            return;
        }
        match name {
            "title" => self.in_title = false,
            "td" | "th" => {}
            _ if INLINE.contains(&name) => {}
            _ => {
                self.flush();
                self.preformatted -= usize::from(name == "pre" && self.preformatted > 0);
            }
        }
    }

    fn text(&mut self, text: &str) {
        if self.left_out.is_some() {
            return;
        }
        if self.in_title {
            let title = self.title.get_or_insert_default();
            if title.len() < 1000 {
                title.push_str(text);
            }
            return;
        }
        for character in text.chars() {
            if self.line.len() > MAX_PARAGRAPH {
                self.flush();
            }
            let is_blank = character.is_ascii_whitespace();
            if self.preformatted > 0 || !is_blank {
                self.line.push(character);
            } else if !self.line.is_empty() && !self.line.ends_with([' ', '\n']) {
                self.line.push(' ');
            }
        }
    }

    /// Tells what was collected.
    fn flush(&mut self) {
        let line = std::mem::take(&mut self.line);
        let heading = self.heading.take();
        if line.trim().is_empty() || line == "- " {
            return;
        }
        if let Some(title) = self.title.take() {
            let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
            // A page whose first heading is its title says it once.
            if !(heading == Some(1) && words(&title) == words(&line)) {
                (self.tell)(DocumentPart::Heading(1, title));
            }
        }
        (self.tell)(match heading {
            Some(level) => DocumentPart::Heading(level, line),
            None => DocumentPart::Text(line),
        });
    }
}

/// Length of the head of a page that is looked at for its encoding, in bytes.
const LOOKED_AT: usize = 4096;

/// The text of a page, by its byte order mark, by what it says of itself, or as what it can be.
pub(super) fn decode(bytes: &[u8]) -> Cow<'_, str> {
    let named = || declared(&bytes[..bytes.len().min(LOOKED_AT)]);
    let is_utf8 = Encoding::for_bom(bytes).is_some() || std::str::from_utf8(bytes).is_ok();
    // What says that it is UTF-8, and is not, is damaged.
    let encoding = if is_utf8 { UTF_8 } else { named().unwrap_or(WINDOWS_1252) };
    encoding.decode(bytes).0
}

/// What follows `charset=` in a `meta` element.
fn declared(head: &[u8]) -> Option<&'static Encoding> {
    let head = head.to_ascii_lowercase();
    let at = head.windows(8).position(|window| window == b"charset=")? + 8;
    let rest: Vec<u8> = head[at..]
        .iter()
        .copied()
        .skip_while(|byte| matches!(byte, b'"' | b'\'' | b' '))
        .take_while(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':'))
        .collect();
    Encoding::for_label(&rest)
}

#[cfg(test)]
mod tests_of_charset {
    use super::*;

    #[test]
    fn pages_are_read_in_the_encoding_that_they_name() {
        let russian = [b"<meta charset=windows-1251>".as_slice(), &[0xcf, 0xf0, 0xe8, 0xe2, 0xe5, 0xf2]].concat();
        assert!(decode(&russian).ends_with("Привет"));
        let chinese =
            [b"<meta http-equiv=x content='text/html; charset=\"GB2312\"'>".as_slice(), &[0xc4, 0xe3]].concat();
        assert!(decode(&chinese).ends_with('你'));
        assert_eq!(decode("héllo 你好".as_bytes()), "héllo 你好");
        assert_eq!(decode(&[0xff, 0xfe, b'a', 0, b'b', 0]), "ab");
        assert_eq!(decode(&[b'n', 0xe9]), "né");
        assert_eq!(decode(b""), "");
    }
}
