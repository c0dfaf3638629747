//! A server for programs of this machine that have no token, because the person has said so: messages of MCP and a search, which
//! something else answers. Only this host and its own pages are let in.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::ask::{ApiError, JsonBody};
use super::auth::{Guard, only_from_here};

/// Maximum length of a message, in bytes.
const MAX_MESSAGE_BYTES: usize = 1 << 20;

/// Requests that are answered at a time; more wait.
const AT_A_TIME: usize = 8;

/// Makes of one thing another. It may block.
type OpenAnswer<T> = Box<dyn Fn(&Value) -> T + Send + Sync>;

/// What answers.
pub(crate) struct OpenService {
    /// The answer to a message of MCP; `None` where none is due.
    pub(crate) message: OpenAnswer<Option<Value>>,
    /// What a search finds, or why it finds nothing.
    pub(crate) search: OpenAnswer<Result<Value, String>>,
}

struct Serving {
    service: OpenService,
    free: Semaphore,
    since: Instant,
}

/// Serves at `/mcp`, `/query` (and `/search`) and `/health`.
pub(crate) fn without_token(service: OpenService) -> Router {
    let serving = Serving { service, free: Semaphore::new(AT_A_TIME), since: Instant::now() };
    let guard = Arc::new(Guard::new(Vec::new(), Vec::new()));
    Router::new()
        .route("/mcp", post(message))
        .route("/query", post(search))
        .route("/search", post(search))
        .route("/health", get(health))
        .layer(DefaultBodyLimit::max(MAX_MESSAGE_BYTES))
        .layer(middleware::from_fn_with_state(guard, only_from_here))
        .with_state(Arc::new(serving))
}

async fn message(State(serving): State<Arc<Serving>>, JsonBody(message): JsonBody<Value>) -> Response {
    match answered(serving, move |service| (service.message)(&message)).await {
        Ok(Some(answer)) => Json(answer).into_response(),
        Ok(None) => StatusCode::ACCEPTED.into_response(),
        Err(error) => error.into_response(),
    }
}

async fn search(State(serving): State<Arc<Serving>>, JsonBody(asked): JsonBody<Value>) -> Response {
    match answered(serving, move |service| (service.search)(&asked)).await {
        Ok(Ok(found)) => Json(found).into_response(),
        Ok(Err(why)) => (StatusCode::BAD_REQUEST, Json(json!({ "error": why }))).into_response(),
        Err(error) => error.into_response(),
    }
}

async fn health(State(serving): State<Arc<Serving>>) -> Response {
    let uptime = serving.since.elapsed().as_secs();
    Json(json!({ "status": "ok", "uptime": uptime, "version": env!("CARGO_PKG_VERSION") })).into_response()
}

/// Answers on a thread that may block.
async fn answered<T: Send + 'static>(
    serving: Arc<Serving>,
    answer: impl FnOnce(&OpenService) -> T + Send + 'static,
) -> Result<T, ApiError> {
    let failed =
        || ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; please report this");
    let free = Arc::clone(&serving);
    let Ok(_turn) = free.free.acquire().await else { return Err(failed()) };
    tokio::task::spawn_blocking(move || answer(&serving.service)).await.map_err(|_| failed())
}
