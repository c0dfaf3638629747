//! The routes of an agent's own memory.

use axum::Router;
use axum::extract::State;
use axum::routing::post;

use super::body::Fields;
use super::caller::Asking;
use super::error::ErrorBody;
use super::routes::{Answer, App, call_as};
use crate::service::{
    MemoryChange, MemoryDeleteParams, MemoryForgetParams, MemoryForgotten, MemoryGetParams, MemoryRestoreParams,
    MemorySaveParams, MemorySearchParams, MemoryText, SearchResponse,
};

/// The routes, to be merged with the others.
pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/memory/search", post(search))
        .route("/api/memory/get", post(get))
        .route("/api/memory/save", post(save))
        .route("/api/memory/delete", post(delete))
        .route("/api/memory/forget", post(forget))
        .route("/api/memory/restore", post(restore))
}

/// Finds passages of the agent's own memory by their words, their meaning, or both.
#[utoipa::path(post, path = "/api/memory/search", request_body = MemorySearchParams,
    responses((status = 200, body = SearchResponse), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn search(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(params): Fields<MemorySearchParams>,
) -> Answer<SearchResponse> {
    call_as(service, principal, move |service, principal| service.memory_search(principal, &params)).await
}

/// A passage, lines or a whole file of the agent's own memory.
#[utoipa::path(post, path = "/api/memory/get", request_body = MemoryGetParams,
    responses((status = 200, body = MemoryText), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn get(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(params): Fields<MemoryGetParams>,
) -> Answer<MemoryText> {
    call_as(service, principal, move |service, principal| service.memory_get(principal, &params)).await
}

/// Adds a text to a file of the agent's own memory, or replaces what it says. Answers when it can be found.
#[utoipa::path(post, path = "/api/memory/save", request_body = MemorySaveParams,
    responses((status = 200, body = MemoryChange), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn save(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(params): Fields<MemorySaveParams>,
) -> Answer<MemoryChange> {
    call_as(service, principal, move |service, principal| service.memory_save(principal, &params)).await
}

/// Deletes a text from a file of the agent's own memory, or the file. Answers when it can no longer be found.
#[utoipa::path(post, path = "/api/memory/delete", request_body = MemoryDeleteParams,
    responses((status = 200, body = MemoryChange), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(params): Fields<MemoryDeleteParams>,
) -> Answer<MemoryChange> {
    call_as(service, principal, move |service, principal| service.memory_delete(principal, &params)).await
}

/// Forgets what is told in words, when it is clear what that is; else says what it may be.
#[utoipa::path(post, path = "/api/memory/forget", request_body = MemoryForgetParams,
    responses((status = 200, body = MemoryForgotten), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn forget(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(params): Fields<MemoryForgetParams>,
) -> Answer<MemoryForgotten> {
    call_as(service, principal, move |service, principal| service.memory_forget(principal, &params)).await
}

/// Undoes a change that the agent made to its own memory. Answers when the index agrees.
#[utoipa::path(post, path = "/api/memory/restore", request_body = MemoryRestoreParams,
    responses((status = 200, body = MemoryChange), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn restore(
    State(service): State<App>,
    Asking(principal): Asking,
    Fields(params): Fields<MemoryRestoreParams>,
) -> Answer<MemoryChange> {
    call_as(service, principal, move |service, principal| service.memory_restore(principal, &params)).await
}
