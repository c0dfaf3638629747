//! How a handler comes to its answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::Query;
use axum::extract::rejection::QueryRejection;
use axum::http::StatusCode;

use super::caller::Asking;
use super::error::ApiError;
use crate::app::App;
use crate::request::{RequestError, Role};

pub(super) type AppState = Arc<App>;

pub(super) type Answer<T> = Result<Json<T>, ApiError>;

/// Answers a request with JSON, as [`answer`] does.
pub(super) async fn ask<R: Role, T: Send + 'static>(
    app: AppState,
    asking: Asking,
    with: impl FnOnce(&R) -> Result<T, RequestError> + Send + 'static,
) -> Answer<T> {
    answer(app, asking, with).await.map(Json)
}

/// Answers a request on a thread that may block: it is made there, once. What it asks of who sent it is the type that `with` takes.
pub(super) async fn answer<R: Role, T: Send + 'static>(
    app: AppState,
    asking: Asking,
    with: impl FnOnce(&R) -> Result<T, RequestError> + Send + 'static,
) -> Result<T, ApiError> {
    let Asking { principal, turn, place, sees_saves, .. } = asking;
    let answering = move || {
        let told = principal.clone();
        let request = app.request(principal, turn);
        if sees_saves {
            request.make_fresh();
        }
        let answer = R::of(request).and_then(|role| with(&role));
        drop(place);
        answer.map_err(|error| error.told_to(&told))
    };
    Ok(blocking(answering).await??)
}

/// Does what may wait for a disk on a thread that may block.
///
/// # Errors
/// When it panics.
pub(super) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!("a request panicked: {error}");
        ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; please report this")
    })
}

pub(super) fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    query.map(|Query(params)| params).map_err(|rejection| RequestError::invalid(rejection.body_text()).into())
}
