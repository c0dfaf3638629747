//! Untrusted JSON: the elements of a long array, one after the other, each held as a tree as far as it may be. One that cannot be read
//! keeps nothing else from being read.

use std::borrow::Cow;
use std::io::{BufReader, Read};
use std::ops::ControlFlow;
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;

/// What a text may begin with, and is none of it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
/// Maximum length of an element, and of a text that is none of an array: a conversation of tens of thousands of messages.
const MAX_BYTES: usize = 64 << 20;
const BUFFER: usize = 64 * 1024;

/// How a text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// As it began.
    Whole,
    /// In the middle, or something follows that is none of it.
    Cut,
    /// It is no array, and no object.
    Strange,
}

/// What is done with an element.
pub(super) type EachElement<'e> = dyn FnMut(Result<Value, NotHeld>) -> ControlFlow<()> + 'e;

/// Gives each element to `each`, or why it cannot be read; an object is one element, or those of the array that it has under
/// `conversations`, and others may follow it, one a line for example. What is no UTF-8 is replaced.
pub(super) fn elements(from: impl Read, each: &mut EachElement<'_>) -> Ending {
    let (mut element, mut depth, mut in_text, mut escaped) = (Vec::new(), 0_usize, false, false);
    // Whether it is an array, and no objects that follow each other; its elements are one deeper.
    let mut is_array = None;
    for byte in BufReader::with_capacity(BUFFER, from).bytes() {
        let Ok(byte) = byte else { return Ending::Cut };
        let is_blank = matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        let outer = match (is_array, byte) {
            (Some(is_array), _) => usize::from(is_array),
            (None, b'[') => {
                (is_array, depth) = (Some(true), 1);
                continue;
            }
            (None, b'{') => {
                is_array = Some(false);
                0
            }
            // A mark of the order of bytes.
            (None, 0xef | 0xbb | 0xbf) => continue,
            (None, _) if is_blank => continue,
            (None, _) => return Ending::Strange,
        };
        if depth == 0 && byte != b'{' && !is_blank {
            return Ending::Cut;
        }
        let is_begin = depth == outer && !in_text && matches!(byte, b'{' | b'[');
        if is_begin {
            element.clear();
        }
        // One byte more says that it is too long.
        if (is_begin || depth > outer) && element.len() <= MAX_BYTES {
            element.push(byte);
        }
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > outer => {
                depth -= 1;
                if depth > outer {
                    continue;
                }
                let mut value = if element.len() > MAX_BYTES { Err(NotHeld::TooLarge) } else { parse(&element) };
                let wrapped = value.as_mut().ok().filter(|_| outer == 0);
                let wrapped = wrapped.and_then(|value| value.get_mut("conversations")?.as_array_mut());
                let ended = match wrapped.map(std::mem::take) {
                    Some(values) => values.into_iter().try_for_each(|value| each(Ok(value))),
                    None => each(value),
                };
                if ended.is_break() {
                    return Ending::Whole;
                }
            }
            b']' => return Ending::Whole,
            _ => {}
        }
    }
    if is_array == Some(false) && depth == 0 { Ending::Whole } else { Ending::Cut }
}

/// A JSON text, without the bytes that a wrong one has, and a mark of the order of bytes, which some programs put at the beginning: as much of
/// it as is right.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, NotHeld> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    let held = |text: &[u8]| held(text, MAX_HELD_BYTES);
    held(bytes).or_else(|fault| match fault {
        NotHeld::TooLarge => Err(fault),
        NotHeld::Broken => {
            let text = String::from_utf8_lossy(bytes);
            match held(text.as_bytes()) {
                Err(NotHeld::Broken) => held(without_surrogates(&text).as_bytes()),
                read => read,
            }
        }
    })
}

/// A text without escapes of halves of a character.
fn without_surrogates(text: &str) -> Cow<'_, str> {
    // What is escaped is taken as a whole, so that a backslash that is itself escaped begins none; a pair of halves is a character.
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        let (high, low, half) =
            (r"u[dD][89abAB][[:xdigit:]]{2}", r"u[dD][c-fC-F][[:xdigit:]]{2}", r"u[dD][89a-fA-F][[:xdigit:]]{2}");
        Regex::new(&format!(r"(?s)\\(?:{high}\\{low}|({half})|.)")).expect("the pattern is a constant")
    });
    ESCAPE.replace_all(text, |found: &Captures<'_>| match found.get(1) {
        Some(_) => "\u{fffd}".to_owned(),
        None => found[0].to_owned(),
    })
}

/// Maximum memory that a tree may take, in bytes: a text of 64 MB that is nothing but brackets would take gigabytes.
const MAX_HELD_BYTES: usize = 256 << 20;
/// What a value or an entry of an object takes besides its text, in bytes: as the vectors grow, there may be as much again.
const VALUE_BYTES: usize = 160;

