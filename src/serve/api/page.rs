//! The page at `/`: its files, which need no token, and how it comes to one: the command line asks for a code over the Unix socket, and the page trades it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use blake3::Hash;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use utoipa::ToSchema;

use super::ask::{ApiError, ErrorBody, JsonBody, MAX_OPEN_BODY_BYTES};
use super::{auth, page_files};
use crate::access::request::RequestError;
use crate::access::rules::{Authenticator, Principal, Token};

/// A code that the page exchanges for a token: valid once, for a minute.
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
        .route("/", get(|headers: HeaderMap| async move { file("index.html", &headers) }))
        .route("/page/{*name}", get(named))
        .route("/page/token", post(token).delete(leave))
        .layer(DefaultBodyLimit::max(MAX_OPEN_BODY_BYTES))
        .with_state(Arc::clone(sessions))
}

/// The route that only the Unix socket has: whoever can open that is the person.
pub(super) fn local_routes(sessions: &Arc<Sessions>) -> Router {
    Router::new().route("/page/code", post(code)).with_state(Arc::clone(sessions))
}

fn file(name: &str, headers: &HeaderMap) -> Response {
    page_files::file(name, headers).unwrap_or_else(|| {
        ApiError::new(StatusCode::NOT_FOUND, "not_found", "the page has no file with this name").into_response()
    })
}

async fn named(name: Result<Path<String>, PathRejection>, headers: HeaderMap) -> Response {
    match name {
        Ok(Path(name)) => file(&name, &headers),
        Err(rejection) => ApiError::from(RequestError::invalid(rejection.body_text())).into_response(),
    }
}

async fn code(State(sessions): State<Arc<Sessions>>) -> Result<Json<PageCode>, ApiError> {
    let code = sessions.code(Instant::now()).map_err(no_random)?;
    Ok(Json(PageCode { code: code.reveal().to_owned() }))
}

/// Exchanges a one-time code of `vault open` for the token of a session.
#[utoipa::path(post, path = "/page/token", request_body = PageCode, security(()),
    responses((status = 200, body = SessionToken), (status = "4XX", body = ErrorBody)))]
pub(super) async fn token(
    State(sessions): State<Arc<Sessions>>,
    JsonBody(params): JsonBody<PageCode>,
) -> Result<Json<SessionToken>, ApiError> {
    let PageCode { code } = params;
    match sessions.trade(&code, Instant::now()).map_err(no_random)? {
        Some(token) => Ok(Json(SessionToken { token: token.reveal().to_owned() })),
        None => {
            Err(ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "this code was already used, or has expired")
                .hint("`vault open` makes a new one"))
        }
    }
}

/// Ends the session of the token in the request.
#[utoipa::path(delete, path = "/page/token", security(()),
    responses((status = 200, description = "The session has ended, or there was none", body = Value), (status = "4XX", body = ErrorBody)))]
pub(super) async fn leave(State(sessions): State<Arc<Sessions>>, headers: HeaderMap) -> Json<Value> {
    if let Some(token) = auth::token(&headers) {
        sessions.end(&token.hash());
    }
    Json(json!({ "ok": true }))
}

