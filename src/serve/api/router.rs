//! Which address leads where, for whom.

use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router, middleware};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::ask::{ApiError, MAX_BODY_BYTES};
use super::auth::{Guard, guard};
use super::caller::{local as local_caller, only, within_limits};
use super::events::Streams;
use super::openapi::document;
use super::page::Sessions;
use super::{endpoints, events, page, passing, qmd};
use crate::access::request::{Owner, Viewer};
use crate::access::rules::{Authenticator, Principal};
use crate::serve::app::App;

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
/// [`Principal`](crate::access::rules::Principal) from the request's extensions.
pub fn guarded(app: Arc<App>, live: &Live, with: Guard, more: Router) -> Router {
    let with = with.and(Arc::clone(&live.sessions) as Arc<dyn Authenticator>);
    let limits = middleware::from_fn_with_state(Arc::clone(&app), within_limits);
    finish(routes(app, live).merge(more).layer(limits)).layer(middleware::from_fn_with_state(Arc::new(with), guard))
}

/// The API as it is served over the Unix socket, which only the person can open.
pub fn local(app: Arc<App>, live: &Live, more: Router) -> Router {
    let limits = middleware::from_fn_with_state(Arc::clone(&app), within_limits);
    let person = middleware::from_fn_with_state(Arc::clone(&app), local_caller);
    let owners = page::local_routes(&live.sessions).route_layer(middleware::from_fn(only::<Owner>));
    finish(routes(app, live).merge(more).merge(owners).layer(limits)).layer(person)
}

/// The API as a process asks itself, which works alone for the person: its index is up to date.
pub fn alone(app: Arc<App>) -> Router {
    async fn person(mut request: Request, next: Next) -> Response {
        request.extensions_mut().insert(Principal::Owner);
        next.run(request).await
    }
    let (_, stopped) = watch::channel(true);
    finish(routes(app, &Live::new(stopped))).layer(middleware::from_fn(person))
}

fn routes(app: Arc<App>, live: &Live) -> Router {
    let events =
        Router::new().route("/events", get(events::events)).with_state((Arc::clone(&app), live.streams.clone()));
    let events = events.route_layer(middleware::from_fn(only::<Owner>));
    let readers = Router::new()
        .route("/openapi.json", get(openapi))
        .merge(events::context_routes())
        .merge(passing::routes(&app))
        .merge(qmd::routes())
        .route_layer(middleware::from_fn(only::<Viewer>));
    let declared = endpoints::all().routes();
    Router::new()
        .route("/health", get(health))
        .merge(events::capture_routes())
        .merge(declared)
        .merge(readers)
        .with_state(app)
        .merge(events)
        .merge(page::routes(&live.sessions))
}

/// Says that the server runs, and nothing else.
#[utoipa::path(get, path = "/health", tag = "routes", security(()), responses((status = 200, description = "It runs", body = Value)))]
pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
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
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "no such address").hint("see /openapi.json")
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this address does not accept this method")
}
