//! How a client is given the answer of a tool: as structured content or as text, and never as both.
//!
//! Some clients show their model the structured content and drop the text (Claude Code, Cursor, VS Code, Codex), others show the
//! text and drop the structured content (Claude Desktop, Gemini CLI, Goose). A summary beside the data would be all that the
//! others get, and the whole text beside it is paid for twice by clients that show both.

use axum::http::{HeaderMap, HeaderValue, Uri};
use serde_json::Value;

use crate::access::Token;

/// The form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answers {
    /// Structured content, and one line of text that says what it is.
    Structured,
    /// Text alone.
    Text,
}

/// What an address says: `/mcp?answers=text`.
const ASKED: &str = "answers=";

/// The first version of the protocol that has structured content.
const STRUCTURED_SINCE: &str = "2025-06-18";

/// What a request without the header is taken for, as the protocol has it.
const WITHOUT_HEADER: &str = "2025-03-26";

const VERSION: &str = "mcp-protocol-version";

/// Where a request says who sends it, since the protocol has no handshake.
const META: [&str; 2] = ["io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientInfo"];

/// Carries over what the handshake told, as nothing is kept here between two requests.
pub(crate) const SESSION: &str = "mcp-session-id";

/// What the session of a client that shows text alone starts with.
const TEXT_SESSION: &str = "text-";

/// How clients that show their model nothing but text begin their names, in lower case. Where it is not known for sure, a name is
/// better here than not: text is shown by all. The reasons are in `docs/mcp.md`.
const TEXT_ALONE: [&str; 20] = [
    "@librechat",
    "anythingllm",
    "cherry studio",
    "claude-ai",
    "cline",
    "continue",
    "gemini-cli",
    "goose",
    "jan",
    "jetbrains",
    "kilo",
    "kimi",
    "langchain",
    "lm studio",
    "lmstudio",
    "openclaw",
    "qwen",
    "roo",
    "windsurf",
    "zed",
];

/// What the SDK for Python says when a program gives no name; the frameworks on it pass on the text (OpenAI Agents, LangChain).
const PYTHON: &str = "mcp";

/// What is said below an answer in structured content.
pub(super) const NOTHING_ELSE: &str = "The answer is in the structured content. If this line is all you get of it, your client needs \
    `vault mcp --answers text`, or `/mcp?answers=text`.";

impl Answers {
    /// What a request gets: what its address asks for, else what fits the client's name, else the version of the protocol. The
    /// error is what is wrong with the address.
    pub(super) fn to(uri: &Uri, headers: &HeaderMap, message: &Value) -> Result<Self, String> {
        let asked = uri.query().and_then(|query| query.split('&').find_map(|pair| pair.strip_prefix(ASKED)));
        match asked {
            Some("structured") => return Ok(Self::Structured),
            Some("text") => return Ok(Self::Text),
            Some(other) => return Err(format!("`answers` is `{other}`; it takes structured or text")),
            None => {}
        }
        let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        let in_session = header(SESSION).is_some_and(|session| session.starts_with(TEXT_SESSION));
        let params = &message["params"];
        let meta = META.map(|key| &params["_meta"][key]);
        let version = [&params["protocolVersion"], meta[0]].into_iter().find_map(Value::as_str).or(header(VERSION));
        let is_old = version.unwrap_or(WITHOUT_HEADER) < STRUCTURED_SINCE;
        Ok(if in_session || is_old || shows_text_alone(params) { Self::Text } else { Self::Structured })
    }

    /// The session to be given in answer to a handshake, where a later request would not tell what this one does.
    pub(super) fn session(message: &Value) -> Option<HeaderValue> {
        if message["method"] != "initialize" || !shows_text_alone(&message["params"]) {
            return None;
        }
        // It opens nothing; it differs, as programs between client and server may tell clients apart by it.
        let token = Token::random().ok()?;
        HeaderValue::try_from(format!("{TEXT_SESSION}{}", &token.reveal()[..16])).ok()
    }
}

/// Whether a client is known to show its model nothing but text. It names itself in the handshake, or in each request.
fn shows_text_alone(params: &Value) -> bool {
    let name = [&params["clientInfo"], &params["_meta"][META[1]]].into_iter().find_map(|info| info["name"].as_str());
    name.map(str::to_lowercase)
        .is_some_and(|name| name == PYTHON || TEXT_ALONE.iter().any(|known| name.starts_with(known)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answers(uri: &str, headers: &[(&'static str, &str)], message: &Value) -> Answers {
        let headers = headers
            .iter()
            .map(|(name, value)| (axum::http::HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
        Answers::to(&uri.parse().unwrap(), &headers.collect(), message).unwrap()
    }

    fn hello(name: &str, version: &str) -> Value {
        json!({ "method": "initialize", "params": { "protocolVersion": version, "clientInfo": { "name": name } } })
    }

    #[test]
    fn no_well_known_client_loses_the_answer() {
        for (name, form) in [
            ("claude-code", Answers::Structured),
            ("cursor-vscode", Answers::Structured),
            ("Visual Studio Code", Answers::Structured),
            ("codex-mcp-client", Answers::Structured),
            ("opencode", Answers::Structured),
            ("claude-ai", Answers::Text),
            ("gemini-cli-mcp-client-vault", Answers::Text),
            ("kimi-code", Answers::Text),
            ("Goose", Answers::Text),
            ("Zed", Answers::Text),
            ("openclaw-bundle-mcp", Answers::Text),
            ("mcp", Answers::Text),
            ("mcp-inspector", Answers::Structured),
        ] {
            let hello = hello(name, "2025-11-25");
            assert_eq!(answers("/mcp", &[], &hello), form, "{name}");
            // The next request does not say it again, but for its session.
            let session = Answers::session(&hello);
            assert_eq!(session.is_some(), form == Answers::Text, "{name}");
            let mut headers = vec![(VERSION, "2025-11-25")];
            headers.extend(session.iter().map(|session| (SESSION, session.to_str().unwrap())));
            assert_eq!(answers("/mcp", &headers, &json!({ "method": "tools/call" })), form, "{name}");
            // The newest version says it in each request.
            let meta = json!({ META[0]: "2026-07-28", META[1]: { "name": name } });
            assert_eq!(answers("/mcp", &[], &json!({ "params": { "_meta": meta } })), form, "{name}");
        }
    }

    #[test]
    fn a_version_without_structured_content_gets_text() {
        for (version, form) in [
            ("2024-11-05", Answers::Text),
            ("2025-03-26", Answers::Text),
            ("2025-06-18", Answers::Structured),
            ("2099-01-01", Answers::Structured),
        ] {
            assert_eq!(answers("/mcp", &[], &hello("x", version)), form, "{version}");
            assert_eq!(answers("/mcp", &[(VERSION, version)], &json!({})), form, "{version}");
        }
        assert_eq!(answers("/mcp", &[], &json!({})), Answers::Text, "no header is an old version");
        assert!(Answers::session(&hello("x", "2024-11-05")).is_none(), "each request has the version, or none");
    }

    #[test]
    fn the_address_has_the_last_word() {
        let old = hello("claude-ai", "2024-11-05");
        assert_eq!(answers("/mcp?answers=structured", &[], &old), Answers::Structured);
        assert_eq!(answers("/mcp?a=b&answers=text", &[], &hello("claude-code", "2025-11-25")), Answers::Text);
        assert!(Answers::to(&"/mcp?answers=both".parse().unwrap(), &HeaderMap::new(), &old).is_err());
    }
}
