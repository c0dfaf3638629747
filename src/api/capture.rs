//! The routes of what programs send in, and of what is kept of it.

use std::sync::Arc;

use axum::extract::State;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::Serialize;
use serde_json::Value;
use utoipa::ToSchema;

use super::ask::{Answer, AppState, ask};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::{ApiError, ErrorBody};
use crate::capture::{self, Event};
use crate::request::{EventSender, Owner};
use crate::wire::{CaptureSettings, CaptureSettingsParams, EventsAccepted, TurnsIngested, TurnsParams};

/// The routes of the person.
pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/user-memory/settings", get(settings).put(set_settings))
}

/// The route that programs with a capture token have.
pub(super) fn event_routes() -> Router<AppState> {
    Router::new().route("/api/user-memory/events", post(events)).route("/memory/ingest", post(ingest))
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

/// Takes turns of a conversation, in the shape that Osaurus has. The same turn again counts once.
#[utoipa::path(post, path = "/memory/ingest", request_body = TurnsParams,
    responses((status = 200, body = TurnsIngested), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn ingest(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<TurnsParams>,
) -> Answer<TurnsIngested> {
    let vault = Arc::clone(&app);
    ask(app, asking, move |sender: &EventSender| vault.ingest(sender, &params)).await
}

/// What is captured.
#[utoipa::path(get, path = "/api/user-memory/settings",
    responses((status = 200, body = CaptureSettings), (status = "4XX", body = ErrorBody)))]
pub(super) async fn settings(State(app): State<AppState>, asking: Asking) -> Answer<CaptureSettings> {
    ask(app, asking, |owner: &Owner| Ok(capture::settings(owner))).await
}

/// Changes what is captured, in `memory.toml` and from now on. What is absent stays as it is.
#[utoipa::path(put, path = "/api/user-memory/settings", request_body = CaptureSettingsParams,
    responses((status = 200, body = CaptureSettings), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn set_settings(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<CaptureSettingsParams>,
) -> Answer<CaptureSettings> {
    ask(app, asking, move |owner: &Owner| capture::set_settings(owner, &params)).await
}
