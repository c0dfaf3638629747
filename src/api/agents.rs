//! The routes with which the person lets agents in.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::routing::{get, post};

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::{ApiError, ErrorBody};
use crate::request::{Owner, RequestError, Viewer};
use crate::wire::{
    AgentParams, AgentRemoved, AgentRules, AgentView, AgentWithToken, AgentsView, ExplainParams, Explained,
    LibrarianParams, LibrarianView, ListedAgents, LogParams, LogView, RotateParams,
};
use crate::{agents, entries};

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/agents", get(list).post(add))
        .route("/api/agents/{slug}", get(show).patch(change).delete(remove))
        .route("/api/agents/{slug}/rotate", post(rotate))
        .route("/api/agents/{slug}/explain", get(explain))
        .route("/api/agents/{slug}/log", get(log))
        .route("/api/agents/{slug}/librarian", get(librarian).patch(change_librarian))
}

fn slug(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    path.map(|Path(slug)| slug).map_err(|rejection| RequestError::invalid(rejection.body_text()).into())
}

/// All agents.
#[utoipa::path(get, path = "/api/agents",
    responses((status = 200, body = AgentsView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn list(State(app): State<AppState>, asking: Asking) -> Answer<AgentsView> {
    ask(app, asking, agents::list).await
}

/// Makes an agent: its page `agents/<slug>/agent.md`, and a token that is shown this once.
#[utoipa::path(post, path = "/api/agents", request_body = AgentParams,
    responses((status = 200, body = AgentWithToken), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn add(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<AgentParams>,
) -> Answer<AgentWithToken> {
    ask(app, asking, move |owner: &Owner| agents::add(owner, &params)).await
}

/// An agent, and what it may read.
#[utoipa::path(get, path = "/api/agents/{slug}", params(("slug" = String, Path, description = "its folder's name")),
    responses((status = 200, body = AgentView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn show(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
) -> Answer<AgentView> {
    let name = slug(name)?;
    ask(app, asking, move |owner: &Owner| agents::view(owner, &name)).await
}

/// Changes what an agent's page says; what is absent stays as it is.
#[utoipa::path(patch, path = "/api/agents/{slug}", request_body = AgentRules,
    params(("slug" = String, Path, description = "its folder's name")),
    responses((status = 200, body = AgentView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn change(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
    JsonBody(rules): JsonBody<AgentRules>,
) -> Answer<AgentView> {
    let name = slug(name)?;
    ask(app, asking, move |owner: &Owner| agents::change(owner, &name, &rules)).await
}

/// How the librarian of an agent is: whether it reads what the agent tells of its work, and how far it is.
#[utoipa::path(get, path = "/api/agents/{slug}/librarian", params(("slug" = String, Path, description = "its folder's name")),
    responses((status = 200, body = LibrarianView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn librarian(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
) -> Answer<LibrarianView> {
    let (name, vault) = (slug(name)?, Arc::clone(&app));
    ask(app, asking, move |owner: &Owner| vault.librarian(owner, &name)).await
}

/// Switches the librarian of an agent on or off, says what it looks for, or has it read what waits now. What is absent stays as it is.
#[utoipa::path(patch, path = "/api/agents/{slug}/librarian", request_body = LibrarianParams,
    params(("slug" = String, Path, description = "its folder's name")),
    responses((status = 200, body = LibrarianView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn change_librarian(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
    JsonBody(params): JsonBody<LibrarianParams>,
) -> Answer<LibrarianView> {
    let (name, vault) = (slug(name)?, Arc::clone(&app));
    ask(app, asking, move |owner: &Owner| vault.change_librarian(owner, &name, &params)).await
}

/// Removes an agent: its token counts no more, and its page goes to `.trash/`.
#[utoipa::path(delete, path = "/api/agents/{slug}", params(("slug" = String, Path, description = "its folder's name")),
    responses((status = 200, body = AgentRemoved), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn remove(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
) -> Answer<AgentRemoved> {
    let name = slug(name)?;
    ask(app, asking, move |owner: &Owner| agents::remove(owner, &name)).await
}

/// Gives an agent a new token in place of the one it has.
#[utoipa::path(post, path = "/api/agents/{slug}/rotate", request_body = RotateParams,
    params(("slug" = String, Path, description = "its folder's name")),
    responses((status = 200, body = AgentWithToken), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn rotate(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
    JsonBody(params): JsonBody<RotateParams>,
) -> Answer<AgentWithToken> {
    let name = slug(name)?;
    ask(app, asking, move |owner: &Owner| agents::rotate(owner, &name, params)).await
}

/// Whether an agent sees a note, and why.
#[utoipa::path(get, path = "/api/agents/{slug}/explain",
    params(("slug" = String, Path, description = "its folder's name"), ExplainParams),
    responses((status = 200, body = Explained), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn explain(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
    params: Result<Query<ExplainParams>, QueryRejection>,
) -> Answer<Explained> {
    let (name, params) = (slug(name)?, query(params)?);
    ask(app, asking, move |owner: &Owner| agents::explain(owner, &name, &params.what)).await
}

/// What an agent asked, and which places it was given, also after it was removed.
#[utoipa::path(get, path = "/api/agents/{slug}/log",
    params(("slug" = String, Path, description = "its folder's name"), LogParams),
    responses((status = 200, body = LogView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn log(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
    params: Result<Query<LogParams>, QueryRejection>,
) -> Answer<LogView> {
    let (name, params) = (slug(name)?, query(params)?);
    ask(app, asking, move |owner: &Owner| agents::log(owner, &name, &params)).await
}

/// The routes that agents have, too.
pub(super) fn reader_routes() -> Router<AppState> {
    Router::new().route("/agents", get(listed))
}

/// The agents, in the shape that Osaurus has: all for the person, and for an agent itself.
#[utoipa::path(get, path = "/agents",
    responses((status = 200, body = ListedAgents), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn listed(State(app): State<AppState>, asking: Asking) -> Answer<ListedAgents> {
    ask(app, asking, |viewer: &Viewer| agents::listed(viewer, entries::count)).await
}
