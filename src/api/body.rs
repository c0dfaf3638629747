//! What a request says in its body.

use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::JsonRejection;
use axum::extract::{FromRequest, Request};
use axum::http::{StatusCode, header};
use serde::de::DeserializeOwned;

use super::error::{ApiError, MAX_OPEN_BODY_BYTES, MAX_TRACE_BYTES};
use super::open::{is_open, is_trace};

/// A JSON object, taken for what it says; errors name the field. An array is none, though serde would take one for the fields
/// in their order.
pub(crate) struct JsonBody<T>(pub(super) T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for JsonBody<T> {
    type Rejection = ApiError;

    async fn from_request(request: Request, state: &S) -> Result<Self, ApiError> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let is_json = kind.is_some_and(|kind| {
            let kind = kind.split(';').next().unwrap_or_default().trim();
            kind.eq_ignore_ascii_case("application/json") || kind.ends_with("+json")
        });
        if !is_json {
            let message = "the body is to be JSON, with `Content-Type: application/json`";
            return Err(ApiError::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid", message));
        }
        let is_open = is_open(request.uri().path());
        let is_trace = is_trace(request.uri().path());
        let bytes = Bytes::from_request(request, state).await.map_err(|rejection| match rejection.status() {
            StatusCode::PAYLOAD_TOO_LARGE if is_open => ApiError::too_large(MAX_OPEN_BODY_BYTES),
            StatusCode::PAYLOAD_TOO_LARGE if is_trace => ApiError::too_large(MAX_TRACE_BYTES),
            _ => JsonRejection::BytesRejection(rejection).into(),
        })?;
        let read = Json::from_bytes(&bytes);
        let is_object = bytes.iter().find(|byte| !byte.is_ascii_whitespace()).is_none_or(|first| *first == b'{');
        if !is_object && !matches!(read, Err(JsonRejection::JsonSyntaxError(_))) {
            return Err(ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "invalid", "the body is to be a JSON object"));
        }
        let Json(value) = read?;
        Ok(Self(value))
    }
}
