//! The route of contexts.

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};

use super::ask::{AppState, answer};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::{ApiError, ErrorBody};
use crate::request::Viewer;
use crate::wire::{ContextParams, ContextView};

/// The route, for the person and for agents.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/context", post(context))
}

/// What a model should know for a question, or in any case: a block of lines with their sources, fenced as data, and a receipt. Where
/// nothing is worth it, nothing. `If-None-Match` with the `ETag` of an earlier answer asks whether it is still the same.
#[utoipa::path(post, path = "/api/context", request_body = ContextParams,
    params(("If-None-Match" = Option<String>, Header, description = "the `ETag` of an earlier answer")),
    responses((status = 200, body = ContextView), (status = 304, description = "It is the same"),
        (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn context(
    State(app): State<AppState>,
    asking: Asking,
    headers: HeaderMap,
    JsonBody(params): JsonBody<ContextParams>,
) -> Result<Response, ApiError> {
    let vault = AppState::clone(&app);
    let view = answer(app, asking.seeing_saves(), move |viewer: &Viewer| vault.context(viewer, &params)).await?;
    let etag = format!("\"{}\"", view.receipt.id);
    let known = headers.get(header::IF_NONE_MATCH).and_then(|known| known.to_str().ok()).unwrap_or_default();
    let is_known = known.split(',').any(|known| known.trim().trim_start_matches("W/") == etag || known.trim() == "*");
    let tag = [(header::ETAG, etag)];
    Ok(if is_known { (StatusCode::NOT_MODIFIED, tag).into_response() } else { (tag, Json(view)).into_response() })
}
