//! The routes of what was changed in two places.

use axum::Router;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::routing::{get, post};

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::notes;
use crate::request::Owner;
use crate::wire::{ConflictParams, ConflictSettled, ConflictView, ConflictsView, KeepParams};

/// The routes, to be merged with those of the person.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/conflicts", get(conflicts))
        .route("/api/conflicts/difference", get(difference))
        .route("/api/conflicts/keep", post(keep))
}

/// The notes that were changed in two places: copies that sync services left, and conflict markers of git.
#[utoipa::path(get, path = "/api/conflicts",
    responses((status = 200, body = ConflictsView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn conflicts(State(app): State<AppState>, asking: Asking) -> Answer<ConflictsView> {
    ask(app, asking, notes::conflicts).await
}

/// What differs between the two sides of a conflict.
#[utoipa::path(get, path = "/api/conflicts/difference", params(ConflictParams),
    responses((status = 200, body = ConflictView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn difference(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<ConflictParams>, QueryRejection>,
) -> Answer<ConflictView> {
    let params = query(params)?;
    ask(app, asking, move |owner: &Owner| notes::conflict(owner, &params)).await
}

/// Settles a conflict: one side is kept, or both. Answers when it can be found so.
#[utoipa::path(post, path = "/api/conflicts/keep", request_body = KeepParams,
    responses((status = 200, body = ConflictSettled), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn keep(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<KeepParams>,
) -> Answer<ConflictSettled> {
    ask(app, asking, move |owner: &Owner| notes::keep(owner, &params)).await
}
