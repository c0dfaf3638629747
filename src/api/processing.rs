//! The routes to what the chat model of the memory does.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::{get, post};

use super::ask::{Answer, AppState, ask};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::request::Owner;
use crate::wire::{ClearParams, Cleared, ProcessingView, Retried, RetryParams};

/// The routes, for the person.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/processing", get(processing))
        .route("/api/processing/retry", post(retry_processing))
        .route("/api/processing/sync", post(sync_memory))
        .route("/api/processing/clear", post(clear_memory))
}

/// What the chat model of the memory does, and what it has cost: calls, their outcomes and durations, tokens, what was put aside.
#[utoipa::path(get, path = "/api/processing",
    responses((status = 200, body = ProcessingView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn processing(State(app): State<AppState>, asking: Asking) -> Answer<ProcessingView> {
    let vault = Arc::clone(&app);
    ask(app, asking, move |owner: &Owner| vault.processing(owner)).await
}

/// Has what was put aside tried again, by a model that is opened anew: one session, or all.
#[utoipa::path(post, path = "/api/processing/retry", request_body = RetryParams,
    responses((status = 200, body = Retried), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn retry_processing(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<RetryParams>,
) -> Answer<Retried> {
    let vault = Arc::clone(&app);
    ask(app, asking, move |owner: &Owner| vault.retry_processing(owner, &params)).await
}

/// Has the conversations that wait read now, however short they have been quiet. It is begun when this answers.
#[utoipa::path(post, path = "/api/processing/sync",
    responses((status = 200, body = ProcessingView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn sync_memory(State(app): State<AppState>, asking: Asking) -> Answer<ProcessingView> {
    let vault = Arc::clone(&app);
    ask(app, asking, move |owner: &Owner| vault.sync_memory(owner)).await
}

/// Clears the derived layers: entries, proposals, the profile, summaries that nobody has edited. Notes and conversations stay.
#[utoipa::path(post, path = "/api/processing/clear", request_body = ClearParams,
    responses((status = 200, body = Cleared), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn clear_memory(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<ClearParams>,
) -> Answer<Cleared> {
    let vault = Arc::clone(&app);
    ask(app, asking, move |owner: &Owner| vault.clear_memory(owner, &params)).await
}
