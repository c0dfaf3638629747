//! The routes.

use std::sync::Arc;

use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router, middleware};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use utoipa::ToSchema;

use super::auth::{Guard, guard};
use super::body::Fields;
use super::caller::{Asking, local as local_caller, owner_only, readers_only, within_limits};
use super::error::{ApiError, ErrorBody, MAX_BODY_BYTES};
use super::events::{self, Streams};
use super::page;
use super::sessions::Sessions;
use crate::access::{Keys, Principal};
use crate::service::{
    AgentFound, AgentSearchParams, AgentStatus, Browse, BrowseParams, Collections, NoteParams, NoteView, PassageView,
    ReindexParams, Reindexing, SearchParams, SearchResponse, Service, ServiceError, Stats, Status, Verification,
};

pub(super) type App = Arc<Service>;
pub(super) type Answer<T> = Result<Json<T>, ApiError>;

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
pub fn guarded(service: Arc<Service>, live: &Live, with: Guard, more: Router) -> Router {
    let with = with.and(Arc::clone(&live.sessions) as Arc<dyn Keys>);
    let limits = middleware::from_fn_with_state(Arc::clone(&service), within_limits);
    finish(routes(service, live).merge(more).layer(limits)).layer(middleware::from_fn_with_state(Arc::new(with), guard))
}

/// The API as it is served over the Unix socket, which only the person can open.
pub fn local(service: Arc<Service>, live: &Live, more: Router) -> Router {
    let limits = middleware::from_fn_with_state(Arc::clone(&service), within_limits);
    let person = middleware::from_fn_with_state(Arc::clone(&service), local_caller);
    let owners = page::local_routes(&live.sessions).route_layer(middleware::from_fn(owner_only));
    finish(routes(service, live).merge(more).merge(owners).layer(limits)).layer(person)
}

fn routes(service: Arc<Service>, live: &Live) -> Router {
    let events =
        Router::new().route("/events", get(events::events)).with_state((Arc::clone(&service), live.streams.clone()));
    let owners = Router::new()
        .route("/reindex", post(reindex))
        .route("/verify", post(verify))
        .merge(super::writes::routes())
        .merge(super::agents::routes())
        .merge(super::capture::routes())
        .with_state(Arc::clone(&service))
        .merge(events)
        .route_layer(middleware::from_fn(owner_only));
    let readers = Router::new()
        .route("/openapi.json", get(openapi))
        .route("/status", get(status))
        .route("/api/user-memory/search", get(search))
        .route("/api/user-memory/agent-search", get(agent_search))
        .route("/api/user-memory/browse", get(browse))
        .route("/api/user-memory/stats", get(stats))
        .route("/api/user-memory/collections", get(collections))
        .route("/api/user-memory/chunk/{hash}", get(chunk))
        .route("/api/user-memory/note", get(note))
        .merge(super::memory::routes())
        .merge(super::qmd::routes())
        .route_layer(middleware::from_fn(readers_only));
    Router::new()
        .route("/health", get(health))
        .merge(super::capture::event_routes())
        .merge(readers)
        .with_state(service)
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

/// Calls the service for somebody, on a thread that may block.
pub(super) async fn call_as<T: Serialize + Send + 'static>(
    service: App,
    principal: Principal,
    with: impl FnOnce(&Service, &Principal) -> Result<T, ServiceError> + Send + 'static,
) -> Answer<T> {
    call(service, move |service| with(service, &principal).map_err(|error| error.told_to(&principal))).await
}

/// Calls the service on a thread that may block.
pub(super) async fn call<T: Serialize + Send + 'static>(
    service: App,
    with: impl FnOnce(&Service) -> Result<T, ServiceError> + Send + 'static,
) -> Answer<T> {
    match tokio::task::spawn_blocking(move || with(&service)).await {
        Ok(result) => Ok(Json(result?)),
        Err(error) => {
            tracing::error!("a request panicked: {error}");
            Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; please report this"))
        }
    }
}

pub(super) fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    query.map(|Query(params)| params).map_err(|rejection| ServiceError::invalid(rejection.body_text()).into())
}

/// Says that the server runs, and nothing else.
#[utoipa::path(get, path = "/health", security(()), responses((status = 200, description = "It runs", body = Value)))]
pub(super) async fn health() -> Json<Value> {
    Json(json!({ "status": "ok" }))
}

/// How the vault and its index are; to an agent, what it may read of them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub(super) enum AnyStatus {
    /// The person's.
    Whole(Box<Status>),
    /// An agent's.
    Agents(AgentStatus),
}

