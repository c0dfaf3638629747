//! The route of a picture or PDF of the vault, for the page to show.

use axum::extract::{Query, State, rejection::QueryRejection};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};

use super::ask::{ApiError, AppState, ErrorBody, answer, query};
use super::auth::Asking;
use crate::access::request::Owner;
use crate::serve::wire::TextParams;
use crate::vault::notes::{SVG, media_file};

/// Nothing in the file is run, and nothing loaded, wherever it is opened.
const POLICY: &str = "sandbox; default-src 'none'";

/// Returns a picture or PDF of the vault: png, jpg, gif, webp, avif, bmp, svg, pdf.
#[utoipa::path(get, path = "/api/user-memory/file", tag = "attachments", operation_id = "attachments_file", params(TextParams),
    responses((status = 200, description = "Its bytes, with its media type", content_type = "application/octet-stream", body = Vec<u8>),
        (status = "4XX", body = ErrorBody), (status = 503, body = ErrorBody)))]
pub(super) async fn file(
    State(app): State<AppState>,
    asking: Asking,
    params: Result<Query<TextParams>, QueryRejection>,
) -> Result<Response, ApiError> {
    let params = query(params)?;
    let file = answer(app, asking, move |owner: &Owner| media_file(owner, &params)).await?;
    // As a document an SVG could run scripts; as a picture it cannot.
    let disposition = if file.media_type == SVG { "attachment" } else { "inline" };
    let headers = [
        (header::CONTENT_TYPE, file.media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::CONTENT_DISPOSITION, disposition),
    ];
    let mut response = file.bytes.into_response();
    for (name, value) in headers {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    Ok(response)
}
