//! The routes of facts.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::{get, post};

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::facts;
use crate::request::Viewer;
use crate::wire::{FactNameParams, FactRetractParams, FactSetParams, FactWrittenView, FactsParams, FactsView};

/// The routes, for the person and for agents.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/facts", get(list_facts).put(set_fact))
        .route("/api/facts/unset", post(unset_fact))
        .route("/api/facts/retract", post(retract_fact))
}

/// Facts by scope, namespace and key: one, those of a namespace, what was true then, what was known then, what has changed.
#[utoipa::path(get, path = "/api/facts", params(FactsParams),
    responses((status = 200, body = FactsView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn list_facts(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<FactsParams>, QueryRejection>,
) -> Answer<FactsView> {
    let params = query(params)?;
    ask(app, asking, move |viewer: &Viewer| facts::facts(viewer, &params)).await
}

/// Sets a fact: in its line of the scope's `facts.md`, or as a new one.
#[utoipa::path(put, path = "/api/facts", request_body = FactSetParams,
    responses((status = 200, body = FactWrittenView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn set_fact(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<FactSetParams>,
) -> Answer<FactWrittenView> {
    ask(app, asking, move |viewer: &Viewer| facts::set(viewer, &params)).await
}

/// Takes a fact out of its file, as it is true no more. What was true before stays in its history.
#[utoipa::path(post, path = "/api/facts/unset", request_body = FactNameParams,
    responses((status = 200, body = FactWrittenView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn unset_fact(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<FactNameParams>,
) -> Answer<FactWrittenView> {
    ask(app, asking, move |viewer: &Viewer| facts::unset(viewer, &params)).await
}

/// Strikes a fact out, as it was never true; with `from` and `until` what is known of that span, in the history alone.
#[utoipa::path(post, path = "/api/facts/retract", request_body = FactRetractParams,
    responses((status = 200, body = FactWrittenView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn retract_fact(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<FactRetractParams>,
) -> Answer<FactWrittenView> {
    ask(app, asking, move |viewer: &Viewer| facts::retract(viewer, &params)).await
}
