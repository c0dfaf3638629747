//! The page at `/`: its files, which need no token, and how it comes to a session: the command line asks for a code over the Unix socket, and the page trades it.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use axum::extract::rejection::PathRejection;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::header::{ORIGIN, SET_COOKIE, USER_AGENT};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use blake3::Hash;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::ToSchema;

use super::ask::{ApiError, ErrorBody, JsonBody, MAX_OPEN_BODY_BYTES, blocking};
use super::auth::{Asking, SESSION};
use super::{auth, page_files};
use crate::access::request::RequestError;
use crate::access::rules::{Authenticator, Principal, Token};
use crate::base::state::{PageSession, PageSessionTable, State as StateFile, StateError};

/// A code that the page exchanges for a session: valid once, for a minute.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Code)]
pub(super) struct PageCode {
    code: String,
}

/// The key of a session of the page. It opens what the cookie that comes with it opens, and neither opens anything alone.
#[derive(Debug, Serialize, ToSchema)]
#[schema(as = Key)]
pub(super) struct PageKey {
    key: String,
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

/// The route by which who has the owner's token opens a session.
pub(super) fn owner_routes(sessions: &Arc<Sessions>) -> Router {
    Router::new().route("/api/sessions", post(open)).with_state(Arc::clone(sessions))
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

/// The file of the page at a path that needs no token.
pub(super) fn open_file(path: &str, headers: &HeaderMap) -> Response {
    file(path.strip_prefix("/page/").unwrap_or("index.html"), headers)
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

/// Exchanges a one-time code of `vault open` for a session: a cookie, and a key that the page sends in `X-Vault-Key`.
#[utoipa::path(post, path = "/page/token", request_body = PageCode, security(()),
    responses((status = 200, body = PageKey), (status = "4XX", body = ErrorBody)))]
pub(super) async fn token(
    State(sessions): State<Arc<Sessions>>,
    headers: HeaderMap,
    JsonBody(params): JsonBody<PageCode>,
) -> Result<Response, ApiError> {
    let PageCode { code } = params;
    if sessions.trade(&code, Instant::now()) {
        return start(sessions, "", headers).await;
    }
    Err(unknown_code())
}

/// The same where no code is known.
pub(super) async fn no_code(JsonBody(_): JsonBody<PageCode>) -> ApiError {
    unknown_code()
}

fn unknown_code() -> ApiError {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "this code was already used, or has expired")
        .hint("`vault open` makes a new one")
}

/// Opens a session of the page, as `/page/token` does, for the owner's token.
#[utoipa::path(post, path = "/api/sessions", tag = "routes",
    responses((status = 200, body = PageKey), (status = "4XX", body = ErrorBody)))]
pub(super) async fn open(
    State(sessions): State<Arc<Sessions>>,
    Asking { principal, .. }: Asking,
    headers: HeaderMap,
) -> Result<Response, ApiError> {
    if matches!(principal, Principal::Owner(Some(_))) {
        // It would outlive what they were given.
        return Err(RequestError::forbidden("who signed in by name has a session already").into());
    }
    start(sessions, "", headers).await
}

/// Opens a session of somebody on a server of several people, or of a vault's own person, who has no name.
pub(super) async fn start(sessions: Arc<Sessions>, person: &str, headers: HeaderMap) -> Result<Response, ApiError> {
    let person = person.to_owned();
    let browser = browser(headers.get(USER_AGENT).and_then(|name| name.to_str().ok()).unwrap_or_default());
    let before = auth::token(&headers);
    let opened = blocking(move || {
        // One browser has one session.
        before.map(|before| sessions.end(&before.hash())).transpose().map_err(RequestError::from)?;
        sessions.open(&person, browser, Timestamp::now())
    });
    let (cookie, key) = opened.await??;
    Ok(([(SET_COOKIE, set_cookie(SESSION, &headers, cookie.reveal(), COOKIE_SECONDS))], Json(PageKey { key }))
        .into_response())
}

/// Ends the session of the request.
#[utoipa::path(delete, path = "/page/token", security(()),
    responses((status = 200, description = "The session has ended, or there was none", body = Value), (status = "4XX", body = ErrorBody)))]
pub(super) async fn leave(
    State(sessions): State<Arc<Sessions>>,
    headers: HeaderMap,
) -> Result<impl IntoResponse, ApiError> {
    if let Some(token) = auth::token(&headers) {
        blocking(move || sessions.end(&token.hash())).await?.map_err(RequestError::from)?;
    }
    Ok(([(SET_COOKIE, set_cookie(SESSION, &headers, "", 0))], Json(json!({ "ok": true }))))
}

/// A cookie of a kind, for this browser alone. Whether the browser came by TLS, its own `Origin` says, which pages cannot forge and the guard has checked.
pub(super) fn set_cookie(kind: &str, headers: &HeaderMap, value: &str, seconds: u64) -> String {
    let [name, locked] = auth::cookie_names(kind, headers);
    let is_by_tls = headers.get(ORIGIN).is_some_and(|origin| origin.as_bytes().starts_with(b"https://"));
    let (name, secure) = if is_by_tls { (locked, "; Secure") } else { (name, "") };
    format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={seconds}{secure}")
}

