//! `/mcp`: one request, one answer in JSON.

use std::error::Error;
use std::io;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::header::{ACCEPT, CONTENT_TYPE};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use rmcp::model::{ErrorCode, ErrorData};
use rmcp::transport::StreamableHttpServerConfig;
use rmcp::transport::streamable_http_server::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::never::NeverSessionManager;
use serde_json::{Value, json};

use super::answers::{Answers, SESSION};
use super::server::Server;
use crate::access::Principal;
use crate::app::App;

/// Maximum length of a message, in bytes.
pub(crate) const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Maximum length of what rmcp says itself when it refuses a request, in bytes: it is a sentence.
const MAX_SENTENCE_BYTES: usize = 64 * 1024;

type McpService = StreamableHttpService<Server, NeverSessionManager>;

/// Serves the vault at `/mcp`. The listener says who asks, by a [`Principal`] in the extensions of each request, and has
/// checked `Host`, `Origin` and token before.
pub(crate) fn router(app: Arc<App>) -> Router {
    // No sessions, so that a restart of the daemon is not noticed.
    let config = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true)
        .with_max_request_body_bytes(MAX_MESSAGE_BYTES)
        .disable_allowed_hosts();
    let mcp: McpService = StreamableHttpService::new(move || Ok(Server::new(Arc::clone(&app))), Arc::default(), config);
    Router::new().route("/mcp", post(answer)).with_state(mcp)
}

/// Whether a message could not be read because its listener had waited long enough for it.
fn is_late(error: &axum::Error) -> bool {
    let mut cause: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::TimedOut) {
            return true;
        }
        cause = error.source();
    }
    false
}

async fn answer(State(mcp): State<McpService>, request: Request) -> Response {
    match request.extensions().get::<Principal>() {
        Some(Principal::Capture(_)) | None => {
            return refused(StatusCode::FORBIDDEN, &Value::Null, ErrorCode::INVALID_REQUEST, "nobody is known to ask");
        }
        Some(_) => {}
    }
    let (mut parts, body) = request.into_parts();
    let bytes = match to_bytes(body, MAX_MESSAGE_BYTES).await {
        Ok(bytes) => bytes,
        Err(error) => {
            let (status, why) = match is_late(&error) {
                true => (StatusCode::REQUEST_TIMEOUT, "the message did not come in time".to_owned()),
                false => (StatusCode::PAYLOAD_TOO_LARGE, format!("the message has over {MAX_MESSAGE_BYTES} bytes")),
            };
            return refused(status, &Value::Null, ErrorCode::INVALID_REQUEST, &why);
        }
    };
    let message = match check(&bytes) {
        Ok(message) => message,
        Err((code, message)) => return refused(StatusCode::BAD_REQUEST, &Value::Null, code, &message),
    };
    let id = message.get("id").cloned().unwrap_or_default();
    match Answers::to(&parts.uri, &parts.headers, &message) {
        Ok(answers) => parts.extensions.insert(answers),
        Err(wrong) => return refused(StatusCode::BAD_REQUEST, &id, ErrorCode::INVALID_REQUEST, &wrong),
    };
    // The answer is JSON whatever the client takes beside it, so nobody is turned away who takes JSON alone.
    parts.headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
    let mut response = mcp.handle(Request::from_parts(parts, Body::from(bytes))).await.map(Body::new);
    if let Some(session) = Answers::session(&message).filter(|_| response.status().is_success()) {
        response.headers_mut().insert(SESSION, session);
    }
    let is_json = response.headers().get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes() == b"application/json");
    if response.status().as_u16() < 400 || is_json {
        return response;
    }
    let status = response.status();
    let said = to_bytes(response.into_body(), MAX_SENTENCE_BYTES).await.unwrap_or_default();
    refused(status, &id, ErrorCode::INVALID_REQUEST, &String::from_utf8_lossy(&said))
}

/// Reads a message, if it can be one of JSON-RPC.
fn check(bytes: &Bytes) -> Result<Value, (ErrorCode, String)> {
    let message: Value = serde_json::from_slice(bytes)
        .map_err(|error| (ErrorCode::PARSE_ERROR, format!("the message is not JSON: {error}")))?;
    match message {
        Value::Object(_) => Ok(message),
        Value::Array(_) => Err((ErrorCode::INVALID_REQUEST, "batches are no part of MCP; send one message".into())),
        _ => Err((ErrorCode::INVALID_REQUEST, "a message is a JSON object".into())),
    }
}

fn refused(status: StatusCode, id: &Value, code: ErrorCode, message: &str) -> Response {
    let error = ErrorData::new(code, message.to_owned(), None);
    (status, axum::Json(json!({ "jsonrpc": "2.0", "id": id, "error": error }))).into_response()
}
