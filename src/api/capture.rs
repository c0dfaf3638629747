//! The routes of what programs send in, and of what is kept of it.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::routing::post;
use axum::{Json, Router};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::ask::{AppState, ask};
use super::caller::Asking;
use super::error::{ApiError, ErrorBody};
use crate::capture::Event;
use crate::request::EventSender;
use crate::wire::EventsAccepted;

/// The route that programs with a capture token have.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/user-memory/events", post(events))
}

/// One event, or up to 10,000.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "says what is taken; it is read event by event, so that errors name them")]
pub(super) enum Events {
    /// One.
    One(Event),
    /// Several: all are taken, or none.
    Several(Vec<Event>),
}

/// Takes events. Once it answers they are safe on disk; a moment later they are in their files.
#[utoipa::path(post, path = "/api/user-memory/events", request_body = Events,
    responses((status = 202, body = EventsAccepted), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn events(
    State(app): State<AppState>,
    asking: Asking,
    body: Result<Json<Value>, JsonRejection>,
) -> Result<(StatusCode, Json<EventsAccepted>), ApiError> {
    let Json(body) = body?;
    let vault = Arc::clone(&app);
    let accepted = ask(app, asking, move |sender: &EventSender| vault.accept(sender, body)).await?;
    Ok((StatusCode::ACCEPTED, accepted))
}
