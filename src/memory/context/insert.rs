//! Puts memory into a request to a chat model: into its last message of the user's, before what that says. Pure.
//!
//! All other bytes stay as they are, and in their places: earlier messages, so that what is cached of them stays cached; tools, images and
//! marks of caches; numbers however they were written. No message is added: there are models that refuse two of the user's in a row.

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::run::MAX_QUERY_BYTES;
use crate::base::fence::without_fenced;

/// A request, as far as memory is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChatBody {
    /// What the last message of the user's says.
    pub(crate) question: String,
    place: InsertPosition,
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
        let value: Value = serde_json::from_str(text).map_err(|_| "the body is not JSON")?;
        let messages = value.get("messages").and_then(Value::as_array).ok_or("the body has no messages")?;
        let is_users = |message: &Value| message.get("role").and_then(Value::as_str) == Some("user");
        let last = messages.iter().rposition(is_users).ok_or("no message is from the user")?;
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
        let raw: RawBody<'_> = serde_json::from_str(text).map_err(|_| odd)?;
        let place = InsertPosition::of(text, raw.messages[last]).ok_or(odd)?;
        Ok(Self { question: without_fenced(&question).into_owned(), place })
    }

    /// The body with memory in its last message of the user's.
    pub(crate) fn with(&self, body: &[u8], memory: &str) -> Vec<u8> {
        let quoted = Value::from(format!("{memory}\n")).to_string();
        let (at, put) = match &self.place {
            // Without the quotes around it.
            InsertPosition::Text(at) => (*at, quoted[1..quoted.len() - 1].to_owned()),
            InsertPosition::Parts { at, is_empty } => {
                (*at, format!("{{\"type\":\"text\",\"text\":{quoted}}}{}", if *is_empty { "" } else { "," }))
            }
        };
        [&body[..at], put.as_bytes(), &body[at..]].concat()
    }
}

/// A body as it is written. A field that is there twice is an error.
#[derive(Deserialize)]
struct RawBody<'b> {
    #[serde(borrow)]
    messages: Vec<&'b RawValue>,
}

#[derive(Deserialize)]
struct RawMessage<'b> {
    #[serde(borrow)]
    content: &'b RawValue,
}

impl InsertPosition {
    /// Where memory goes within a message of a body.
    fn of(body: &str, message: &RawValue) -> Option<Self> {
        let RawMessage { content } = serde_json::from_str(message.get()).ok()?;
        let content = content.get();
        let at = content.as_ptr() as usize - body.as_ptr() as usize + 1;
        match content.as_bytes().first()? {
            b'"' => Some(Self::Text(at)),
            b'[' => Some(Self::Parts { at, is_empty: content[1..].trim_start().starts_with(']') }),
            _ => None,
        }
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
