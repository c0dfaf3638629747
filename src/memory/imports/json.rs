//! Untrusted JSON: the elements of a long array, one after the other. One that cannot be read keeps nothing else from being read.

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
/// Why an element is left out.
const TOO_LONG: &str = "conversations of more than 64 MB";
const BROKEN: &str = "conversations that cannot be read";

/// What is done with an element, or with the reason why it is left out.
pub(super) type EachElement<'e> = dyn FnMut(Result<Value, &'static str>) -> ControlFlow<()> + 'e;

/// Gives each element to `each`, or why it cannot be read; an object is one element, or those of the array that it has under
/// `conversations`, and others may follow it, one a line for example. What is no UTF-8 is replaced. Says whether it was cut short, or something
/// follows that is none of it; what is no array and no object is something else, and not cut.
pub(super) fn elements(from: impl Read, each: &mut EachElement<'_>) -> bool {
    let (mut element, mut depth, mut in_text, mut escaped) = (Vec::new(), 0_usize, false, false);
    // Whether it is an array, and no objects that follow each other; its elements are one deeper.
    let mut is_array = None;
    for byte in BufReader::with_capacity(BUFFER, from).bytes() {
        let Ok(byte) = byte else { return true };
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
            (None, _) => return false,
        };
        if depth == 0 && byte != b'{' && !is_blank {
            return true;
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
                let mut value = match element.len() > MAX_BYTES {
                    true => Err(TOO_LONG),
                    false => parse(&element).ok_or(BROKEN),
                };
                let wrapped = value.as_mut().ok().filter(|_| outer == 0);
                let wrapped = wrapped.and_then(|value| value.get_mut("conversations")?.as_array_mut());
                let ended = match wrapped.map(std::mem::take) {
                    Some(values) => values.into_iter().try_for_each(|value| each(Ok(value))),
                    None => each(value),
                };
                if ended.is_break() {
                    return false;
                }
            }
            b']' => return false,
            _ => {}
        }
    }
    is_array != Some(false) || depth > 0
}

/// Maximum number of values in a JSON text; each takes some hundred bytes of memory at most.
const MAX_PARTS: usize = 2_000_000;

/// A JSON text, without the bytes that a wrong one has, and a mark of the order of bytes, which some programs put at the beginning: as much of
/// it as is right. `None` also of one with so many parts that it would take gigabytes of memory.
pub(super) fn parse(bytes: &[u8]) -> Option<Value> {
    let bytes = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes);
    if bytes.len() > MAX_PARTS && bytes.iter().filter(|byte| b"[{,".contains(byte)).count() > MAX_PARTS {
        return None;
    }
    serde_json::from_slice(bytes).ok().or_else(|| {
        let text = String::from_utf8_lossy(bytes);
        serde_json::from_str(&text).or_else(|_| serde_json::from_str(&without_surrogates(&text))).ok()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &[u8]) -> (Vec<Option<String>>, bool) {
        let mut found = Vec::new();
        let is_cut = elements(text, &mut |value| {
            found.push(value.ok().map(|value| value.to_string()));
            ControlFlow::Continue(())
        });
        (found, is_cut)
    }

    #[test]
    fn elements_come_one_by_one_and_what_is_wrong_keeps_no_other() {
        let one = |text: &str| Some(text.to_owned());
        assert_eq!(
            all(b"\xef\xbb\xbf [{\"a\":\"]}\\\"\"}, 3, \"x\", [1]] more"),
            (vec![one("{\"a\":\"]}\\\"\"}"), one("[1]")], false)
        );
        assert_eq!(all(b"[{\"a\":1},{\"b\":"), (vec![one("{\"a\":1}")], true));
        assert_eq!(all(b"[{a},{\"b\":2}]"), (vec![None, one("{\"b\":2}")], false));
        assert_eq!(all(b"[{\"a\":\"\xff\"}]"), (vec![one("{\"a\":\"\u{fffd}\"}")], false));
        assert_eq!(
            all(b"[{\"a\":\"\\ud83dx\\\\ud83d \\ud83d\\ude00\"}]").0,
            [one("{\"a\":\"\u{fffd}x\\\\ud83d \u{1f600}\"}")]
        );
        assert_eq!(all(b"{\"conversations\":[{\"a\":1},{\"a\":2}]}").0.len(), 2);
        assert_eq!(all(b"{\"a\":1} \n"), (vec![one("{\"a\":1}")], false));
        let lines = vec![one("{\"a\":1}"), one("{\"b\":\"}\"}"), one("{}")];
        assert_eq!(all(b"{\"a\":1}\n{\"b\":\"}\"}\r\n\n{}\n"), (lines, false));
        assert_eq!(all(b"{\"a\":1}\n{\"b\""), (vec![one("{\"a\":1}")], true));
        assert_eq!(all(b"{\"a\":1}, x"), (vec![one("{\"a\":1}")], true));
        assert_eq!((all(b"[]"), all(b"<html>"), all(b"")), ((vec![], false), (vec![], false), (vec![], true)));
        assert_eq!(all(format!("[{}1{}]", "[".repeat(5000), "]".repeat(5000)).as_bytes()).0, [None]);
    }

    #[test]
    fn what_is_no_json_is_not_read() {
        for broken in ["{\"a\":", "[1] 2", "", "{\"input\": [}"] {
            assert_eq!(parse(broken.as_bytes()), None, "{broken}");
        }
    }
}
