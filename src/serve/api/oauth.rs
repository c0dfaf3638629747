//! OAuth for remote assistants: the addresses that anybody may ask, and those by which the person consents. All of them are there only where
//! `[server] public_url` says how the outside reaches the vault.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use axum::body::to_bytes;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_LENGTH, RETRY_AFTER};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use jiff::Timestamp;
use serde_json::Value;

use super::ask::{ApiError, AppState, JsonBody, answer, blocking};
use super::auth::{Asking, only};
use super::page;
use super::people::HOME;
use super::several::{is_vault_name, no_vault};
use crate::access::policy::{AgentRegistry, RateLimiter};
use crate::access::remote::{OAuthError, REGISTER, Remote, RemoteAddress, decide, look};
use crate::access::request::Owner;
use crate::base::config::ServerConfig;
use crate::serve::app::App;
use crate::serve::wire::{ConsentDecision, ConsentGoes, ConsentQuery, ConsentRequest};
use crate::vault::disk::Home;

/// Where tokens of remote assistants count.
pub(crate) const MCP: &str = "/mcp";
/// Where the browser is sent to, and is shown the page.
pub(super) const AUTHORIZE: &str = "/oauth/authorize";
const TOKEN: &str = "/oauth/token";
const REVOKE: &str = "/oauth/revoke";
/// What the addresses of the metadata begin with; an issuer's path follows.
const SERVER_METADATA: &str = "/.well-known/oauth-authorization-server";
const RESOURCE_METADATA: &str = "/.well-known/oauth-protected-resource";

/// Maximum length of a body, in bytes: what a client registers with has up to ten addresses, and its id holds that.
const MAX_OAUTH_BODY_BYTES: usize = 16 << 10;
/// Maximum number of requests to one of the addresses in a minute, from wherever they come.
const PER_MINUTE: u32 = 120;

/// What of one vault is open to remote assistants.
#[derive(Clone)]
pub(crate) struct OAuth {
    pub(crate) remote: Arc<Remote>,
    rates: Arc<RateLimiter>,
}

impl OAuth {
    /// That of an opened vault at a path of its server; `None` where the outside does not reach it.
    pub(crate) fn of(app: &App, path: &str) -> Option<Self> {
        let at = RemoteAddress::of(&app.config.server, path)?;
        let remote = Remote::new(at, &app.state, &app.agents);
        Some(Self { remote: Arc::new(remote), rates: Arc::default() })
    }
}

/// Whether an address of OAuth is open to who has no token.
pub(super) fn is_open(path: &str) -> bool {
    [AUTHORIZE, TOKEN, REVOKE, REGISTER].contains(&path) || path.starts_with("/.well-known/oauth-")
}

/// The routes of an opened vault.
pub(super) fn routes(oauth: &OAuth, app: &AppState) -> Router {
    let consent = Router::new()
        .route("/api/remote/request", post(request))
        .route("/api/remote/consent", post(consent))
        .route_layer(middleware::from_fn(only::<Owner>))
        .with_state((Arc::clone(app), oauth.clone()));
    Router::new()
        .route(AUTHORIZE, get(|headers: HeaderMap| async move { page::open_file("/", &headers) }))
        .route(SERVER_METADATA, get(metadata))
        .route(RESOURCE_METADATA, get(metadata))
        .route("/.well-known/oauth-protected-resource/mcp", get(metadata))
        .route(TOKEN, post(asked))
        .route(REVOKE, post(asked))
        .route(REGISTER, post(asked))
        .with_state(oauth.clone())
        .merge(consent)
}

async fn metadata(State(oauth): State<OAuth>, request: Request) -> Response {
    let at = &oauth.remote.at;
    match request.uri().path() {
        SERVER_METADATA => Json(at.server_metadata()).into_response(),
        _ => Json(at.resource_metadata()).into_response(),
    }
}

async fn asked(State(oauth): State<OAuth>, request: Request) -> Response {
    let remote = Arc::clone(&oauth.remote);
    answer_to(&oauth.rates, request, move || remote).await
}

