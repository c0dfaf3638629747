//! The routes of an agent's own memory.

use axum::Router;
use axum::extract::State;
use axum::routing::post;

use super::ask::{Answer, AppState, ask};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::ErrorBody;
use crate::memory;
use crate::request::MemoryWriter;
use crate::wire::{
    MemoryChange, MemoryDeleteParams, MemoryFlushParams, MemoryForgetParams, MemoryForgotten, MemoryGetParams,
    MemoryRestoreParams, MemorySaveParams, MemorySearchParams, MemoryText, SearchResponse,
};

/// The routes, to be merged with the others.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/memory/search", post(search))
        .route("/api/memory/get", post(get))
        .route("/api/memory/save", post(save))
        .route("/api/memory/flush", post(flush))
        .route("/api/memory/delete", post(delete))
        .route("/api/memory/forget", post(forget))
        .route("/api/memory/restore", post(restore))
}

/// Finds passages of the agent's own memory by their words, their meaning, or both.
#[utoipa::path(post, path = "/api/memory/search", request_body = MemorySearchParams,
    responses((status = 200, body = SearchResponse), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<MemorySearchParams>,
) -> Answer<SearchResponse> {
    ask(app, asking, move |writer: &MemoryWriter| memory::search(writer, &params)).await
}

/// Keeps what would be lost when a conversation is shortened: lines come to the end of the agent's memory of the day, and nothing is changed.
#[utoipa::path(post, path = "/api/memory/flush", request_body = MemoryFlushParams,
    responses((status = 200, body = MemoryChange), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn flush(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<MemoryFlushParams>,
) -> Answer<MemoryChange> {
    ask(app, asking, move |writer: &MemoryWriter| memory::flush(writer, &params)).await
}

/// A passage, lines or a whole file of the agent's own memory.
#[utoipa::path(post, path = "/api/memory/get", request_body = MemoryGetParams,
    responses((status = 200, body = MemoryText), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<MemoryGetParams>,
) -> Answer<MemoryText> {
    ask(app, asking, move |writer: &MemoryWriter| memory::get(writer, &params)).await
}

/// Adds a text to a file of the agent's own memory, or replaces what it says. Answers when it can be found.
#[utoipa::path(post, path = "/api/memory/save", request_body = MemorySaveParams,
    responses((status = 200, body = MemoryChange), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn save(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<MemorySaveParams>,
) -> Answer<MemoryChange> {
    ask(app, asking, move |writer: &MemoryWriter| memory::save(writer, &params)).await
}

/// Deletes a text from a file of the agent's own memory, or the file. Answers when it can no longer be found.
#[utoipa::path(post, path = "/api/memory/delete", request_body = MemoryDeleteParams,
    responses((status = 200, body = MemoryChange), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<MemoryDeleteParams>,
) -> Answer<MemoryChange> {
    ask(app, asking, move |writer: &MemoryWriter| memory::delete(writer, &params)).await
}

/// Forgets what is told in words, when it is clear what that is; else says what it may be.
#[utoipa::path(post, path = "/api/memory/forget", request_body = MemoryForgetParams,
    responses((status = 200, body = MemoryForgotten), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn forget(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<MemoryForgetParams>,
) -> Answer<MemoryForgotten> {
    ask(app, asking, move |writer: &MemoryWriter| memory::forget(writer, &params)).await
}

/// Undoes a change that the agent made to its own memory. Answers when the index agrees.
#[utoipa::path(post, path = "/api/memory/restore", request_body = MemoryRestoreParams,
    responses((status = 200, body = MemoryChange), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn restore(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<MemoryRestoreParams>,
) -> Answer<MemoryChange> {
    ask(app, asking, move |writer: &MemoryWriter| memory::restore(writer, &params)).await
}
