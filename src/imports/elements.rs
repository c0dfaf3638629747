//! The elements of a long JSON array, one after the other: no more than one of them is held, and one that cannot be read keeps nothing else
//! from being read.

use std::io::{ErrorKind, Read};
use std::ops::ControlFlow;

use serde_json::Value;

use super::held::{MAX_HELD_BYTES, NotHeld, held};

/// Maximum length of an element, and of a text that is none of an array: a conversation of tens of thousands of messages.
const MAX_BYTES: usize = 64 << 20;
const BUFFER: usize = 64 * 1024;

/// How a text ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// As it began.
    Whole,
    /// In the middle.
    Cut,
    /// It is no array, and no object.
    Strange,
}

/// What is done with an element.
pub(super) type EachElement<'e> = dyn FnMut(Result<Value, NotHeld>) -> ControlFlow<()> + 'e;

/// Gives each element to `each`, or why it cannot be read; an object is one element, or those of the array that it has under
/// `conversations`. What is no UTF-8 is replaced.
pub(super) fn elements(mut from: impl Read, each: &mut EachElement<'_>) -> Ending {
    let mut buffer = vec![0; BUFFER];
    let mut state = Split::default();
    loop {
        let read = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(_) => return Ending::Cut,
        };
        for byte in &buffer[..read] {
            match state.next(*byte) {
                SplitStep::On => {}
                SplitStep::Strange => return Ending::Strange,
                SplitStep::Element => {
                    let mut value = state.take();
                    let wrapped = value.as_mut().ok().filter(|_| state.is_object);
                    let wrapped = wrapped.and_then(|value| value.get_mut("conversations")?.as_array_mut());
                    let ended = match wrapped.map(std::mem::take) {
                        Some(values) => values.into_iter().try_for_each(|value| each(Ok(value))),
                        None => each(value),
                    };
                    if ended.is_break() {
                        return Ending::Whole;
                    }
                }
            }
            if state.is_done {
                return Ending::Whole;
            }
        }
    }
    Ending::Cut
}

/// A JSON text, without the bytes that a wrong one has: as much of it as is right.
pub(super) fn parse(bytes: &[u8]) -> Result<Value, NotHeld> {
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
fn without_surrogates(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        kept.push_str(&rest[..at]);
        let escape = &rest[at..];
        let half = escape.get(..6).filter(|escape| is_half(escape));
        let pair = half.is_some_and(|half| half.to_ascii_lowercase().as_bytes()[3] < b'c')
            && escape.get(6..12).is_some_and(|next| is_half(next) && next.to_ascii_lowercase().as_bytes()[3] >= b'c');
        let length = match (half, pair) {
            (Some(_), true) => 12,
            (Some(_), false) => {
                kept.push('\u{fffd}');
                rest = &escape[6..];
                continue;
            }
            (None, _) => escape.chars().take(2).map(char::len_utf8).sum(),
        };
        kept.push_str(&escape[..length]);
        rest = &escape[length..];
    }
    kept.push_str(rest);
    kept
}

/// Whether six bytes are the escape of half a character.
fn is_half(escape: &str) -> bool {
    let bytes = escape.as_bytes();
    bytes.starts_with(b"\\u")
        && bytes[2].eq_ignore_ascii_case(&b'd')
        && matches!(bytes[3].to_ascii_lowercase(), b'8' | b'9' | b'a'..=b'f')
        && bytes[4..].iter().all(u8::is_ascii_hexdigit)
}

enum SplitStep {
    On,
    Element,
    Strange,
}

/// Where in the text it is.
#[derive(Default)]
struct Split {
    element: Vec<u8>,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// Whether the whole is one object.
    is_object: bool,
    begun: bool,
    is_done: bool,
    too_long: bool,
}

impl Split {
    fn take(&mut self) -> Result<Value, NotHeld> {
        let element = std::mem::take(&mut self.element);
        if std::mem::take(&mut self.too_long) { Err(NotHeld::TooLarge) } else { parse(&element) }
    }

    fn keep(&mut self, byte: u8) {
        if self.element.len() < MAX_BYTES {
            self.element.push(byte);
        } else {
            self.too_long = true;
        }
    }

    fn next(&mut self, byte: u8) -> SplitStep {
        if !self.begun {
            match byte {
                b'[' => self.begun = true,
                b'{' => {
                    (self.begun, self.is_object, self.depth) = (true, true, 1);
                    self.keep(byte);
                }
                // A mark of the order of bytes.
                b' ' | b'\t' | b'\r' | b'\n' | 0xef | 0xbb | 0xbf => {}
                _ => return SplitStep::Strange,
            }
            return SplitStep::On;
        }
        if self.depth > 0 || self.in_text {
            self.keep(byte);
        }
        if self.in_text {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = true,
                b'"' => self.in_text = false,
                _ => {}
            }
            return SplitStep::On;
        }
        match byte {
            b'"' => self.in_text = true,
            b'{' | b'[' => {
                if self.depth == 0 {
                    self.element.clear();
                    self.keep(byte);
                }
                self.depth += 1;
            }
            b'}' | b']' if self.depth > 0 => {
                self.depth -= 1;
                if self.depth == 0 {
                    self.is_done = self.is_object;
                    return SplitStep::Element;
                }
            }
            b']' => self.is_done = true,
            _ => {}
        }
        SplitStep::On
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(all(b"{\"a\":1}"), (vec![one("{\"a\":1}")], Ending::Whole));
        assert_eq!(
            (all(b"[]"), all(b"<html>"), all(b"")),
            ((vec![], Ending::Whole), (vec![], Ending::Strange), (vec![], Ending::Cut))
        );
        assert_eq!(all(format!("[{}1{}]", "[".repeat(5000), "]".repeat(5000)).as_bytes()).0, [None]);
    }
}
