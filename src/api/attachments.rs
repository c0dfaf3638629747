//! The route of the files beside the notes.

use axum::Router;
use axum::extract::State;
use axum::routing::get;

use super::ask::{Answer, AppState, ask};
use super::caller::Asking;
use super::error::ErrorBody;
use crate::notes;
use crate::wire::AttachmentsView;

/// The route, to be merged with those of the person.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/attachments", get(attachments))
}

/// The files beside the notes: PDF, Word documents, web pages and pictures, with why one is not searched.
#[utoipa::path(get, path = "/api/attachments",
    responses((status = 200, body = AttachmentsView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn attachments(State(app): State<AppState>, asking: Asking) -> Answer<AttachmentsView> {
    ask(app, asking, notes::attachments).await
}
