//! The routes that change notes and undo it.

use axum::Router;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{Path, Query, State};
use axum::routing::{delete, get, post};

use super::ask::{Answer, AppState, ask, query};
use super::body::JsonBody;
use super::caller::Asking;
use super::error::{ApiError, ErrorBody};
use crate::notes;
use crate::request::{Owner, RequestError};
use crate::wire::{
    AnnotateParams, Annotated, CheckpointsParams, CheckpointsView, DeleteParams, ForgetParams, Forgotten,
    RestoreParams, Restored, SaveParams, Saved,
};

/// The routes, to be merged with those that read.
pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/user-memory/save", post(save))
        .route("/api/user-memory/chunk/{hash}", delete(delete_chunk))
        .route("/api/user-memory/forget", post(forget))
        .route("/api/user-memory/annotate", post(annotate))
        .route("/api/user-memory/checkpoints", get(checkpoints))
        .route("/api/user-memory/checkpoints/{id}/restore", post(restore))
}

fn name(path: Result<Path<String>, PathRejection>) -> Result<String, ApiError> {
    path.map(|Path(name)| name).map_err(|rejection| RequestError::invalid(rejection.body_text()).into())
}

/// Saves a text as a note. Answers when it can be found.
#[utoipa::path(post, path = "/api/user-memory/save", request_body = SaveParams,
    responses((status = 200, body = Saved), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn save(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<SaveParams>,
) -> Answer<Saved> {
    ask(app, asking, move |owner: &Owner| notes::save(owner, &params)).await
}

/// Deletes the passage with a hash, or the note. Answers when it can no longer be found.
#[utoipa::path(delete, path = "/api/user-memory/chunk/{hash}",
    params(("hash" = String, Path, description = "16 hexadecimal digits: of a passage, or of a note as `save` gives them"), DeleteParams),
    responses((status = 200, body = Forgotten), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn delete_chunk(
    State(app): State<AppState>,
    asking: Asking,
    hash: Result<Path<String>, PathRejection>,
    params: Result<Query<DeleteParams>, QueryRejection>,
) -> Answer<Forgotten> {
    let (hash, DeleteParams { purge }) = (name(hash)?, query(params)?);
    let params = ForgetParams { hash: Some(hash), purge, ..ForgetParams::default() };
    ask(app, asking.seeing_saves(), move |owner: &Owner| notes::forget(owner, &params)).await
}

/// Deletes a passage, lines or a note, or says what would go. Answers when it can no longer be found.
#[utoipa::path(post, path = "/api/user-memory/forget", request_body = ForgetParams,
    responses((status = 200, body = Forgotten), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn forget(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<ForgetParams>,
) -> Answer<Forgotten> {
    ask(app, asking.seeing_saves(), move |owner: &Owner| notes::forget(owner, &params)).await
}

/// Writes a remark on a passage. Answers when it can be found.
#[utoipa::path(post, path = "/api/user-memory/annotate", request_body = AnnotateParams,
    responses((status = 200, body = Annotated), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn annotate(
    State(app): State<AppState>,
    asking: Asking,
    JsonBody(params): JsonBody<AnnotateParams>,
) -> Answer<Annotated> {
    ask(app, asking.seeing_saves(), move |owner: &Owner| notes::annotate(owner, &params)).await
}

/// The changes that can be undone, newest first.
#[utoipa::path(get, path = "/api/user-memory/checkpoints", params(CheckpointsParams),
    responses((status = 200, body = CheckpointsView), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn checkpoints(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<CheckpointsParams>, QueryRejection>,
) -> Answer<CheckpointsView> {
    let params = query(params)?;
    ask(app, asking, move |owner: &Owner| notes::checkpoints(owner, &params)).await
}

/// Makes a note again what it was before a change. Answers when it can be found so.
#[utoipa::path(post, path = "/api/user-memory/checkpoints/{id}/restore", request_body = RestoreParams,
    params(("id" = String, Path, description = "a checkpoint's name")),
    responses((status = 200, body = Restored), (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn restore(
    State(app): State<AppState>,
    asking: Asking,
    id: Result<Path<String>, PathRejection>,
    JsonBody(params): JsonBody<RestoreParams>,
) -> Answer<Restored> {
    let id = name(id)?;
    ask(app, asking, move |owner: &Owner| notes::restore(owner, &id, params)).await
}
