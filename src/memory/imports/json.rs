//! Untrusted JSON: the elements of a long array, one after the other, each held as a tree as far as it may be and without what is used of no
//! program. One that cannot be read keeps nothing else from being read.

use std::cell::Cell;
use std::fmt;
use std::io::{ErrorKind, Read};
use std::mem::size_of;
use std::ops::ControlFlow;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// What a text may begin with, and is none of it.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";
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
                SplitStep::Other => return Ending::Cut,
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
    if state.is_between() { Ending::Whole } else { Ending::Cut }
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
    /// What is no object follows one.
    Other,
}

/// Where in the text it is.
#[derive(Default)]
struct Split {
    element: Vec<u8>,
    depth: usize,
    in_text: bool,
    escaped: bool,
    /// Whether the whole is an object, or some, and no array.
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

    /// Whether an object has ended, and no other has begun.
    fn is_between(&self) -> bool {
        self.is_object && self.depth == 0
    }

    fn next(&mut self, byte: u8) -> SplitStep {
        if self.is_between() && !matches!(byte, b'{' | b' ' | b'\t' | b'\r' | b'\n') {
            return SplitStep::Other;
        }
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
                    return SplitStep::Element;
                }
            }
            b']' => self.is_done = true,
            _ => {}
        }
        SplitStep::On
    }
}

/// Maximum memory that a tree may take, in bytes: a text of 64 MB that is nothing but brackets would take gigabytes.
const MAX_HELD_BYTES: usize = 256 << 20;
/// What an entry of an object takes besides its value, and what an object takes as soon as it has one, in bytes.
const ENTRY_BYTES: usize = 2 * (size_of::<String>() + 16);
const OBJECT_BYTES: usize = 160;
/// Fields that may be large, and of which no reader has any use: what was asked of tools, what a search found, signatures.
const UNUSED: [&str; 14] = [
    "arguments", "citations", "content_references", "encrypted_content", "extracted_content", "image_results", "input",
    "logprobs", "search_queries", "search_result_groups", "signature", "thinking", "token_usage", "toolUseResult",
];

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
    let left = Cell::new(Some(max_bytes));
    let mut from = serde_json::Deserializer::from_slice(text);
    let read = HeldSeed(&left).deserialize(&mut from).and_then(|value| from.end().map(|()| value));
    read.map_err(|_| if left.get().is_none() { NotHeld::TooLarge } else { NotHeld::Broken })
}

/// Makes a value of what comes next. What may still be held is counted down; nothing is left once there was too much.
#[derive(Clone, Copy)]
struct HeldSeed<'l>(&'l Cell<Option<usize>>);

impl HeldSeed<'_> {
    fn take<E: Error>(self, bytes: usize) -> Result<(), E> {
        self.0.set(self.0.get().and_then(|left| left.checked_sub(bytes)));
        self.0.get().map(drop).ok_or_else(|| E::custom("it takes too much memory"))
    }
}

impl<'de> DeserializeSeed<'de> for HeldSeed<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for HeldSeed<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Ok(Number::from_f64(value).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<Value, E> {
        self.take(value.len())?;
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E: Error>(self, value: String) -> Result<Value, E> {
        self.take(value.len())?;
        Ok(Value::String(value))
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = seq.next_element_seed(self)? {
            // As it grows, there may be as much again.
            self.take(2 * size_of::<Value>())?;
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(name) = map.next_key::<String>()? {
            if UNUSED.contains(&name.as_str()) {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let object = if fields.is_empty() { OBJECT_BYTES } else { 0 };
            self.take(object + ENTRY_BYTES + name.len() + 2 * size_of::<Value>())?;
            let value = map.next_value_seed(self)?;
            fields.insert(name, value);
        }
        Ok(Value::Object(fields))
    }
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
    fn a_tree_is_what_was_written_without_what_nobody_uses() {
        let value = json!({"a": [1, -2, 1.5, true, null, "é\n"], "b": {"c": {}}, "d": u64::MAX});
        assert_eq!(held(value.to_string().as_bytes(), 1 << 20), Ok(value));
        assert_eq!(held(b"{\"input\": {\"x\": [1, 2]}, \"a\": 1}", 1 << 20), Ok(json!({"a": 1})));
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
