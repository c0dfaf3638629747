//! The route of what other programs have kept.

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::routing::post;

use super::ask::{Answer, AppState, ask};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::request::Owner;
use crate::wire::{ImportParams, ImportTaken};

/// The routes of the person.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/import", post(import))
}

/// Takes a piece of an import: events and notes of another program. Once it answers they are safe on disk; a moment later they are in their
/// files. Each comes once, however often it is sent.
#[utoipa::path(post, path = "/api/import", request_body = ImportParams,
    responses((status = 200, body = ImportTaken), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn import(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<ImportParams>,
) -> Answer<ImportTaken> {
    let vault = Arc::clone(&app);
    ask(app, asking, move |owner: &Owner| vault.import(owner, params)).await
}
