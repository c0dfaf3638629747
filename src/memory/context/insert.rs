//! Puts memory into a request to a chat model: into its last message of the user's, or its first, before what that says. Pure.
//!
//! All other bytes stay as they are, and in their places: earlier messages, so that what is cached of them stays cached; tools, images and
//! marks of caches; numbers however they were written. No message is added: there are models that refuse two of the user's in a row.

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use super::run::MAX_QUERY_BYTES;
use crate::base::fence::without_fenced;

/// A request, as far as memory is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatBody {
    /// What the last message of the user's says.
    pub(crate) question: String,
    /// What the first message of the user's says, as it was written; `None` where it can take no memory.
    pub(crate) opening: Option<String>,
    place: InsertPosition,
    first: Option<InsertPosition>,
}

/// Where memory goes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InsertPosition {
    /// Into a text: behind the quote that begins it, at this byte.
    Text(usize),
    /// Into a list of parts, as the first: behind the bracket that begins it.
    Parts { at: usize, is_empty: bool },
}

impl ChatBody {
    /// Finds where memory goes.
    ///
    /// # Errors
    /// Why it goes nowhere, as a few words.
    pub(crate) fn read(body: &[u8]) -> Result<Self, &'static str> {
        let text = std::str::from_utf8(body).map_err(|_| "the body is not text")?;
        // What is scanned below is known to be JSON.
        let value: Value = serde_json::from_str(text).map_err(|_| "the body is not JSON")?;
        let messages = value.get("messages").and_then(Value::as_array).ok_or("the body has no messages")?;
        let is_users = |message: &Value| message.get("role").and_then(Value::as_str) == Some("user");
        let first = messages.iter().position(is_users).ok_or("no message is from the user")?;
        let last = messages.iter().rposition(is_users).unwrap_or(first);
        let question = match &messages[last]["content"] {
            Value::String(said) => said.clone(),
            Value::Array(parts) => {
                let texts = parts.iter().filter(|part| part["type"] == "text").filter_map(|part| part["text"].as_str());
                texts.collect::<Vec<_>>().join("\n")
            }
            _ => return Err("the last user message has no text"),
        };
        if question.len() > MAX_QUERY_BYTES {
            return Err("the last user message is too long");
        }
        let odd = "the body has a field twice";
        let scan = JsonScan { bytes: body };
        let list = scan.field(scan.blank(0), "messages").ok_or(odd)?;
        let place = scan.place(list, last).ok_or(odd)?;
        let place_of_first = scan.place(list, first);
        let opening = place_of_first.is_some().then(|| messages[first]["content"].to_string());
        Ok(Self { question: without_fenced(&question).into_owned(), opening, place, first: place_of_first })
    }

    /// The body with memory in its last message of the user's.
    pub(crate) fn with(&self, body: &[u8], memory: &str) -> Vec<u8> {
        put(body, memory, &self.place)
    }

    /// The body with memory in its first message of the user's, so that what follows stands where it stood in the request before.
    pub(crate) fn with_at_first(&self, body: &[u8], memory: &str) -> Vec<u8> {
        put(body, memory, self.first.as_ref().unwrap_or(&self.place))
    }
}

fn put(body: &[u8], memory: &str, place: &InsertPosition) -> Vec<u8> {
    let quoted = Value::from(format!("{memory}\n")).to_string();
    let (at, put) = match place {
        // Without the quotes around it.
        InsertPosition::Text(at) => (*at, quoted[1..quoted.len() - 1].to_owned()),
        InsertPosition::Parts { at, is_empty } => {
            (*at, format!("{{\"type\":\"text\",\"text\":{quoted}}}{}", if *is_empty { "" } else { "," }))
        }
    };
    [&body[..at], put.as_bytes(), &body[at..]].concat()
}

/// Finds places in JSON that is known to be right.
struct JsonScan<'a> {
    bytes: &'a [u8],
}

