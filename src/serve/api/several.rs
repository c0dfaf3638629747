//! What a server answers in the place of one of its vaults: to who is let in by none, and what is the same for all. So nobody learns from an
//! answer which vaults there are.

use std::path::PathBuf;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, Request};
use axum::http::header::{ALLOW, AUTHORIZATION};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Router, middleware};
use hyper::service::Service;
use hyper_util::service::TowerToHyperService;

use super::ask::{ApiError, MAX_OPEN_BODY_BYTES, blocking};
use super::auth::{Guard, VAULT_NAME, is_open, no_token, only_from_here, token, too_long_for_nobody};
use super::oauth::{self, MCP, OAuthOfServer};
use super::page::{self, Sessions};
use super::people::PeopleDoor;
use super::router::{headers, health};
use super::share::{is_share, no_share};
use crate::access::people::FOLDER;
use crate::access::policy::AgentRegistry;
use crate::access::remote::Remote;
use crate::access::rules::{Authenticator, OwnerToken};
use crate::access::share::{link_of, secret};
use crate::memory::capture::CaptureTokens;
use crate::vault::disk::Home;

/// Maximum length of a vault's name, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Signing in, by a code or by ending a session.
const SIGN_IN: &str = "/page/token";

/// Whether a vault can have a name: as an address and a cookie can have it as it is, and no folder of the server's own.
pub(crate) fn is_vault_name(name: &str) -> bool {
    let takes = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || matches!(byte, b'-' | b'_');
    name != FOLDER && (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(takes)
}

/// All that a server of several vaults serves: by itself whether it runs, the files of the page and how people sign in, by
/// `others` the rest.
pub(crate) fn several(hosts: impl IntoIterator<Item = String>, people: PeopleDoor, others: Router) -> Router {
    let guard = Arc::new(Guard::new(Vec::new(), hosts));
    Router::new()
        .route("/health", get(health))
        .route(
            "/page/{*name}",
            get(|uri: Uri, headers: HeaderMap| async move { page::open_file(uri.path(), &headers) }),
        )
        .merge(people.routes())
        .merge(others)
        .layer(middleware::from_fn_with_state(guard, only_from_here))
        .layer(middleware::map_response(headers))
}

/// The answer that is the same for each vault: open, closed, or none.
pub(crate) async fn for_all_vaults(
    path: &str,
    method: &Method,
    headers: &HeaderMap,
    has_oauth: bool,
) -> Option<Response> {
    let reads = [Method::GET, Method::HEAD].contains(method);
    match path {
        SIGN_IN if [Method::POST, Method::DELETE].contains(method) => None,
        SIGN_IN => Some(other_method("POST,DELETE")),
        "/health" if reads => Some(health().await.into_response()),
        "/health" => Some(other_method("GET,HEAD")),
        oauth::AUTHORIZE if has_oauth && reads => Some(page::open_file("/", headers)),
        path if is_open(path) && reads => Some(page::open_file(path, headers)),
        path if is_open(path) => Some(no_vault()),
        _ => None,
    }
}

/// The answer to a method that an address does not accept.
fn other_method(accepted: &'static str) -> Response {
    let message = "this address does not accept this method";
    let error = ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method_not_allowed", message);
    ([(ALLOW, accepted)], error).into_response()
}

/// The answer of a vault that lets nobody in, to a request for a path within it.
pub(crate) async fn nobody(path: &str, request: Request, challenge: Option<&str>) -> Response {
    match refused(path, request.headers(), challenge) {
        Some(refused) => refused,
        None if request.method() == Method::POST => match too_long_for_nobody(request.headers()) {
            // As a router gives it, with its headers in that order.
            Some(_) => {
                let refused =
                    |request: Request| async move { too_long_for_nobody(request.headers()).unwrap_or_else(no_vault) };
                call(Router::new().fallback(refused), request).await
            }
            None => {
                let answer = Router::new().fallback(page::no_code).layer(DefaultBodyLimit::max(MAX_OPEN_BODY_BYTES));
                call(answer.layer(middleware::map_response(headers)), request).await
            }
        },
        None => no_token(request.headers(), None),
    }
}

/// The answer to who is not let in, but where one signs in.
pub(crate) fn refused(path: &str, headers: &HeaderMap, challenge: Option<&str>) -> Option<Response> {
    match path {
        SIGN_IN => None,
        path if is_share(path) => Some(no_share()),
        _ => Some(no_token(headers, challenge)),
    }
}

/// What is asked of who has no token of the vault at a path, for a path within it.
pub(crate) fn challenge(oauth: Option<&OAuthOfServer>, vault: &str, path: &str, headers: &HeaderMap) -> Option<String> {
    oauth.filter(|_| path == MCP)?.challenge(vault, headers.contains_key(AUTHORIZATION))
}

/// The answer where no address leads to a vault.
pub(crate) fn no_vault() -> Response {
    let error = ApiError::new(StatusCode::NOT_FOUND, "not_found", "no such address");
    error.hint("each vault of this server is at /v/NAME/").into_response()
}

/// The answer of a vault that cannot be opened now.
pub(crate) fn unavailable(message: &str, hint: &str) -> Response {
    ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message).hint(hint).into_response()
}

/// Whether the vault, open or not, is asked whether it knows who asks before it gets the request, whoever is signed in: to whoever it does not
/// know it would say that it is there.
pub(crate) fn asks_first(path: &str, method: &Method) -> bool {
    is_share(path) || path == SIGN_IN && method != Method::POST
}

/// Whether a vault knows the token of a request for a path within it. Its index is not looked at, so it may be closed.
pub(crate) async fn knows(root: PathBuf, path: &str, headers: &HeaderMap, remote: Option<Remote>) -> bool {
    if is_share(path) {
        let of = secret(path);
        let look = move || link_of(&Home::open(&root).ok()?, &of?).ok()?;
        return blocking(look).await.is_ok_and(|link| link.is_some());
    }
    let Some(token) = token(headers).map(|token| token.hash()) else { return false };
    let look = move || {
        let home = Home::open(&root).ok()?;
        let state = home.state();
        let known: [Arc<dyn Authenticator>; 4] = [
            Arc::new(OwnerToken::new(&home.owner_token().ok()?)),
            Arc::new(Sessions::new(&state)),
            Arc::new(CaptureTokens::new(&state)),
            Arc::new(AgentRegistry::new(home.root().to_owned(), &state)),
        ];
        known.iter().find_map(|known| known.holder(&token)).or_else(|| remote?.holder(&token))
    };
    blocking(look).await.is_ok_and(|holder| holder.is_some())
}

/// Names the vault that a request is for, in the place of whatever the request says.
pub(crate) fn name_vault(headers: &mut HeaderMap, name: &str) {
    headers.remove(VAULT_NAME);
    if let Ok(name) = HeaderValue::from_str(name) {
        headers.insert(VAULT_NAME, name);
    }
}

/// The answer of a router.
pub(crate) async fn call(router: Router, request: Request) -> Response {
    match TowerToHyperService::new(router).call(request).await {
        Ok(answer) => answer,
        Err(never) => match never {},
    }
}
