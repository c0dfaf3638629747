//! `{error: {code, message, hint?}}` with the right status.

use axum::Json;
use axum::extract::rejection::JsonRejection;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use utoipa::ToSchema;

use super::timed_body::is_late;
use crate::request::RequestError;

/// Maximum length of a request's body, in bytes.
pub(super) const MAX_BODY_BYTES: usize = 1 << 20;

/// Maximum length of the body with an event of an agent's work, in bytes: its payload has all that a model was given.
pub(super) const MAX_TRACE_BYTES: usize = 1 << 24;

/// Maximum length of a body at the addresses that need no token, in bytes: a code of the page has 64.
pub(super) const MAX_OPEN_BODY_BYTES: usize = 1024;

/// What every failed request answers.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorBody {
    error: ErrorDetail,
}

/// What went wrong.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ErrorDetail {
    /// A word for programs.
    code: &'static str,
    /// A sentence for people.
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
}

impl ApiError {
    pub(super) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self { status, detail: ErrorDetail { code, message: message.into(), hint: None } }
    }

    pub(super) fn too_large(at_most: usize) -> Self {
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, "invalid", format!("the body has over {at_most} bytes"))
    }

    pub(super) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.detail.hint = Some(hint.into());
        self
    }
}

impl From<RequestError> for ApiError {
    fn from(error: RequestError) -> Self {
        let status = StatusCode::from_u16(error.kind.status()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        Self { status, detail: ErrorDetail { code: error.kind.code(), message: error.message, hint: error.hint } }
    }
}

impl From<JsonRejection> for ApiError {
    /// In words of ours: which field it is, or what the body has to be.
    fn from(rejection: JsonRejection) -> Self {
        if is_late(&rejection) {
            return Self::new(StatusCode::REQUEST_TIMEOUT, "invalid", "the body did not come in time");
        }
        let said = rejection.body_text();
        let message = match &rejection {
            JsonRejection::BytesRejection(_) if rejection.status() == StatusCode::PAYLOAD_TOO_LARGE => {
                format!("the body has over {MAX_BODY_BYTES} bytes")
            }
            JsonRejection::MissingJsonContentType(_) => {
                "the body is to be JSON, with `Content-Type: application/json`".into()
            }
            _ if said.contains("expected struct") => "the body is to be a JSON object".into(),
            _ => said.rsplit_once("target type: ").map_or(said.as_str(), |(_, what)| what).to_owned(),
        };
        Self::new(rejection.status(), "invalid", message)
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        (self.status, Json(ErrorBody { error: self.detail })).into_response()
    }
}