fn no_random(error: io::Error) -> ApiError {
    let message = format!("cannot get random numbers from the system: {error}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}

/// A code that was not traded by then is void.
const CODE_LIFE: Duration = Duration::from_secs(60);
/// Maximum time that a session stays without being used.
const IDLE: Duration = Duration::from_secs(12 * 3600);
/// Maximum number of codes that wait; the oldest gives way.
const MAX_CODES: usize = 8;
/// Maximum number of sessions; the oldest gives way.
const MAX_SESSIONS: usize = 64;

/// The codes that wait and the sessions that are open.
#[derive(Debug, Default)]
pub(super) struct Sessions {
    codes: Mutex<Secrets>,
    open: Mutex<Secrets>,
}

/// Secrets by their hashes, with when each was made or last used.
type Secrets = HashMap<Hash, Instant>;

impl Sessions {
    /// Makes a code that can be traded once, within a minute.
    pub(super) fn code(&self, now: Instant) -> io::Result<Token> {
        add(&mut lock(&self.codes), MAX_CODES, now)
    }

    /// Trades a code for the token of a new session; `None` when there is no such code any more.
    pub(super) fn trade(&self, code: &str, now: Instant) -> io::Result<Option<Token>> {
        let made = lock(&self.codes).remove(&Token::from_text(code).hash());
        let in_time = made.is_some_and(|made| now.saturating_duration_since(made) < CODE_LIFE);
        in_time.then(|| add(&mut lock(&self.open), MAX_SESSIONS, now)).transpose()
    }

    /// Ends the session of a token.
    pub(super) fn end(&self, hash: &Hash) {
        lock(&self.open).remove(hash);
    }

    /// Whether a token is that of an open session, which counts as its use.
    fn knows(&self, hash: &Hash, now: Instant) -> bool {
        let mut open = lock(&self.open);
        open.retain(|_, used| now.saturating_duration_since(*used) < IDLE);
        open.get_mut(hash).map(|used| *used = now).is_some()
    }
}

fn lock(secrets: &Mutex<Secrets>) -> MutexGuard<'_, Secrets> {
    secrets.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Authenticator for Sessions {
    fn holder(&self, token: &Hash) -> Option<Principal> {
        self.knows(token, Instant::now()).then_some(Principal::Owner)
    }
}

fn add(secrets: &mut Secrets, at_most: usize, now: Instant) -> io::Result<Token> {
    let token = Token::random()?;
    if secrets.len() >= at_most
        && let Some(oldest) = secrets.iter().min_by_key(|(_, at)| **at).map(|(hash, _)| *hash)
    {
        secrets.remove(&oldest);
    }
    secrets.insert(token.hash(), now);
    Ok(token)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_traded_once_and_in_time() {
        let (sessions, now) = (Sessions::default(), Instant::now());
        let code = sessions.code(now).unwrap();
        assert!(sessions.trade("wrong", now).unwrap().is_none());
        assert!(!sessions.knows(&code.hash(), now), "a code opens nothing by itself");
        let token = sessions.trade(code.reveal(), now).unwrap().unwrap();
        assert!(sessions.trade(code.reveal(), now).unwrap().is_none(), "it was used");
        assert!(sessions.knows(&token.hash(), now) && !sessions.knows(&code.hash(), now));
        let late = sessions.code(now).unwrap();
        assert!(sessions.trade(late.reveal(), now + CODE_LIFE).unwrap().is_none(), "it is void");
    }

    #[test]
    fn a_session_ends_when_it_is_not_used() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let code = sessions.code(start).unwrap();
        let token = sessions.trade(code.reveal(), start).unwrap().unwrap().hash();
        let almost = IDLE - Duration::from_secs(1);
        assert!(sessions.knows(&token, start + almost) && sessions.knows(&token, start + almost * 2));
        assert!(!sessions.knows(&token, start + almost * 2 + IDLE));
        assert!(!sessions.knows(&token, start + almost * 2 + IDLE), "nor does asking again revive it");
    }

    #[test]
    fn there_are_never_more_than_so_many() {
        let (sessions, start) = (Sessions::default(), Instant::now());
        let mut tokens = Vec::new();
        for at in 0..=MAX_SESSIONS as u64 {
            let now = start + Duration::from_millis(at);
            let code = sessions.code(now).unwrap();
            tokens.push(sessions.trade(code.reveal(), now).unwrap().unwrap().hash());
        }
        let now = start + Duration::from_secs(1);
        let open = tokens.iter().filter(|token| sessions.knows(token, now)).count();
        assert_eq!((open, sessions.knows(&tokens[0], now)), (MAX_SESSIONS, false));
        let codes: Vec<Token> =
            (0..=MAX_CODES).map(|at| sessions.code(now + Duration::from_millis(at as u64)).unwrap()).collect();
        assert!(sessions.trade(codes[0].reveal(), now).unwrap().is_none());
        assert!(sessions.trade(codes[1].reveal(), now).unwrap().is_some());
    }
}
