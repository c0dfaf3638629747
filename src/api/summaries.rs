//! The routes of summaries and digests.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::{get, post};

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::request::{Owner, Viewer};
use crate::summaries;
use crate::wire::{
    DigestParams, DigestView, DigestWritten, SummariesMade, SummariesParams, SummariesView, SummaryMakeParams,
};

/// The routes: what is there for the person and for agents, making it for the person.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/summaries", get(list_summaries))
        .route("/api/summaries/make", post(make_summaries))
        .route("/api/digest", get(show_digest).post(write_digest))
}

/// Summaries of conversations, the newest first: of those that are seen, within `memory.summary_retention_days`.
#[utoipa::path(get, path = "/api/summaries", params(SummariesParams),
    responses((status = 200, body = SummariesView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn list_summaries(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<SummariesParams>, QueryRejection>,
) -> Answer<SummariesView> {
    let params = query(params)?;
    ask(app, asking.seeing_saves(), move |viewer: &Viewer| summaries::list(viewer, &params)).await
}

/// Makes summaries now, by rules: of one conversation, or of all whose turns are others than they were.
#[utoipa::path(post, path = "/api/summaries/make", request_body = SummaryMakeParams,
    responses((status = 200, body = SummariesMade), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn make_summaries(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<SummaryMakeParams>,
) -> Answer<SummariesMade> {
    ask(app, asking.seeing_saves(), move |owner: &Owner| summaries::make(owner, &params)).await
}

/// What was written, captured and decided on a day or in a week, made for the request of what is seen; every line with a citation.
#[utoipa::path(get, path = "/api/digest", params(DigestParams),
    responses((status = 200, body = DigestView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn show_digest(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<DigestParams>, QueryRejection>,
) -> Answer<DigestView> {
    let params = query(params)?;
    ask(app, asking.seeing_saves(), move |viewer: &Viewer| summaries::digest(viewer, &params)).await
}

/// Writes the file of a day or a week. One that the person has edited stays.
#[utoipa::path(post, path = "/api/digest", request_body = DigestParams,
    responses((status = 200, body = DigestWritten), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn write_digest(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<DigestParams>,
) -> Answer<DigestWritten> {
    ask(app, asking.seeing_saves(), move |owner: &Owner| summaries::write_digest(owner, &params)).await
}
