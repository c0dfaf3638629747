//! JSON that is held as a tree: as much of it as may be, and without what is used of no program.

use std::cell::Cell;
use std::fmt;
use std::mem::size_of;

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Maximum memory that a tree may take, in bytes: a text of 64 MB that is nothing but brackets would take gigabytes.
pub(super) const MAX_HELD_BYTES: usize = 256 << 20;
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
pub(super) fn held(text: &[u8], max_bytes: usize) -> Result<Value, NotHeld> {
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
