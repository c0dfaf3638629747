//! What a line says, as far as passing it on takes.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::body::Bytes;
use serde_json::{Value, json};

use super::stdio::InputLine;
use crate::mcp::{MAX_MESSAGE_BYTES, changes_nothing};

const PARSE_ERROR: i32 = -32700;
const INVALID_REQUEST: i32 = -32600;
/// Nobody could answer.
pub(super) const INTERNAL: i32 = -32603;

/// Where a request names the version of the protocol that it is of, since there are no sessions any more.
const VERSION_IN_META: &str = "io.modelcontextprotocol/protocolVersion";

/// What a line came to.
pub(super) enum ReadLine {
    /// Nothing to be done.
    Nothing,
    /// No message; what to answer.
    Refused(Vec<u8>),
    /// A message to be passed on.
    Message(RpcMessage),
}

/// A request or a notification.
pub(in crate::cli) struct RpcMessage {
    /// As it came.
    pub(in crate::cli) bytes: Bytes,
    /// What its answer is known by; a notification has none.
    pub(super) id: Option<Value>,
    pub(super) method: String,
    /// What it names: a tool, a prompt or a resource.
    name: Option<String>,
    /// The version of the protocol that it says it is of.
    version: Option<String>,
    /// Whether it may be sent again when nobody knows what became of it.
    pub(super) changes_nothing: bool,
}

impl ReadLine {
    /// Reads a line.
    pub(super) fn of(line: InputLine) -> Self {
        let refused = |code, message: &str| Self::Refused(refusal(&Value::Null, code, message));
        let line = match line {
            InputLine::Whole(line) if line.iter().all(u8::is_ascii_whitespace) => return Self::Nothing,
            InputLine::Whole(line) => line,
            InputLine::TooLong => {
                return refused(INVALID_REQUEST, &format!("a message has {MAX_MESSAGE_BYTES} bytes at most"));
            }
        };
        let message: Value = match serde_json::from_slice(&line) {
            Ok(message) => message,
            Err(error) => return refused(PARSE_ERROR, &format!("a line is to be one message in JSON: {error}")),
        };
        if message.is_array() {
            return refused(INVALID_REQUEST, "batches are no part of MCP; send one message a line");
        }
        if !message.is_object() {
            return refused(INVALID_REQUEST, "a message is a JSON object");
        }
        let id = message.get("id");
        match message.get("method") {
            Some(Value::String(method)) if id.is_none_or(|id| id.is_string() || id.is_number()) => {
                let params = &message["params"];
                let version = match method.as_str() {
                    "initialize" => &params["protocolVersion"],
                    _ => &params["_meta"][VERSION_IN_META],
                };
                let name = match method.as_str() {
                    "tools/call" | "prompts/get" => params["name"].as_str(),
                    "resources/read" => params["uri"].as_str(),
                    _ => None,
                };
                let changes_nothing =
                    method != "tools/call" || name.is_some_and(|name| changes_nothing(name, &params["arguments"]));
                Self::Message(RpcMessage {
                    changes_nothing,
                    id: id.cloned(),
                    method: method.clone(),
                    name: name.map(str::to_owned),
                    version: version.as_str().map(str::to_owned),
                    bytes: line.into(),
                })
            }
            Some(Value::String(_)) => refused(INVALID_REQUEST, "an `id` is a string or a number"),
            Some(_) => refused(INVALID_REQUEST, "`method` is to be a string"),
            // An answer to a question that was never asked.
            None if message.get("result").is_some() || message.get("error").is_some() => Self::Nothing,
            None => refused(INVALID_REQUEST, "a message has a `method`"),
        }
    }
}

impl RpcMessage {
    /// The headers that go with it over HTTP; `agreed` is the version that was agreed on at the start.
    pub(super) fn headers(&self, agreed: Option<&str>) -> Vec<(&'static str, String)> {
        let mut headers = vec![("mcp-method", sayable(&self.method))];
        headers.extend(self.version.as_deref().or(agreed).map(|version| ("mcp-protocol-version", sayable(version))));
        headers.extend(self.name.as_deref().map(|name| ("mcp-name", sayable(name))));
        headers
    }
}

/// A text as the protocol writes it in a header: in Base64 where a header cannot hold it.
fn sayable(text: &str) -> String {
    let plain =
        text.bytes().all(|byte| (b' '..=b'~').contains(&byte)) && text.trim() == text && !text.starts_with("=?");
    if plain && !text.is_empty() { text.to_owned() } else { format!("=?base64?{}?=", STANDARD.encode(text)) }
}

/// The answer that there is none.
pub(super) fn refusal(id: &Value, code: i32, message: &str) -> Vec<u8> {
    json!({ "jsonrpc": "2.0", "id": id, "error": { "code": code, "message": message } }).to_string().into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> ReadLine {
        ReadLine::of(InputLine::Whole(line.into()))
    }

    #[test]
    fn what_is_no_message_is_answered_or_passed_over() {
        for (line, code) in [
            ("nonsense", PARSE_ERROR),
            ("{\"jsonrpc\":", PARSE_ERROR),
            ("[]", INVALID_REQUEST),
            ("7", INVALID_REQUEST),
            ("{}", INVALID_REQUEST),
            (r#"{"id":null,"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"id":{},"method":"ping"}"#, INVALID_REQUEST),
            (r#"{"id":1,"method":7}"#, INVALID_REQUEST),
        ] {
            let ReadLine::Refused(answer) = read(line) else { panic!("{line} is refused") };
            let answer: Value = serde_json::from_slice(&answer).unwrap();
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &Value::Null), "{line}");
        }
        let deep = format!("{{\"id\":1,\"method\":\"ping\",\"params\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        assert!(matches!(read(&deep), ReadLine::Refused(_)));
        assert!(matches!(ReadLine::of(InputLine::Whole(vec![b'"', 0xff, b'"'])), ReadLine::Refused(_)));
        assert!(matches!(ReadLine::of(InputLine::TooLong), ReadLine::Refused(_)));
        assert!(
            matches!(read(" \r"), ReadLine::Nothing) && matches!(read(r#"{"id":1,"result":{}}"#), ReadLine::Nothing)
        );
    }

    #[test]
    fn a_message_says_in_headers_what_it_is() {
        let ReadLine::Message(message) = read(r#"{"id":1,"method":"tools/call","params":{"name":"sück"}}"#) else {
            panic!()
        };
        let headers = message.headers(Some("2025-11-25"));
        let expected = ["tools/call", "2025-11-25", "=?base64?c8O8Y2s=?="];
        assert_eq!(headers.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>(), expected);
        assert!(!message.changes_nothing);
        let ReadLine::Message(message) = read(r#"{"method":"notifications/initialized"}"#) else { panic!() };
        assert!(message.id.is_none() && message.changes_nothing && message.headers(None).len() == 1);
    }

    #[test]
    fn what_only_reads_may_be_sent_again() {
        for (name, arguments, again) in [
            ("search", json!({ "query": "x" }), true),
            ("fact", json!({ "action": "get", "name": "x" }), true),
            ("fact", json!({ "action": "set", "name": "x", "value": "y" }), false),
            ("memory", json!({ "action": "search", "query": "x" }), true),
            ("memory", json!({ "action": "save", "content": "x" }), false),
            ("memory", json!({}), false),
            ("none", json!({}), false),
        ] {
            let call = json!({ "id": 1, "method": "tools/call", "params": { "name": name, "arguments": arguments } });
            let ReadLine::Message(message) = read(&call.to_string()) else { panic!("{call}") };
            assert_eq!(message.changes_nothing, again, "{call}");
        }
    }
}
