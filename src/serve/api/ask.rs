//! How a handler comes to its answer: the body it is sent, and `{error: {code, message, hint?}}` with the right status.

use std::sync::Arc;

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, Query, Request};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use super::auth::{Asking, is_open, is_trace};
use super::serve::is_late;
use crate::access::request::{Request as VaultRequest, RequestError, Role};
use crate::serve::app::App;
use crate::serve::wire::NoteNow;

pub(super) type AppState = Arc<App>;

/// Answers a request as [`on_request`] does. What it asks of who sent it is the type that `with` takes.
pub(super) async fn answer<R: Role, T: Send + 'static>(
    app: AppState,
    asking: Asking,
    with: impl FnOnce(&R) -> Result<T, RequestError> + Send + 'static,
) -> Result<T, ApiError> {
    let answering = |_: &App, request: VaultRequest| {
        let told = request.principal().clone();
        R::of(request).and_then(|role| with(&role)).map_err(|error| error.told_to(&told))
    };
    Ok(on_request(app, asking, answering).await??)
}

/// Makes a request on a thread that may block, once, and answers it there.
///
/// # Errors
/// When that panics.
pub(crate) async fn on_request<T: Send + 'static>(
    app: AppState,
    asking: Asking,
    answering: impl FnOnce(&App, VaultRequest) -> T + Send + 'static,
) -> Result<T, ApiError> {
    let Asking { principal, turn, place, sees_saves, .. } = asking;
    blocking(move || {
        let request = app.request(principal, turn);
        if sees_saves {
            request.make_fresh();
        }
        let answer = answering(&app, request);
        drop(place);
        answer
    })
    .await
}

/// Does what may wait for a disk on a thread that may block.
///
/// # Errors
/// When it panics.
pub(crate) async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Result<T, ApiError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| {
        tracing::error!("a request panicked: {error}");
        ApiError::failed()
    })
}

pub(super) fn query<T>(query: Result<Query<T>, QueryRejection>) -> Result<T, ApiError> {
    query.map(|Query(params)| params).map_err(|rejection| RequestError::invalid(rejection.body_text()).into())
}

/// A JSON object, taken for what it says; errors name the field. An array is none, though serde would take one for the fields
/// in their order.
pub(crate) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, _: &S) -> Result<Self, ApiError> {
        read_json(request, true).await.map(Self)
    }
}

/// Reads a body as JSON, of whatever type or `as_object`. Errors are in words of ours: which field it is, or what the body has to be.
pub(super) async fn read_json<T: DeserializeOwned>(request: Request, as_object: bool) -> Result<T, ApiError> {
    let invalid = |status, message: &str| Err(ApiError::new(status, "invalid", message));
    let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let is_json = kind.is_some_and(|kind| {
        let kind = kind.split(';').next().unwrap_or_default().trim();
        kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json")
    });
    if !is_json {
        let message = "the body must be JSON, with `Content-Type: application/json`";
        return invalid(StatusCode::UNSUPPORTED_MEDIA_TYPE, message);
    }
    let at_most = match request.uri().path() {
        "/page/openid/finish" => MAX_CODE_BODY_BYTES,
        path if is_open(path) => MAX_OPEN_BODY_BYTES,
        path if is_trace(path) || path == NOTE => MAX_TRACE_BYTES,
        _ => MAX_BODY_BYTES,
    };
    let bytes = match Bytes::from_request(request, &()).await {
        Ok(bytes) => bytes,
        Err(rejection) if is_late(&rejection) => {
            return invalid(StatusCode::REQUEST_TIMEOUT, "timed out while receiving the body");
        }
        Err(rejection) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
            return Err(ApiError::too_large(at_most));
        }
        Err(rejection) => return invalid(rejection.status(), &rejection.body_text()),
    };
    let fits = !as_object || bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|first| *first == b'{');
    match Json::from_bytes(&bytes) {
        Ok(Json(value)) if fits => Ok(value),
        Err(rejection) if fits || matches!(rejection, JsonRejection::JsonSyntaxError(_)) => {
            let said = rejection.body_text();
            invalid(rejection.status(), said.rsplit_once("target type: ").map_or(&*said, |(_, what)| what))
        }
        _ => invalid(StatusCode::UNPROCESSABLE_ENTITY, "the body must be a JSON object"),
    }
}

/// Maximum length of a request's body, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 1 << 20;

/// The address where whole notes are written.
const NOTE: &str = "/api/user-memory/note";

/// Maximum length of a body with a whole note, or an event of an agent's work, in bytes: its payload has all that a model was given.
pub(super) const MAX_TRACE_BYTES: usize = 1 << 24;

/// Maximum length of a body at the addresses that need no token, in bytes: a code of the page has 64.
pub(super) const MAX_OPEN_BODY_BYTES: usize = 1024;

/// Maximum length of a body with what an OpenID provider has sent a browser back with, in bytes: some codes have two thousand.
pub(super) const MAX_CODE_BODY_BYTES: usize = 8 << 10;

/// What every failed request answers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: ErrorDetail,
    /// What the note says now, if it was to be written over and has changed, or was to be made and exists.
    #[serde(skip_serializing_if = "Option::is_none")]
    now: Option<Box<NoteNow>>,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorDetail {
    /// A code for programs.
    code: &'static str,
    /// A message for people.
    message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// A failed request.
#[derive(Debug)]
pub(crate) struct ApiError {
    status: StatusCode,
    detail: ErrorDetail,
    now: Option<Box<NoteNow>>,
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, detail: ErrorDetail { code, message: message.into(), hint: None }, now: None }
    }

    /// Its status.
    #[cfg(feature = "postgres")]
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// What is said of it.
    #[cfg(feature = "postgres")]
    pub(crate) fn message(&self) -> &str {
        &self.detail.message
    }

    /// That nobody foresaw this.
    pub(super) fn failed() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; please report this")
    }

    pub(super) fn too_large(at_most: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid", format!("the body has more than {at_most} bytes"))
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.detail.hint = Some(hint.into());
        self
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        let status = StatusCode::from_u16(error.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let detail = ErrorDetail { code: error.kind.code(), message: error.message, hint: error.hint };
        Self { status, detail, now: error.now }
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(ErrorBody { error: self.detail, now: self.now })).into_response()
    }
}
