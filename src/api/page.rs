//! The page at `/`: its files, which need no token, and how it comes to one.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::auth;
use super::body::JsonBody;
use super::error::{ApiError, ErrorBody, MAX_OPEN_BODY_BYTES};
use super::sessions::Sessions;
use crate::page::asset;
use crate::request::RequestError;

/// Scripts, styles, images and answers come from this server alone, nothing is inline, and nothing frames the page.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A code that the page trades for a token: good for a minute, once.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Code)]
pub(super) struct PageCode {
    code: String,
}

/// The token of a session of the page.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct SessionToken {
    token: String,
}

/// The routes of the page on every listener.
pub(super) fn routes(sessions: &Arc<Sessions>) -> Router {
    Router::new()
        .route("/", get(|| async { file("index.html") }))
        .route("/page/{name}", get(named))
        .route("/page/token", post(token).delete(leave))
        .layer(DefaultBodyLimit::max(MAX_OPEN_BODY_BYTES))
        .with_state(Arc::clone(sessions))
}

/// The route that only the Unix socket has: whoever can open that is the person.
pub(super) fn local_routes(sessions: &Arc<Sessions>) -> Router {
    Router::new().route("/page/code", post(code)).with_state(Arc::clone(sessions))
}

fn file(name: &str) -> Response {
    let Some(asset) = asset(name) else {
        return ApiError::new(StatusCode::NOT_FOUND, "not_found", "the page has no such file").into_response();
    };
    let headers: [(HeaderName, &str); 4] = [
        (header::CONTENT_TYPE, asset.media_type),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    ];
    (headers, asset.text).into_response()
}

async fn named(name: Result<Path<String>, PathRejection>) -> Response {
    match name {
        Ok(Path(name)) => file(&name),
        Err(rejection) => ApiError::from(RequestError::invalid(rejection.body_text())).into_response(),
    }
}

async fn code(State(sessions): State<Arc<Sessions>>) -> Result<Json<PageCode>, ApiError> {
    let code = sessions.code(Instant::now()).map_err(no_random)?;
    Ok(Json(PageCode { code: code.reveal().to_owned() }))
}

/// Trades a one-time code of `vault open` for the token of a session.
#[utoipa::path(post, path = "/page/token", request_body = PageCode, security(()),
    responses((status = 200, body = SessionToken), (status = "4XX", body = ErrorBody)))]
pub(super) async fn token(
    State(sessions): State<Arc<Sessions>>,
    JsonBody(params): JsonBody<PageCode>,
) -> Result<Json<SessionToken>, ApiError> {
    let PageCode { code } = params;
    match sessions.trade(&code, Instant::now()).map_err(no_random)? {
        Some(token) => Ok(Json(SessionToken { token: token.reveal().to_owned() })),
        None => Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "this code was used, or is too old")
            .hint("`vault open` makes another")),
    }
}

/// Ends the session whose token the request carries.
#[utoipa::path(delete, path = "/page/token", security(()),
    responses((status = 200, description = "It is over, or there was none", body = Value), (status = "4XX", body = ErrorBody)))]
pub(super) async fn leave(State(sessions): State<Arc<Sessions>>, headers: HeaderMap) -> Json<Value> {
    if let Some(token) = auth::token(&headers) {
        sessions.end(&token.hash());
    }
    Json(json!({ "ok": true }))
}

fn no_random(error: io::Error) -> ApiError {
    let message = format!("the system gives no random numbers: {error}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}
