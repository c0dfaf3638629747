//! Which address leads where, for whom.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::DefaultBodyLimit;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use tokio::sync::watch;

use super::auth::{Guard, guard};
use super::caller::{local as local_caller, owner_only, readers_only, within_limits};
use super::error::{ApiError, MAX_BODY_BYTES};
use super::events::Streams;
use super::looks::Looks;
use super::openapi::document;
use super::sessions::Sessions;
use super::{
    agents, attachments, capture, conflicts, context, entries, events, facts, forgotten, graph, import, links, memory,
    page, passing, processing, profile, qmd, routes, summaries, traces, writes,
};
use crate::access::Authenticator;
use crate::app::App;

/// What all listeners share while the daemon runs: the sessions of the page and the streams of events.
#[derive(Debug, Clone)]
pub struct Live {
    sessions: Arc<Sessions>,
    streams: Streams,
}

impl Live {
    /// Streams of events end when `stop` holds true or its sender is gone.
    pub fn new(stop: watch::Receiver<bool>) -> Self {
        Self { sessions: Arc::default(), streams: Streams::new(stop) }
    }
}

/// The API as it is served over TCP: every request passes the guard. `more` are routes of other protocols, which take the
/// [`Principal`](crate::access::Principal) from the request's extensions.
pub fn guarded(app: Arc<App>, live: &Live, with: Guard, more: Router) -> Router {
    let with = with.and(Arc::clone(&live.sessions) as Arc<dyn Authenticator>);
    let limits = middleware::from_fn_with_state(Arc::clone(&app), within_limits);
    finish(routes(app, live).merge(more).layer(limits)).layer(middleware::from_fn_with_state(Arc::new(with), guard))
}

/// The API as it is served over the Unix socket, which only the person can open.
pub fn local(app: Arc<App>, live: &Live, more: Router) -> Router {
    let limits = middleware::from_fn_with_state(Arc::clone(&app), within_limits);
    let looks = Looks::within(Duration::from_millis(app.config().agents.timeout_ms));
    let person = middleware::from_fn_with_state((Arc::clone(&app), looks), local_caller);
    let owners = page::local_routes(&live.sessions).route_layer(middleware::from_fn(owner_only));
    finish(routes(app, live).merge(more).merge(owners).layer(limits)).layer(person)
}

fn routes(app: Arc<App>, live: &Live) -> Router {
    let events =
        Router::new().route("/events", get(events::events)).with_state((Arc::clone(&app), live.streams.clone()));
    let owners = Router::new()
        .route("/reindex", post(routes::reindex))
        .route("/verify", post(routes::verify))
        .route("/model/reload", post(routes::reload_model))
        .route("/model/gc", post(routes::drop_kept_vectors))
        .merge(writes::routes())
        .merge(agents::routes())
        .merge(entries::owner_routes())
        .merge(forgotten::routes())
        .merge(attachments::routes())
        .merge(conflicts::routes())
        .merge(profile::routes())
        .merge(capture::routes())
        .merge(import::routes())
        .with_state(Arc::clone(&app))
        .merge(events)
        .route_layer(middleware::from_fn(owner_only));
    let readers = Router::new()
        .route("/openapi.json", get(openapi))
        .route("/status", get(routes::status))
        .route("/api/user-memory/search", get(routes::search))
        .route("/api/user-memory/agent-search", get(routes::agent_search))
        .route("/api/user-memory/browse", get(routes::browse))
        .route("/api/user-memory/stats", get(routes::stats))
        .route("/api/user-memory/collections", get(routes::collections))
        .route("/api/user-memory/chunk/{hash}", get(routes::chunk))
        .route("/api/user-memory/note", get(routes::note))
        .merge(links::routes())
        .merge(entries::routes())
        .merge(facts::routes())
        .merge(summaries::routes())
        .merge(processing::routes())
        .merge(context::routes())
        .merge(passing::routes(&app))
        .merge(graph::routes())
        .merge(memory::routes())
        .merge(traces::routes())
        .merge(agents::reader_routes())
        .merge(qmd::routes())
        .route_layer(middleware::from_fn(readers_only));
    Router::new()
        .route("/health", get(routes::health))
        .merge(capture::event_routes())
        .merge(readers)
        .with_state(app)
        .merge(owners)
        .merge(page::routes(&live.sessions))
}

/// What every answer has in common, those of merged routes included.
fn finish(routes: Router) -> Router {
    routes
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(MAX_BODY_BYTES))
        .layer(middleware::map_response(headers))
}

/// Answers are one person's memory: no cache keeps them and no page frames them.
async fn headers(mut response: Response) -> Response {
    for (name, value) in [
        (header::CACHE_CONTROL, "no-store"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        (header::REFERRER_POLICY, "no-referrer"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn openapi() -> impl IntoResponse {
    Json(document())
}

async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address").hint("see /openapi.json")
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this address does not take this method")
}