/// Why a text is not held as a tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NotHeld {
    /// It is no JSON.
    Broken,
    /// It takes more memory than it may.
    TooLarge,
}

/// The tree of a JSON text.
fn held(text: &[u8], max_bytes: usize) -> Result<Value, NotHeld> {
    match tree_bytes(text) > max_bytes {
        true => Err(NotHeld::TooLarge),
        false => serde_json::from_slice(text).map_err(|_| NotHeld::Broken),
    }
}

/// What the tree of a text takes in memory, in bytes: each value but the first follows a sign.
fn tree_bytes(text: &[u8]) -> usize {
    let (mut in_text, mut escaped, mut signs) = (false, false, 0);
    for byte in text {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'{' | b'[' | b',' | b':' if !in_text => signs += 1,
            _ => {}
        }
    }
    text.len() + signs * VALUE_BYTES
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn all(text: &[u8]) -> (Vec<Option<String>>, Ending) {
        let mut found = Vec::new();
        let ending = elements(text, &mut |value| {
            found.push(value.ok().map(|value| value.to_string()));
            ControlFlow::Continue(())
        });
        (found, ending)
    }

    #[test]
    fn elements_come_one_by_one_and_what_is_wrong_keeps_no_other() {
        let one = |text: &str| Some(text.to_owned());
        assert_eq!(
            all(b"\xef\xbb\xbf [{\"a\":\"]}\\\"\"}, 3, \"x\", [1]] more"),
            (vec![one("{\"a\":\"]}\\\"\"}"), one("[1]")], Ending::Whole)
        );
        assert_eq!(all(b"[{\"a\":1},{\"b\":"), (vec![one("{\"a\":1}")], Ending::Cut));
        assert_eq!(all(b"[{a},{\"b\":2}]"), (vec![None, one("{\"b\":2}")], Ending::Whole));
        assert_eq!(all(b"[{\"a\":\"\xff\"}]"), (vec![one("{\"a\":\"\u{fffd}\"}")], Ending::Whole));
        assert_eq!(
            all(b"[{\"a\":\"\\ud83dx\\\\ud83d \\ud83d\\ude00\"}]").0,
            [one("{\"a\":\"\u{fffd}x\\\\ud83d \u{1f600}\"}")]
        );
        assert_eq!(all(b"{\"conversations\":[{\"a\":1},{\"a\":2}]}").0.len(), 2);
        assert_eq!(all(b"{\"a\":1} \n"), (vec![one("{\"a\":1}")], Ending::Whole));
        let lines = vec![one("{\"a\":1}"), one("{\"b\":\"}\"}"), one("{}")];
        assert_eq!(all(b"{\"a\":1}\n{\"b\":\"}\"}\r\n\n{}\n"), (lines, Ending::Whole));
        assert_eq!(all(b"{\"a\":1}\n{\"b\""), (vec![one("{\"a\":1}")], Ending::Cut));
        assert_eq!(all(b"{\"a\":1}, x"), (vec![one("{\"a\":1}")], Ending::Cut));
        assert_eq!(
            (all(b"[]"), all(b"<html>"), all(b"")),
            ((vec![], Ending::Whole), (vec![], Ending::Strange), (vec![], Ending::Cut))
        );
        assert_eq!(all(format!("[{}1{}]", "[".repeat(5000), "]".repeat(5000)).as_bytes()).0, [None]);
    }

    #[test]
    fn a_tree_is_what_was_written() {
        let value = json!({"a": [1, -2, 1.5, true, null, "é\n"], "b": {"c": {}}, "d": u64::MAX});
        assert_eq!(held(value.to_string().as_bytes(), 1 << 20), Ok(value));
        for broken in ["{\"a\":", "[1] 2", "", "\"\\ud83d\"", "{\"input\": [}"] {
            assert_eq!(held(broken.as_bytes(), 1 << 20), Err(NotHeld::Broken), "{broken}");
        }
    }

    #[test]
    fn what_would_take_many_times_its_length_is_not_held() {
        for (text, times) in
            [("0,", 30_000), ("{},", 20_000), ("{\"a\":0},", 8_000), ("[[]],", 12_000), ("\"\",", 20_000)]
        {
            let text = format!("[{}0]", text.repeat(times));
            assert_eq!(held(text.as_bytes(), 1 << 20), Err(NotHeld::TooLarge), "{text:.20}");
        }
        // A long text is what it is.
        let text = json!(["x".repeat(1 << 19)]).to_string();
        assert!(held(text.as_bytes(), 1 << 20).is_ok());
    }
}
