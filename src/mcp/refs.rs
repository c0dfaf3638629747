//! How a caller names a note or a passage: by hash, by path with lines, or by `vault://path`.

use crate::request::RequestError;
use crate::wire::{percent_encode_path, split_lines};

/// What notes are called as resources.
pub(super) const SCHEME: &str = "vault://";

/// What is named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reference {
    /// A passage.
    Hash(String),
    /// A note, or some lines of it, from the first to the last.
    Note(String, Option<(usize, Option<usize>)>),
}

impl Reference {
    /// Reads what a search names: `3f2a…`, `notes/a.md`, `notes/a.md:3`, `notes/a.md:3-5`, `notes/a.md#L3-L5`, or a path as
    /// `vault://notes/a.md`. Says nothing of whether it is there.
    pub(super) fn parse(text: &str) -> Result<Self, RequestError> {
        let text = text.trim();
        if text.len() == 16 && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self::Hash(text.to_owned()));
        }
        let (name, lines) = split_lines(text);
        let path = if is_uri(name) { path_of(name)? } else { name.to_owned() };
        Ok(Self::Note(path, lines))
    }
}

/// Whether a text starts as a resource's name does.
fn is_uri(text: &str) -> bool {
    text.get(..SCHEME.len()).is_some_and(|scheme| scheme.eq_ignore_ascii_case(SCHEME))
}

/// What a note is called as a resource.
pub(super) fn uri_of(path: &str) -> String {
    format!("{SCHEME}{}", percent_encode_path(path))
}

/// The path that a resource's name stands for.
pub(super) fn path_of(uri: &str) -> Result<String, RequestError> {
    let not_one =
        || RequestError::invalid(format!("`{uri}` is not the URI of a note: `{SCHEME}path`, percent-encoded"));
    let encoded = uri.get(SCHEME.len()..).filter(|_| is_uri(uri)).ok_or_else(not_one)?;
    decode(encoded).ok_or_else(not_one)
}

fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let mut digit = || char::from(rest.next()?).to_digit(16);
                u8::try_from(digit()? * 16 + digit()?).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(path: &str, lines: Option<(usize, Option<usize>)>) -> Reference {
        Reference::Note(path.into(), lines)
    }

    #[test]
    fn takes_what_a_search_names() {
        for (text, place) in [
            ("0123456789abcdef", Reference::Hash("0123456789abcdef".into())),
            ("notes/a.md", note("notes/a.md", None)),
            ("notes/a.md:3", note("notes/a.md", Some((3, None)))),
            ("notes/a.md:3-5", note("notes/a.md", Some((3, Some(5))))),
            ("notes/#1.md#L3-L5", note("notes/#1.md", Some((3, Some(5))))),
            ("notes/10:30 talk.md", note("notes/10:30 talk.md", None)),
            ("vault://my%20notes/%C3%BC.md", note("my notes/ü.md", None)),
            ("VAULT://a.md:7", note("a.md", Some((7, None)))),
            ("vault://a.md#L2-L4", note("a.md", Some((2, Some(4))))),
        ] {
            assert_eq!(Reference::parse(text).unwrap(), place, "{text}");
        }
    }

    #[test]
    fn a_uri_gives_back_its_path() {
        for path in ["notes/a b.md", "ü#1?.md", "a%2Fb.md", "Notes/C:\\x.md", "東京.md"] {
            assert_eq!(path_of(&uri_of(path)).unwrap(), path);
        }
        for uri in ["vault://a%2.md", "vault://%ff.md", "vault://a%zz.md", "file:///etc/passwd", "vault:", "ü"] {
            assert!(path_of(uri).is_err(), "{uri}");
        }
    }
}