/// How the vault and its index are. An agent is told of what it may read.
#[utoipa::path(get, path = "/status",
    responses((status = 200, body = AnyStatus), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn status(State(service): State<App>, Asking(principal): Asking) -> Answer<AnyStatus> {
    call_as(service, principal, |service, principal| match principal {
        Principal::Owner => service.status().map(|status| AnyStatus::Whole(Box::new(status))),
        _ => service.agent_status(principal).map(AnyStatus::Agents),
    })
    .await
}

/// Compares every note with the index, or builds it from nothing.
#[utoipa::path(post, path = "/reindex", request_body = ReindexParams,
    responses((status = 200, body = Reindexing), (status = "4XX", body = ErrorBody)))]
pub(super) async fn reindex(State(service): State<App>, Fields(params): Fields<ReindexParams>) -> Answer<Reindexing> {
    call(service, move |service| service.reindex(params.full)).await
}

/// Compares everything in the index with its checksums; what is damaged is mended from then on.
#[utoipa::path(post, path = "/verify",
    responses((status = 200, body = Verification), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn verify(State(service): State<App>) -> Answer<Verification> {
    call(service, Service::verify).await
}

/// Finds passages by their words, their meaning, or both.
#[utoipa::path(get, path = "/api/user-memory/search", params(SearchParams),
    responses((status = 200, body = SearchResponse), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search(
    State(service): State<App>,
    Asking(principal): Asking,
    params: Result<Query<SearchParams>, QueryRejection>,
) -> Answer<SearchResponse> {
    let params = query(params)?;
    call_as(service, principal, move |service, principal| service.search(principal, &params)).await
}

/// Finds what an agent would find: for the person any agent, for an agent itself. Whether there is an agent that may not read
/// the person's memory is not told.
#[utoipa::path(get, path = "/api/user-memory/agent-search", params(AgentSearchParams),
    responses((status = 200, body = AgentFound), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn agent_search(
    State(service): State<App>,
    Asking(principal): Asking,
    params: Result<Query<AgentSearchParams>, QueryRejection>,
) -> Answer<AgentFound> {
    let params = query(params)?;
    call_as(service, principal, move |service, principal| service.agent_search(principal, &params)).await
}

/// Lists passages, of the newest notes first.
#[utoipa::path(get, path = "/api/user-memory/browse", params(BrowseParams),
    responses((status = 200, body = Browse), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn browse(
    State(service): State<App>,
    Asking(principal): Asking,
    params: Result<Query<BrowseParams>, QueryRejection>,
) -> Answer<Browse> {
    let params = query(params)?;
    call_as(service, principal, move |service, principal| service.browse(principal, &params)).await
}

/// What there is, in numbers.
#[utoipa::path(get, path = "/api/user-memory/stats",
    responses((status = 200, body = Stats), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn stats(State(service): State<App>, Asking(principal): Asking) -> Answer<Stats> {
    call_as(service, principal, |service, principal| service.stats(principal)).await
}

/// The names of the collections.
#[utoipa::path(get, path = "/api/user-memory/collections",
    responses((status = 200, body = Collections), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn collections(State(service): State<App>, Asking(principal): Asking) -> Answer<Collections> {
    call_as(service, principal, |service, principal| service.collections(principal)).await
}

/// The passage with a hash, and the remarks on it.
#[utoipa::path(get, path = "/api/user-memory/chunk/{hash}",
    params(("hash" = String, Path, description = "16 hexadecimal digits")),
    responses((status = 200, body = PassageView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn chunk(
    State(service): State<App>,
    Asking(principal): Asking,
    hash: Result<Path<String>, PathRejection>,
) -> Answer<PassageView> {
    let Path(hash) = hash.map_err(|rejection| ServiceError::invalid(rejection.body_text()))?;
    call_as(service, principal, move |service, principal| service.passage(principal, &hash)).await
}

/// A whole note, with its body as nodes from which a page can be built.
#[utoipa::path(get, path = "/api/user-memory/note", params(NoteParams),
    responses((status = 200, body = NoteView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn note(
    State(service): State<App>,
    Asking(principal): Asking,
    params: Result<Query<NoteParams>, QueryRejection>,
) -> Answer<NoteView> {
    let params = query(params)?;
    call_as(service, principal, move |service, principal| {
        Ok(service.note(principal, &params)?.within(service.limits_of(principal)))
    })
    .await
}

async fn openapi() -> impl IntoResponse {
    Json(super::openapi::document())
}

async fn not_found() -> ApiError {
    ApiError::new(StatusCode::NOT_FOUND, "not_found", "there is nothing at this address").hint("see /openapi.json")
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", "this address does not take this method")
}
