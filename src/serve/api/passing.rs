//! The routes by which any OpenAI-compatible client has memory: requests to a chat model are passed on to the upstream that the person
//! named, with what is worth knowing for the last message in that message. Whatever becomes of memory, the request goes on.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures_util::stream;
use tokio::sync::{mpsc, oneshot};

use super::ask::{ApiError, AppState, ErrorBody, answer};
use super::auth::Asking;
use crate::access::policy::RequestPermit;
use crate::access::request::Viewer;
use crate::access::rules::Principal;
use crate::memory::context::{ChatBody, context};
use crate::models::{UpstreamAnswer, UpstreamError};
use crate::serve::app::App;
use crate::serve::wire::ContextParams;

/// Says in an answer what memory was given, or why none was.
const MEMORY: HeaderName = HeaderName::from_static("x-vault-memory");
/// A request may name the agent that it is of. It can only be the token's.
const NAMED_AGENT: &str = "x-osaurus-agent-id";
/// Maximum number of requests that are passed on at a time, over all agents.
const MAX_PASSED: usize = 32;
/// Maximum number of requests of one agent that are passed on at a time.
const MAX_PASSED_OF_ONE: usize = 8;
/// Bytes that are read at a time, and how many of such reads may wait for a slow listener.
const PART_BYTES: usize = 16 << 10;
const WAITING_PARTS: usize = 8;

/// The routes, for agents alone.
pub(super) fn routes(app: &App) -> Router<AppState> {
    let most = usize::try_from(app.config.upstream.max_body_bytes).unwrap_or(usize::MAX);
    Router::new()
        .route("/v1/chat/completions", post(complete))
        .route("/v1/models", get(models))
        .layer(DefaultBodyLimit::max(most))
}

/// Forwards messages for a chat model to the upstream of `[upstream]`, and streams its answer back. Relevant memory of the agent is put
/// before the last user message; `X-Vault-Memory` says what was added, or why nothing was.
#[utoipa::path(post, path = "/v1/chat/completions", request_body = serde_json::Value,
    params(("X-Osaurus-Agent-Id" = Option<String>, Header, description = "the agent's folder or name; another agent gets no memory")),
    responses((status = 200, description = "The answer of the upstream", body = serde_json::Value),
        (status = 502, body = ErrorBody), (status = 504, body = ErrorBody), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn complete(
    State(app): State<AppState>,
    asking: Asking,
    headers: HeaderMap,
    request: Request,
) -> Result<Response, ApiError> {
    // Before anything of the body is held.
    let room = may_pass(&app, &asking)?;
    let body = Bytes::from_request(request, &app).await.map_err(|rejection| match rejection.status() {
        StatusCode::PAYLOAD_TOO_LARGE => {
            ApiError::too_large(usize::try_from(app.config.upstream.max_body_bytes).unwrap_or(usize::MAX))
        }
        status => ApiError::new(status, "invalid", rejection.body_text()),
    })?;
    let named = headers.get(NAMED_AGENT).map(|named| String::from_utf8_lossy(named.as_bytes()).trim().to_owned());
    let (body, told) = with_memory(&app, asking, named.filter(|named| !named.is_empty()), body).await;
    let headers =
        headers.iter().filter_map(|(name, value)| Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned())));
    let headers: Vec<(String, String)> = headers.collect();
    // The thread may outlive the daemon's other parts, and keeps none of them.
    let upstream = app.upstream();
    let asked = move || upstream.map_err(unset)?.complete(&headers, &body).map_err(failed);
    let mut response = passed(room, asked).await.unwrap_or_else(IntoResponse::into_response);
    response.headers_mut().insert(MEMORY, told);
    Ok(response)
}

