//! The routes of what agents tell of their work.

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{DefaultBodyLimit, Path, Query, State};
use axum::routing::{get, post};

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::{ErrorBody, MAX_TRACE_BYTES};
use crate::request::{RequestError, Viewer};
use crate::traces;
use crate::wire::{TraceKept, TraceParams, TracesParams, TracesView};

/// The routes, for the person and for agents.
pub(super) fn routes() -> Router<AppState> {
    let sent = Router::new().route("/api/trace", post(keep_trace)).layer(DefaultBodyLimit::max(MAX_TRACE_BYTES));
    sent.route("/api/agents/{slug}/trace", get(list_traces))
}

/// Keeps an event of an agent's work: its own, or for the person of the agent that `agent_name` names. Once it answers the event is safe
/// on disk, without the secrets that are known by their shape. The same `id` again is not kept twice.
#[utoipa::path(post, path = "/api/trace", request_body = TraceParams,
    responses((status = 200, body = TraceKept), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn keep_trace(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<TraceParams>,
) -> Answer<TraceKept> {
    ask(app, asking, move |viewer: &Viewer| traces::keep(viewer, &params)).await
}

/// The events of an agent's work, newest first: for that agent and the person. For others there is no such agent.
#[utoipa::path(get, path = "/api/agents/{slug}/trace",
    params(("slug" = String, Path, description = "its folder's name"), TracesParams),
    responses((status = 200, body = TracesView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn list_traces(
    State(app): State<AppState>,
    asking: Asking,
    name: Result<Path<String>, PathRejection>,
    params: Result<Query<TracesParams>, QueryRejection>,
) -> Answer<TracesView> {
    let Path(name) = name.map_err(|rejection| RequestError::invalid(rejection.body_text()))?;
    let params = query(params)?;
    ask(app, asking, move |viewer: &Viewer| traces::list(viewer, &name, &params)).await
}
