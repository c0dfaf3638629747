//! How a client gets the answer of a tool: as text, or as structured content for whoever asks for that.
//!
//! Text is what every client shows its model, and the cheapest to read. Clients differ in what they do with structured content beside it:
//! some drop it, some show it instead, some show both. So it is given where a program asks for it. The text beside it is then the same
//! JSON, as the specification of the protocol has it, and as ChatGPT looks for.

use axum::http::{HeaderMap, HeaderValue, Uri};
use serde_json::Value;

use crate::access::Token;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Text for a model.
    Text,
    /// Structured content, and the same as JSON in the text.
    Structured,
}

/// What an address says: `/mcp?answers=structured`.
const ASKED: &str = "answers=";

/// Where a request says who sends it and what that can do, since the protocol has no handshake.
const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";

/// The experimental capability by which a client asks for structured content.
const CAPABILITY: &str = "structuredContent";

/// How ChatGPT names itself, and OpenAI's API. It reads JSON out of the text of `search` and `fetch`.
const CHATGPT: &str = "openai-mcp";

/// Carries over what the handshake told, as nothing is kept here between two requests.
pub(crate) const SESSION: &str = "mcp-session-id";

/// What the session of a client that asked for structured content starts with.
const STRUCTURED_SESSION: &str = "structured-";

impl Answers {
    /// What a request gets: what its address asks for, else what its client asked for here or in the handshake. The error is what is
    /// wrong with the address.
    pub(super) fn to(uri: &Uri, headers: &HeaderMap, message: &Value) -> Result<Self, String> {
        let asked = uri.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix(ASKED)));
        match asked {
            Some("structured") => return Ok(Self::Structured),
            Some("text") => return Ok(Self::Text),
            Some(other) => return Err(format!("`answers` is `{other}`; it takes structured or text")),
            None => {}
        }
        let session = headers.get(SESSION).and_then(|value| value.to_str().ok());
        let in_session = session.is_some_and(|session| session.starts_with(STRUCTURED_SESSION));
        Ok(if in_session || asks_for_structured(&message["params"]) { Self::Structured } else { Self::Text })
    }

    /// The session to be given in answer to a handshake, where a later request would not tell what this one does.
    pub(super) fn session(message: &Value) -> Option<HeaderValue> {
        if message["method"] != "initialize" || !asks_for_structured(&message["params"]) {
            return None;
        }
        // It opens nothing; it differs, as programs between client and server may tell clients apart by it.
        let token = Token::random().ok()?;
        HeaderValue::try_from(format!("{STRUCTURED_SESSION}{}", &token.reveal()[..16])).ok()
    }
}

/// Whether a client asks for structured content, by a capability or by being ChatGPT.
fn asks_for_structured(params: &Value) -> bool {
    let meta = &params["_meta"];
    let able = |capabilities: &Value| capabilities["experimental"][CAPABILITY].is_object();
    let named = |client: &Value| client["name"].as_str().is_some_and(|name| name.starts_with(CHATGPT));
    able(&params["capabilities"])
        || able(&meta[META_CAPABILITIES])
        || named(&params["clientInfo"])
        || named(&meta[META_CLIENT])
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers(uri: &str, session: Option<&HeaderValue>, message: &Value) -> Answers {
        let session = session.map(|session| (axum::http::HeaderName::from_static(SESSION), session.clone()));
        Answers::to(&uri.parse().unwrap(), &session.into_iter().collect(), message).unwrap()
    }

    fn hello(name: &str, capabilities: Value) -> Value {
        json!({ "method": "initialize", "params": { "clientInfo": { "name": name }, "capabilities": capabilities } })
    }

    #[test]
    fn a_client_gets_text_unless_it_asks_for_more() {
        let able = json!({ "experimental": { "structuredContent": {} } });
        for (name, capabilities, form) in [
            ("claude-code", json!({}), Answers::Text),
            ("claude-ai", json!({ "experimental": {} }), Answers::Text),
            ("", json!({ "roots": {} }), Answers::Text),
            ("openai-mcp", json!({}), Answers::Structured),
            ("openai-mcp/1.0.0", json!({}), Answers::Structured),
            ("a program of one's own", able, Answers::Structured),
        ] {
            let hello = hello(name, capabilities.clone());
            assert_eq!(answers("/mcp", None, &hello), form, "{name}");
            // The next request does not say it again, but for its session.
            let session = Answers::session(&hello);
            assert_eq!(session.is_some(), form == Answers::Structured, "{name}");
            assert_eq!(answers("/mcp", session.as_ref(), &json!({ "method": "tools/call" })), form, "{name}");
            // The newest version says it in each request.
            let meta = json!({ META_CLIENT: { "name": name }, META_CAPABILITIES: capabilities });
            assert_eq!(answers("/mcp", None, &json!({ "params": { "_meta": meta } })), form, "{name}");
        }
        // The session that an earlier version gave.
        assert_eq!(answers("/mcp", Some(&HeaderValue::from_static("text-0123")), &json!({})), Answers::Text);
    }

    #[test]
    fn the_address_has_the_last_word() {
        assert_eq!(answers("/mcp?answers=structured", None, &hello("x", json!({}))), Answers::Structured);
        assert_eq!(answers("/mcp?a=b&answers=text", None, &hello(CHATGPT, json!({}))), Answers::Text);
        assert!(Answers::to(&"/mcp?answers=both".parse().unwrap(), &HeaderMap::new(), &json!({})).is_err());
    }
}
