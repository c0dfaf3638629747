//! The routes of what stays forgotten, and of the log of changes.

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::routing::{get, post};

use super::ask::{Answer, AppState, ask, query};
use super::caller::Asking;
use super::error::ErrorBody;
use crate::notes;
use crate::request::{Owner, RequestError};
use crate::wire::{ChangesParams, ChangesView, ForgottenView, LiftedView};

/// The routes, to be merged with those of the person.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/forgotten", get(forgotten))
        .route("/api/forgotten/{id}/lift", post(lift))
        .route("/api/log", get(changes))
}

/// What was forgotten for good, what was left out because of it, and what somebody wrote again. No text.
#[utoipa::path(get, path = "/api/forgotten",
    responses((status = 200, body = ForgottenView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn forgotten(State(app): State<AppState>, asking: Asking) -> Answer<ForgottenView> {
    ask(app, asking, notes::forgotten).await
}

/// Lets come back what was forgotten for good.
#[utoipa::path(post, path = "/api/forgotten/{id}/lift",
    params(("id" = i64, Path, description = "its number")),
    responses((status = 200, body = LiftedView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn lift(
    State(app): State<AppState>,
    asking: Asking,
    id: Result<Path<i64>, PathRejection>,
) -> Answer<LiftedView> {
    let Path(id) = id.map_err(|rejection| RequestError::invalid(rejection.body_text()))?;
    ask(app, asking, move |owner: &Owner| notes::lift(owner, id)).await
}

/// What the program changed of the notes, newest first: a line a change, and no text.
#[utoipa::path(get, path = "/api/log", params(ChangesParams),
    responses((status = 200, body = ChangesView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn changes(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<ChangesParams>, QueryRejection>,
) -> Answer<ChangesView> {
    let params = query(params)?;
    ask(app, asking, move |owner: &Owner| notes::changes(owner, &params)).await
}
