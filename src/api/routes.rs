//! The routes to what there is, and to how the vault is.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use serde::Serialize;
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::jobs;
use crate::notes;
use crate::request::{Owner, RequestError, Viewer};
use crate::wire::{
    AgentFound, AgentSearchParams, AgentStatus, Browse, BrowseParams, Collections, KeptVectors, ModelReloaded,
    NoteParams, NoteView, PassageView, ReindexParams, Reindexing, SearchQuery, SearchResponse, Stats, Status,
    Verification,
};

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
    JsonBody(params): JsonBody<ReindexParams>,
) -> Answer<Reindexing> {
    ask(app, asking, move |owner: &Owner| jobs::reindex(owner, params.full)).await
}

/// Compares everything in the index with its checksums; what is damaged is mended from then on.
#[utoipa::path(post, path = "/verify",
    responses((status = 200, body = Verification), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn verify(State(app): State<AppState>, asking: Asking) -> Answer<Verification> {
    ask(app, asking, jobs::verify).await
}

/// Loads the model that memory.toml names now. The one there was serves until the vectors of that one are there.
#[utoipa::path(post, path = "/model/reload",
    responses((status = 200, body = ModelReloaded), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn reload_model(State(app): State<AppState>, asking: Asking) -> Answer<ModelReloaded> {
    ask(app, asking, jobs::reload_model).await
}

/// Drops the vectors that are kept of models which are not in use.
#[utoipa::path(post, path = "/model/gc",
    responses((status = 200, body = KeptVectors), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn drop_kept_vectors(State(app): State<AppState>, asking: Asking) -> Answer<KeptVectors> {
    ask(app, asking, jobs::drop_kept_vectors).await
}

/// Finds passages by their words, their meaning, or both.
#[utoipa::path(get, path = "/api/user-memory/search", params(SearchQuery),
    responses((status = 200, body = SearchResponse), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<SearchQuery>, QueryRejection>,
) -> Answer<SearchResponse> {
    let mut params = query(params)?;
    params.fresh = asking.wants_fresh(params.fresh);
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
    let mut params = query(params)?;
    params.fresh = asking.wants_fresh(params.fresh);
    ask(app, asking, move |viewer: &Viewer| {
        let viewer = viewer.as_agent(params.agent_name.as_deref())?;
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
    ask(app, asking.seeing_saves(), move |viewer: &Viewer| notes::browse(viewer, &params)).await
}

/// What there is, in numbers.
#[utoipa::path(get, path = "/api/user-memory/stats",
    responses((status = 200, body = Stats), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn stats(State(app): State<AppState>, asking: Asking) -> Answer<Stats> {
    ask(app, asking.seeing_saves(), notes::stats).await
}

/// The names of the collections.
#[utoipa::path(get, path = "/api/user-memory/collections",
    responses((status = 200, body = Collections), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn collections(State(app): State<AppState>, asking: Asking) -> Answer<Collections> {
    ask(app, asking.seeing_saves(), notes::collections).await
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
    ask(app, asking, move |viewer: &Viewer| notes::passage(viewer, &hash).map(|(passage, _)| passage)).await
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
    ask(app, asking, move |viewer: &Viewer| notes::note(viewer, &params)).await
}
