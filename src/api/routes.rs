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
use crate::access::Authenticator;
use crate::agents;
use crate::app::App;
use crate::jobs;
use crate::notes;
use crate::request::{Owner, RequestError, Role, Viewer};
use crate::wire::{
    AgentFound, AgentSearchParams, AgentStatus, Browse, BrowseParams, Collections, NoteParams, NoteView, PassageView,
    ReindexParams, Reindexing, SearchQuery, SearchResponse, Stats, Status, Verification,
};

pub(super) type AppState = Arc<App>;
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
pub fn guarded(app: Arc<App>, live: &Live, with: Guard, more: Router) -> Router {
    let with = with.and(Arc::clone(&live.sessions) as Arc<dyn Authenticator>);
    let limits = middleware::from_fn_with_state(Arc::clone(&app), within_limits);
    finish(routes(app, live).merge(more).layer(limits)).layer(middleware::from_fn_with_state(Arc::new(with), guard))
}

/// The API as it is served over the Unix socket, which only the person can open.
pub fn local(app: Arc<App>, live: &Live, more: Router) -> Router {
    let limits = middleware::from_fn_with_state(Arc::clone(&app), within_limits);
    let person = middleware::from_fn_with_state(Arc::clone(&app), local_caller);
    let owners = page::local_routes(&live.sessions).route_layer(middleware::from_fn(owner_only));
    finish(routes(app, live).merge(more).merge(owners).layer(limits)).layer(person)
}

fn routes(app: Arc<App>, live: &Live) -> Router {
    let events =
        Router::new().route("/events", get(events::events)).with_state((Arc::clone(&app), live.streams.clone()));
    let owners = Router::new()
        .route("/reindex", post(reindex))
        .route("/verify", post(verify))
        .merge(super::writes::routes())
        .merge(super::agents::routes())
        .merge(super::capture::routes())
        .with_state(Arc::clone(&app))
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

/// Answers a request on a thread that may block: it is made there, once. What it asks of who sent it is the type that `with` takes.
pub(super) async fn ask<R: Role, T: Send + 'static>(
    app: AppState,
    asking: Asking,
    with: impl FnOnce(&R) -> Result<T, RequestError> + Send + 'static,
) -> Answer<T> {
    let Asking { principal, turn, place } = asking;
    let answering = move || {
        let told = principal.clone();
        let answer = R::of(app.request(principal, turn)).and_then(|role| with(&role));
        drop(place);
        answer.map_err(|error| error.told_to(&told))
    };
    match tokio::task::spawn_blocking(answering).await {
        Ok(answer) => Ok(Json(answer?)),
        Err(error) => {
            tracing::error!("a request panicked: {error}");
            Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; please report this"))
        }
    }
}

pub(super) fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    query.map(|Query(params)| params).map_err(|rejection| RequestError::invalid(rejection.body_text()).into())
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
pub(super) async fn status(State(app): State<AppState>, asking: Asking) -> Answer<AnyStatus> {
    let vault = Arc::clone(&app);
    ask(app, asking, move |viewer: &Viewer| match viewer.owner() {
        Some(owner) => vault.status(&owner).map(|status| AnyStatus::Whole(Box::new(status))),
        None => notes::agent_status(viewer).map(AnyStatus::Agents),
    })
    .await
}

/// Compares every note with the index, or builds it from nothing.
#[utoipa::path(post, path = "/reindex", request_body = ReindexParams,
    responses((status = 200, body = Reindexing), (status = "4XX", body = ErrorBody)))]
pub(super) async fn reindex(
    State(app): State<AppState>,
    asking: Asking,
    Fields(params): Fields<ReindexParams>,
) -> Answer<Reindexing> {
    ask(app, asking, move |owner: &Owner| jobs::reindex(owner, params.full)).await
}

/// Compares everything in the index with its checksums; what is damaged is mended from then on.
#[utoipa::path(post, path = "/verify",
    responses((status = 200, body = Verification), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn verify(State(app): State<AppState>, asking: Asking) -> Answer<Verification> {
    ask(app, asking, jobs::verify).await
}

/// Finds passages by their words, their meaning, or both.
#[utoipa::path(get, path = "/api/user-memory/search", params(SearchQuery),
    responses((status = 200, body = SearchResponse), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<SearchQuery>, QueryRejection>,
) -> Answer<SearchResponse> {
    let params = query(params)?;
    ask(app, asking, move |viewer: &Viewer| notes::search(viewer, &params)).await
}

/// Finds what an agent would find: for the person any agent, for an agent itself. Whether there is an agent that may not read
/// the person's memory is not told.
#[utoipa::path(get, path = "/api/user-memory/agent-search", params(AgentSearchParams),
    responses((status = 200, body = AgentFound), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn agent_search(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<AgentSearchParams>, QueryRejection>,
) -> Answer<AgentFound> {
    let params = query(params)?;
    ask(app, asking, move |viewer: &Viewer| {
        let viewer = agents::as_agent(viewer, params.agent_name.as_deref())?;
        let agent = viewer.agent().unwrap_or_default().to_owned();
        Ok(AgentFound { response: notes::search(&viewer, &params.into())?, agent })
    })
    .await
}

/// Lists passages, of the newest notes first.
#[utoipa::path(get, path = "/api/user-memory/browse", params(BrowseParams),
    responses((status = 200, body = Browse), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn browse(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<BrowseParams>, QueryRejection>,
) -> Answer<Browse> {
    let params = query(params)?;
    ask(app, asking, move |viewer: &Viewer| notes::browse(viewer, &params)).await
}

/// What there is, in numbers.
#[utoipa::path(get, path = "/api/user-memory/stats",
    responses((status = 200, body = Stats), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn stats(State(app): State<AppState>, asking: Asking) -> Answer<Stats> {
    ask(app, asking, notes::stats).await
}

/// The names of the collections.
#[utoipa::path(get, path = "/api/user-memory/collections",
    responses((status = 200, body = Collections), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn collections(State(app): State<AppState>, asking: Asking) -> Answer<Collections> {
    ask(app, asking, notes::collections).await
}

/// The passage with a hash, and the remarks on it.
#[utoipa::path(get, path = "/api/user-memory/chunk/{hash}",
    params(("hash" = String, Path, description = "16 hexadecimal digits")),
    responses((status = 200, body = PassageView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn chunk(
    State(app): State<AppState>,
    asking: Asking,
    hash: Result<Path<String>, PathRejection>,
) -> Answer<PassageView> {
    let Path(hash) = hash.map_err(|rejection| RequestError::invalid(rejection.body_text()))?;
    ask(app, asking, move |viewer: &Viewer| notes::passage(viewer, &hash)).await
}

/// A whole note, with its body as nodes from which a page can be built.
#[utoipa::path(get, path = "/api/user-memory/note", params(NoteParams),
    responses((status = 200, body = NoteView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn note(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<NoteParams>, QueryRejection>,
) -> Answer<NoteView> {
    let params = query(params)?;
    ask(app, asking, move |viewer: &Viewer| notes::note_in_room(viewer, &params)).await
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