/// A browser and its system, in short, as it names itself.
fn browser(user_agent: &str) -> String {
    let named = |names: &[(&str, &'static str)]| {
        names.iter().find(|(part, _)| user_agent.contains(part)).map(|(_, name)| *name)
    };
    // Each names those that it is made like, too.
    let browser = named(&[
        ("Edg", "Edge"),
        ("OPR/", "Opera"),
        ("Firefox/", "Firefox"),
        ("Chrom", "Chrome"),
        ("Safari/", "Safari"),
    ]);
    let system = named(&[
        ("Android", "Android"),
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Windows", "Windows"),
        ("Mac OS", "macOS"),
        ("Linux", "Linux"),
    ]);
    match (browser, system) {
        (Some(browser), Some(system)) => format!("{browser} on {system}"),
        (known, system) => known.or(system).unwrap_or("a program").to_owned(),
    }
}

fn no_random(error: io::Error) -> ApiError {
    let message = format!("cannot get random numbers from the system: {error}");
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}

/// A code that was not traded by then is void.
const CODE_LIFE: Duration = Duration::from_secs(60);
/// Maximum number of codes that wait; the oldest gives way.
const MAX_CODES: usize = 8;
/// Seconds that a browser keeps the cookie: longer than any session, as browsers allow at most.
const COOKIE_SECONDS: u64 = 400 * 24 * 3600;

/// The codes that wait, with when each was made, and the sessions that are open.
#[derive(Debug)]
pub(super) struct Sessions {
    codes: Mutex<HashMap<Hash, Instant>>,
    open: PageSessionTable,
}

impl Sessions {
    /// Those of a vault's state.
    pub(super) fn new(state: &Arc<StateFile>) -> Self {
        Self { codes: Mutex::default(), open: PageSessionTable::new(state) }
    }

    /// Makes a code that can be traded once, within a minute.
    pub(super) fn code(&self, now: Instant) -> io::Result<Token> {
        let (code, mut codes) = (Token::random()?, self.codes());
        if codes.len() >= MAX_CODES
            && let Some(oldest) = codes.iter().min_by_key(|(_, at)| **at).map(|(hash, _)| *hash)
        {
            codes.remove(&oldest);
        }
        codes.insert(code.hash(), now);
        Ok(code)
    }

    /// Takes a code; says whether it was one that counts.
    fn trade(&self, code: &str, now: Instant) -> bool {
        let made = self.codes().remove(&Token::from_text(code).hash());
        made.is_some_and(|made| now.saturating_duration_since(made) < CODE_LIFE)
    }

    /// Opens a session in a browser; gives its cookie and its key.
    fn open(&self, person: &str, browser: String, now: Timestamp) -> Result<(Token, String), ApiError> {
        let random = || Token::random().map_err(no_random);
        let (cookie, id, secret) = (random()?, PageSession::id_of(person, random()?.reveal()), random()?);
        let key = format!("{id}.{}", secret.reveal());
        let hash = auth::session_token(cookie.reveal(), &key).hash();
        let session = PageSession { id, made_at: now, used_at: now, browser, hash };
        self.open.add(&session).map_err(RequestError::from)?;
        Ok((cookie, key))
    }

    /// Ends the session of a hash, if there is one.
    fn end(&self, hash: &Hash) -> Result<(), StateError> {
        self.open.holder(hash)?.map(|session| self.open.remove(&session.id)).transpose().map(drop)
    }

    fn codes(&self) -> MutexGuard<'_, HashMap<Hash, Instant>> {
        self.codes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Authenticator for Sessions {
    fn holder(&self, token: &Hash) -> Option<Principal> {
        let used = self.open.used(token, Timestamp::now());
        let session = used.unwrap_or_else(|error| {
            tracing::warn!("no session of the page counts now: {error}");
            None
        });
        session.map(|_| Principal::Owner(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_traded_once_and_in_time_and_there_are_never_many() {
        let folder = tempfile::tempdir().unwrap();
        let (sessions, now) = (Sessions::new(&StateFile::in_folder(folder.path())), Instant::now());
        let code = sessions.code(now).unwrap();
        assert!(!sessions.trade("wrong", now) && sessions.holder(&code.hash()).is_none());
        assert!(sessions.trade(code.reveal(), now) && !sessions.trade(code.reveal(), now));
        let late = sessions.code(now).unwrap();
        assert!(!sessions.trade(late.reveal(), now + CODE_LIFE), "it is void");
        let codes: Vec<Token> =
            (0..=MAX_CODES).map(|at| sessions.code(now + Duration::from_millis(at as u64)).unwrap()).collect();
        assert!(!sessions.trade(codes[0].reveal(), now) && sessions.trade(codes[1].reveal(), now));
    }

    #[test]
    fn a_session_takes_both_of_its_own_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = Sessions::new(&StateFile::in_folder(folder.path()));
        let [one, two] = [(); 2].map(|()| sessions.open("", "Firefox".into(), Timestamp::now()).unwrap());
        let opens =
            |cookie: &Token, key: &str| sessions.holder(&auth::session_token(cookie.reveal(), key).hash()).is_some();
        assert!(opens(&one.0, &one.1) && opens(&two.0, &two.1));
        assert!(!opens(&one.0, &two.1) && !opens(&one.0, "") && !opens(&Token::from_text(""), &one.1));
        assert!(
            sessions.holder(&one.0.hash()).is_none() && sessions.holder(&Token::from_text(&one.1).hash()).is_none()
        );
        sessions.end(&auth::session_token(one.0.reveal(), &one.1).hash()).unwrap();
        assert!(!opens(&one.0, &one.1) && opens(&two.0, &two.1));
    }

    #[test]
    fn a_browser_is_named_in_short() {
        for (named, short) in [
            ("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "Firefox on Linux"),
            (
                "Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 Chrome/140.0 Safari/537.36 Edg/140.0",
                "Edge on Windows",
            ),
            ("Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) Version/18.0 Safari/604.1", "Safari on iPhone"),
            ("curl/8.0", "a program"),
        ] {
            assert_eq!(browser(named), short);
        }
    }
}
