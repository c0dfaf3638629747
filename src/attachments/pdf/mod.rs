//! PDF: the text of each page, in the order in which the page draws it.
//!
//! lopdf finds the objects, also where the table of them is broken, unpacks their streams and decrypts what has no password. What a page draws
//! is read here ([`page`]): letter after letter, and where they stand says what is a word, a line and a paragraph.

mod cmap;
mod font;
mod layout;
mod matrix;
mod page;
mod tokens;

use std::panic::{AssertUnwindSafe, catch_unwind};

use lopdf::{DecompressError, Document, Error, LoadOptions};

use self::font::MAX_STREAM;
use self::page::PageReader;
use super::part::{DocumentPart, EnoughTold, Tell};

/// A file may have something before it, as mail puts there.
const LOOKED_AT: usize = 1024;

/// Reads a document, page by page.
pub(super) fn read(bytes: &[u8], tell: Tell<'_>) -> Result<(), EnoughTold> {
    let head = &bytes[..bytes.len().min(LOOKED_AT)];
    if !head.windows(5).any(|window| window == b"%PDF-") {
        return tell(DocumentPart::Refused("it is no PDF".into()));
    }
    let options = LoadOptions { max_decompressed_size: Some(MAX_STREAM), ..LoadOptions::default() };
    let document = match Document::load_mem_with_options(bytes, options) {
        Ok(document) => document,
        Err(error) => return tell(DocumentPart::Refused(reason(&error))),
    };
    if document.is_encrypted() {
        return tell(DocumentPart::Refused(ENCRYPTED.into()));
    }
    let (mut pages, mut has_text, mut has_problem) = (PageReader::new(&document), false, false);
    let mut count = 0;
    for (at, page) in document.page_iter().enumerate() {
        count = at + 1;
        let number = u32::try_from(count).unwrap_or(u32::MAX);
        // One page that lopdf fails on must not keep the others from being read.
        match catch_unwind(AssertUnwindSafe(|| pages.read(page))) {
            Ok(Ok(paragraphs)) => {
                tell(DocumentPart::Page(number))?;
                has_text |= !paragraphs.is_empty();
                paragraphs.into_iter().try_for_each(|text| tell(DocumentPart::Text(text)))?;
            }
            Ok(Err(error)) => {
                has_problem = true;
                tell(DocumentPart::Problem(format!("page {number}: {}", reason(&error))))?;
            }
            Err(_) => {
                has_problem = true;
                tell(DocumentPart::Problem(format!("page {number}: it cannot be read")))?;
            }
        }
    }
    match (count, has_text || has_problem) {
        (0, _) => tell(DocumentPart::Refused("no page is found in it; it is damaged".into())),
        (_, false) => tell(DocumentPart::Refused("there is no text in it; it may be pictures of pages".into())),
        _ => Ok(()),
    }
}

const ENCRYPTED: &str = "it is encrypted, and takes a password";

/// Why something is not read, in words for who knows no PDF.
fn reason(error: &Error) -> String {
    match error {
        Error::InvalidPassword | Error::Decryption(_) | Error::UnsupportedSecurityHandler(_) => ENCRYPTED.into(),
        Error::Decompress(DecompressError::MemoryLimitExceeded { .. }) => {
            format!("something in it unpacks to over {} MB", MAX_STREAM >> 20)
        }
        error => format!("it is damaged: {error}"),
    }
}