/// Lists the models of the upstream.
#[utoipa::path(get, path = "/v1/models",
    responses((status = 200, description = "The answer of the upstream", body = serde_json::Value),
        (status = 404, body = ErrorBody), (status = 502, body = ErrorBody), (status = 504, body = ErrorBody),
        (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn models(State(app): State<AppState>, asking: Asking) -> Result<Response, ApiError> {
    let room = may_pass(&app, &asking)?;
    let upstream = app.upstream();
    passed(room, move || upstream.map_err(unset)?.models().map_err(failed)).await
}

/// Refuses who is no agent, and everybody where there is no upstream or no room. What it gives is held until nothing of the answer is left.
fn may_pass(app: &App, asking: &Asking) -> Result<[RequestPermit; 2], ApiError> {
    let Principal::Agent(caller) = &asking.principal else {
        let error = ApiError::new(
            StatusCode::FORBIDDEN,
            "forbidden",
            "only the requests of agents are passed on to a chat model",
        );
        return Err(error.hint("use an agent's token: `vault agent add`"));
    };
    if app.config.upstream.endpoint.is_empty() {
        let error = ApiError::new(StatusCode::NOT_FOUND, "not_found", "no upstream is configured");
        return Err(error.hint("the owner sets it in memory.toml: `[upstream] endpoint`"));
    }
    let permit = |of: &str, most: usize| {
        let message = format!("{most} requests are already in progress");
        let full = || ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
        app.agents.rates().permit(of, most).ok_or_else(full)
    };
    Ok([permit(&format!("{}/passed", caller.slug), MAX_PASSED_OF_ONE)?, permit("/passed", MAX_PASSED)?])
}

/// The body with memory in it, and what is told of that; the very same body where there is none.
async fn with_memory(app: &AppState, asking: Asking, named: Option<String>, body: Bytes) -> (Bytes, HeaderValue) {
    let Asking { turn, .. } = &asking;
    let patience = turn.left().unwrap_or_default();
    let (vault, unchanged) = (Arc::clone(app), body.clone());
    let remembering = answer(Arc::clone(app), asking, move |viewer: &Viewer| {
        if let Some(named) = &named
            && !vault.is_called(viewer, named)
        {
            return Ok(Err("another agent is named".to_owned()));
        }
        let chat = match ChatBody::read(&body) {
            Ok(chat) => chat,
            Err(why) => return Ok(Err(why.to_owned())),
        };
        let params =
            ContextParams { query: Some(chat.question.clone()), unasked: Some(true), ..ContextParams::default() };
        let view = context(viewer, &params)?;
        let receipt = &view.receipt;
        let told = format!("{}; tokens={}; receipt={}", receipt.gate, receipt.tokens, receipt.id);
        let body = if view.text.is_empty() { body } else { chat.with(&body, &view.text).into() };
        Ok(Ok((body, told)))
    });
    let skipped =
        |why: &str| HeaderValue::from_str(&format!("skipped; {why}")).unwrap_or(HeaderValue::from_static("skipped"));
    match tokio::time::timeout(patience, remembering).await {
        Ok(Ok(Ok((body, told)))) => (body, HeaderValue::from_str(&told).unwrap_or(HeaderValue::from_static("given"))),
        Ok(Ok(Err(why))) => (unchanged, skipped(&why)),
        // What is wrong is in the log of the daemon; here it is enough that nothing was given.
        Ok(Err(_)) => (unchanged, skipped("memory cannot answer now")),
        Err(_) => (unchanged, skipped("memory took too long")),
    }
}

/// That the upstream cannot be asked at all. Why, names what is in the person's environment.
fn unset(reason: String) -> ApiError {
    tracing::warn!("nothing is passed on: {reason}");
    ApiError::new(StatusCode::BAD_GATEWAY, "bad_gateway", "the upstream is not configured correctly")
}

/// That the upstream does not answer.
fn failed(error: UpstreamError) -> ApiError {
    let (status, code) = match error {
        UpstreamError::TimedOut => (StatusCode::GATEWAY_TIMEOUT, "timeout"),
        UpstreamError::Failed(_) => (StatusCode::BAD_GATEWAY, "bad_gateway"),
    };
    ApiError::new(status, code, error.to_string())
}

/// Asks on a thread of its own, which ends with the answer or when nobody listens any more, and passes back what comes as it comes.
async fn passed(
    room: [RequestPermit; 2],
    ask: impl FnOnce() -> Result<UpstreamAnswer, ApiError> + Send + 'static,
) -> Result<Response, ApiError> {
    let (head, answered) = oneshot::channel();
    let (parts, receiver) = mpsc::channel(WAITING_PARTS);
    let pass = move || {
        let _room = room;
        match ask() {
            Err(error) => drop(head.send(Err(error))),
            Ok(mut answer) => {
                if head.send(Ok((answer.status, std::mem::take(&mut answer.headers)))).is_ok() {
                    pump(&mut answer, &parts);
                }
            }
        }
    };
    let lost = || ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the request cannot be passed on now");
    std::thread::Builder::new().name("upstream".into()).spawn(pass).map_err(|_| lost())?;
    let (status, headers) = answered.await.map_err(|_| lost())??;
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY);
    // Where the upstream's answer breaks off, so does this, and whoever listens is not led to take a part for the whole.
    let parts = stream::unfold(receiver, |mut parts| async move { parts.recv().await.map(|part| (part, parts)) });
    let mut response = (status, Body::from_stream(parts)).into_response();
    for (name, value) in headers {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(HeaderName::from_static(name), value);
        }
    }
    Ok(response)
}

fn pump(answer: &mut UpstreamAnswer, parts: &mpsc::Sender<std::io::Result<Bytes>>) {
    let mut room = vec![0; PART_BYTES];
    loop {
        let part = match answer.read(&mut room) {
            Ok(0) => return,
            Ok(read) => Ok(Bytes::copy_from_slice(&room[..read])),
            Err(error) => Err(error),
        };
        let is_over = part.is_err();
        if parts.blocking_send(part).is_err() || is_over {
            return;
        }
    }
}