/// Answers at one of the addresses that take a body, for a vault that `remote` finds on a thread that may block.
async fn answer_to(
    rates: &RateLimiter,
    request: Request,
    remote: impl FnOnce() -> Arc<Remote> + Send + 'static,
) -> Response {
    let path = request.uri().path().to_owned();
    if let Err(wait) = rates.take(&path, PER_MINUTE, Instant::now()) {
        let error = refused("temporarily_unavailable", "too many requests in a minute");
        let headers = [(RETRY_AFTER, (wait.as_secs() + 1).to_string())];
        return (StatusCode::TOO_MANY_REQUESTS, headers, error).into_response();
    }
    let Ok(body) = to_bytes(request.into_body(), MAX_OAUTH_BODY_BYTES).await else {
        return (StatusCode::PAYLOAD_TOO_LARGE, refused("invalid_request", "the body is too long, or took too long"))
            .into_response();
    };
    let work = move || {
        let (remote, now) = (remote(), Timestamp::now());
        let form = str::from_utf8(&body);
        let is_text = |_| OAuthError { error: "invalid_request", about: "the body is no text".into() };
        match path.as_str() {
            REGISTER => remote.register(&body, now).map(|made| (StatusCode::CREATED, Json(made))),
            TOKEN => {
                form.map_err(is_text).and_then(|form| remote.token(form, now)).map(|made| (StatusCode::OK, Json(made)))
            }
            _ => {
                form.map_err(is_text).and_then(|form| remote.revoke(form)).map(|()| (StatusCode::OK, Json(Value::Null)))
            }
        }
    };
    match blocking(work).await {
        Ok(Ok(answer)) => answer.into_response(),
        Ok(Err(error)) => {
            let status = match error.error {
                "temporarily_unavailable" => StatusCode::SERVICE_UNAVAILABLE,
                "access_denied" => StatusCode::FORBIDDEN,
                _ => StatusCode::BAD_REQUEST,
            };
            (status, Json(error.json())).into_response()
        }
        Err(error) => error.into_response(),
    }
}

fn refused(error: &'static str, about: &str) -> Json<Value> {
    Json(OAuthError { error, about: about.to_owned() }.json())
}

type ConsentState = State<(AppState, OAuth)>;

/// What an assistant asks for, for the person to see.
async fn request(
    State((app, oauth)): ConsentState,
    asking: Asking,
    JsonBody(params): JsonBody<ConsentQuery>,
) -> Result<Json<ConsentRequest>, ApiError> {
    answer(app, asking, move |owner: &Owner| look(owner, &oauth.remote, &params.query)).await.map(Json)
}

/// What the person decides.
async fn consent(
    State((app, oauth)): ConsentState,
    asking: Asking,
    JsonBody(params): JsonBody<ConsentDecision>,
) -> Result<Json<ConsentGoes>, ApiError> {
    answer(app, asking, move |owner: &Owner| decide(owner, &oauth.remote, &params)).await.map(Json)
}

/// OAuth of the vaults of a server, which answers in their place: the same for one that is open, closed, or none.
pub(crate) struct OAuthOfServer {
    config: ServerConfig,
    rates: RateLimiter,
}

impl OAuthOfServer {
    /// That of a server; `None` where the outside does not reach it.
    pub(crate) fn of(config: &ServerConfig) -> Option<Self> {
        config.public()?;
        Some(Self { config: config.clone(), rates: RateLimiter::default() })
    }

    fn at(&self, vault: &str) -> Option<RemoteAddress> {
        RemoteAddress::of(&self.config, vault).filter(|_| vault.strip_prefix(HOME).is_some_and(is_vault_name))
    }

    /// What `/mcp` of the vault at a path answers to who has no token that counts.
    pub(crate) fn challenge(&self, vault: &str, has_token: bool) -> Option<String> {
        Some(self.at(vault)?.challenge(has_token))
    }

    /// The metadata at an address, of the vault whose path stands in it.
    pub(crate) fn metadata(&self, path: &str) -> Option<Response> {
        let of_server = path.strip_prefix(SERVER_METADATA);
        let of_resource = || path.strip_prefix(RESOURCE_METADATA).and_then(|rest| rest.strip_suffix(MCP));
        let vault = of_server.or_else(of_resource)?;
        let at = self.at(vault)?;
        let said = if of_server.is_some() { at.server_metadata() } else { at.resource_metadata() };
        Some(Json(said).into_response())
    }

    /// Answers a request for a path within a vault, which may be closed, or none; gives it back where it is not for here.
    pub(crate) async fn answer(
        &self,
        vault: &str,
        root: Option<PathBuf>,
        request: Request,
    ) -> Result<Response, Request> {
        if !is_open(request.uri().path()) {
            return Err(request);
        }
        let takes = [TOKEN, REVOKE, REGISTER].contains(&request.uri().path()) && request.method() == Method::POST;
        let Some(at) = self.at(vault).filter(|_| takes) else { return Ok(no_vault()) };
        Ok(answer_to(&self.rates, request, move || Arc::new(remote_of(at, root))).await)
    }

    /// Where a remote assistant of a vault is known by its token, which counts at `/mcp` alone. It asks the disk.
    pub(crate) fn remote(&self, vault: &str, root: PathBuf, path: &str) -> Option<Remote> {
        Some(remote_of(self.at(vault).filter(|_| path == MCP)?, Some(root)))
    }
}

/// What remote assistants get of the vault in a folder.
fn remote_of(at: RemoteAddress, root: Option<PathBuf>) -> Remote {
    let Some(home) = root.and_then(|root| Home::open(&root).ok()) else { return Remote::of_no_vault(at) };
    let state = home.state();
    let agents = Arc::new(AgentRegistry::new(home.root().to_owned(), &state));
    Remote::new(at, &state, &agents)
}

/// Whether the body of a request to an open address is said to be longer than it may.
pub(super) fn is_too_long(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    length.is_some_and(|length| length > MAX_OAUTH_BODY_BYTES)
}