impl JsonScan<'_> {
    /// Where memory goes within a message of the list at `messages`.
    fn place(&self, messages: usize, number: usize) -> Option<InsertPosition> {
        let content = self.field(self.item(messages, number)?, "content")?;
        match self.bytes.get(content)? {
            b'"' => Some(InsertPosition::Text(content + 1)),
            b'[' => {
                let is_empty = self.bytes.get(self.blank(content + 1)) == Some(&b']');
                Some(InsertPosition::Parts { at: content + 1, is_empty })
            }
            _ => None,
        }
    }

    /// The first byte from `at` on that is not blank.
    fn blank(&self, at: usize) -> usize {
        (at..self.bytes.len()).find(|at| !self.bytes[*at].is_ascii_whitespace()).unwrap_or(self.bytes.len())
    }

    /// Where the value of a field of the object at `at` begins; `None` where it has none, or two.
    fn field(&self, at: usize, name: &str) -> Option<usize> {
        let (mut at, mut found) = (self.open(at, b'{')?, None);
        while self.bytes.get(at)? != &b'}' {
            let end = self.value(at)?;
            let key: String = serde_json::from_slice(&self.bytes[at..end]).ok()?;
            let value = self.blank(self.blank(end) + 1);
            if key == name && found.replace(value).is_some() {
                return None;
            }
            at = self.next(self.value(value)?)?;
        }
        found
    }

    /// Where an item of the list at `at` begins.
    fn item(&self, at: usize, number: usize) -> Option<usize> {
        let mut at = self.open(at, b'[')?;
        for _ in 0..number {
            at = self.next(self.value(at)?)?;
        }
        Some(at)
    }

    fn open(&self, at: usize, bracket: u8) -> Option<usize> {
        (self.bytes.get(at)? == &bracket).then(|| self.blank(at + 1))
    }

    /// What comes after a value: the next one, or the bracket that ends what it is in.
    fn next(&self, at: usize) -> Option<usize> {
        let at = self.blank(at);
        Some(if self.bytes.get(at)? == &b',' { self.blank(at + 1) } else { at })
    }

    /// Where the value at `at` ends.
    fn value(&self, at: usize) -> Option<usize> {
        let mut values = Deserializer::from_slice(self.bytes.get(at..)?).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        Some(at + values.byte_offset())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(body: &str) -> String {
        let read = ChatBody::read(body.as_bytes()).unwrap_or_else(|why| panic!("{why}: {body}"));
        String::from_utf8(read.with(body.as_bytes(), "M \"1\"")).unwrap()
    }

    #[test]
    fn memory_goes_into_the_last_message_of_the_users_and_nothing_else_changes() {
        let body = r#"{ "model":"m", "seed": 1.00, "big": 123456789012345678901234567890, "messages" : [ {"role":"system","content":"S"},
            {"role":"user","content":"a"}, {"role":"assistant","content":null,"tool_calls":[{"id":"1"}]},
            {"content":"say \"hi\" [x] {y}", "role":"user"},{"role":"assistant","content":null}, {"role":"tool","content":"t"} ], "tools": [{"a":[[]]}] }"#;
        assert_eq!(with(body), body.replace("\"say ", "\"M \\\"1\\\"\\nsay "));
        let parts = r#"{"messages":[{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:x"}},{"type":"text","text":"q","cache_control":{"type":"ephemeral"}}]}]}"#;
        let expected = parts.replace("\"content\":[", r#""content":[{"type":"text","text":"M \"1\"\n"},"#);
        assert_eq!(with(parts), expected);
        assert_eq!(ChatBody::read(parts.as_bytes()).unwrap().question, "q");
        assert_eq!(
            with(r#"{"messages":[{"role":"user","content":[ ]}]}"#),
            r#"{"messages":[{"role":"user","content":[{"type":"text","text":"M \"1\"\n"} ]}]}"#
        );
    }

    #[test]
    fn what_cannot_take_memory_says_why() {
        for (body, why) in [
            ("", "the body is not JSON"),
            ("[1]", "the body has no messages"),
            ("{\"messages\":3}", "the body has no messages"),
            ("{\"messages\":[]}", "no message is from the user"),
            ("{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\"}]}", "no message is from the user"),
            ("{\"messages\":[{\"role\":\"user\",\"content\":null}]}", "the last user message has no text"),
            ("{\"messages\":[],\"messages\":[{\"role\":\"user\",\"content\":\"a\"}]}", "the body has a field twice"),
            ("{\"messages\":[{\"role\":\"user\",\"content\":\"b\",\"content\":\"a\"}]}", "the body has a field twice"),
        ] {
            assert_eq!(ChatBody::read(body.as_bytes()), Err(why), "{body}");
        }
        assert_eq!(ChatBody::read(b"\xff"), Err("the body is not text"));
        let long = json!({ "messages": [{ "role": "user", "content": "a".repeat(MAX_QUERY_BYTES + 1) }] }).to_string();
        assert_eq!(ChatBody::read(long.as_bytes()), Err("the last user message is too long"));
        assert!(ChatBody::read("[".repeat(100_000).as_bytes()).is_err());
    }

    #[test]
    fn the_same_comes_out_as_of_a_parser() {
        for content in ["", "a", "\\", "\"", "\u{1F600}\n\t\\u0041", "日本"] {
            for deep in [json!(null), json!([[{"x": "]"}], {}]), json!("\\\"[")] {
                let body = json!({"a": deep, "messages": [{"role": "user", "x": deep, "content": content, "y": deep}], "z": deep});
                for text in [body.to_string(), serde_json::to_string_pretty(&body).unwrap()] {
                    let mut expected = body.clone();
                    expected["messages"][0]["content"] = format!("M \"1\"\n{content}").into();
                    assert_eq!(serde_json::from_str::<Value>(&with(&text)).unwrap(), expected, "{text}");
                }
            }
        }
    }
}
