//! How people sign in to a server of several vaults: by a passphrase, an invitation, or what stands before the server; and what they see of
//! themselves.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{Extensions, HeaderMap, HeaderName, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{delete, get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ask::{ApiError, JsonBody, MAX_OPEN_BODY_BYTES, blocking};
use super::auth::{VAULT_NAME, no_token, token};
use super::openid::{self, OpenIdDoor};
use super::page::{self, Sessions};
use crate::access::openid::OpenId;
use crate::access::page_sessions::{end_of, list_of};
use crate::access::people::{PASSPHRASE_BYTES, People, Person};
use crate::access::policy::RateLimiter;
use crate::access::request::RequestError;
use crate::access::rules::Token;
use crate::base::state::PageSessionTable;
use crate::serve::wire::{EndSessionsParams, PageSessionView};

/// Where people sign in and see their vaults.
pub(crate) const HOME: &str = "/v/";
/// In this header a browser says whose page makes a request.
const FETCH_SITE: &str = "sec-fetch-site";
/// Attempts to sign in a minute: with one name, and from one address.
const ATTEMPTS_OF_NAME: u32 = 10;
const ATTEMPTS_FROM: u32 = 30;
/// Attempts are counted in so many groups of names and of addresses, so that nobody fills the memory with names.
const GROUPS: u64 = 4096;
/// Passphrases that are looked at a time: each takes 19 MiB.
const AT_A_TIME: usize = 4;

/// The people of a server, and how they sign in.
#[derive(Clone)]
pub(crate) struct PeopleDoor {
    pub(crate) people: Arc<People>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) openid: Option<OpenIdDoor>,
    /// The header in which a proxy says who is signed in, and the addresses from which it counts.
    proxy: Option<(HeaderName, Vec<IpAddr>)>,
    attempts: Arc<RateLimiter>,
    free: Arc<Semaphore>,
}

/// What signs a person in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct SignInParams {
    name: String,
    passphrase: String,
}

/// What accepts an invitation.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct JoinParams {
    code: String,
    passphrase: String,
}

/// A person, as they see themselves.
#[derive(Serialize)]
struct MeView {
    name: String,
    title: String,
    vaults: Vec<VaultOfPerson>,
    sessions: Vec<PageSessionView>,
}

/// A vault, and the right that a person has there.
#[derive(Serialize)]
struct VaultOfPerson {
    name: String,
    right: &'static str,
}

impl PeopleDoor {
    /// Of these people, who may sign in with an OpenID provider as well.
    pub(crate) fn new(people: People, proxy: Option<(HeaderName, Vec<IpAddr>)>, openid: Option<OpenId>) -> Self {
        Self {
            openid: openid.map(OpenIdDoor::new),
            sessions: Arc::new(Sessions::new(people.state())),
            people: Arc::new(people),
            proxy,
            attempts: Arc::default(),
            free: Arc::new(Semaphore::new(AT_A_TIME)),
        }
    }

    /// Those who come in here.
    pub(crate) fn people(&self) -> &Arc<People> {
        &self.people
    }

    /// The routes beside those of the vaults.
    pub(super) fn routes(self) -> Router {
        Router::new()
            .route("/", get(|| async { Redirect::temporary(HOME) }))
            .route(HOME, get(|uri: Uri, headers: HeaderMap| async move { page::open_file(uri.path(), &headers) }))
            .route("/page/sign-in", post(sign_in))
            .route("/page/join", post(join))
            .merge(openid::routes())
            .route("/page/me", get(me))
            .route("/page/me/end", post(end))
            .route("/page/token", delete(leave))
            .layer(DefaultBodyLimit::max(MAX_OPEN_BODY_BYTES))
            .with_state(self)
    }

    /// Whoever is signed in with what a request carries, or by the proxy that it came through.
    ///
    /// # Errors
    /// When looking fails unexpectedly.
    pub(crate) async fn person(
        &self,
        headers: &HeaderMap,
        extensions: &Extensions,
    ) -> Result<Option<Arc<Person>>, ApiError> {
        let (by_proxy, token) = (self.by_proxy(headers, extensions), self.token(headers));
        if by_proxy.is_none() && token.is_none() {
            return Ok(None);
        }
        let people = Arc::clone(&self.people);
        let look = move || match by_proxy {
            // It knows better than a session that somebody else left in the browser.
            Some(name) => people.known_to_proxy(&name),
            None => people.holder(&token?),
        };
        blocking(look).await
    }

    /// What of a request may be a person's, whatever vault it is for.
    fn token(&self, headers: &HeaderMap) -> Option<Token> {
        let mut headers = headers.clone();
        headers.remove(VAULT_NAME);
        token(&headers)
    }

    /// Whom a proxy names: of a request that has no token, and that no other page makes, as nothing else keeps it from that.
    fn by_proxy(&self, headers: &HeaderMap, extensions: &Extensions) -> Option<String> {
        let (header, from) = self.proxy.as_ref()?;
        let peer = extensions.get::<Arc<SocketAddr>>()?.ip().to_canonical();
        let is_own = headers.get(FETCH_SITE).is_none_or(|site| site == "same-origin" || site == "none");
        if headers.contains_key(AUTHORIZATION) || !is_own {
            return None;
        }
        let mut said = headers.get_all(header).iter();
        match (said.next(), said.next()) {
            (Some(name), None) if from.contains(&peer) => Some(name.to_str().ok()?.to_owned()),
            _ => None,
        }
    }

    /// A place to look at a passphrase.
    async fn place(&self) -> Result<OwnedSemaphorePermit, ApiError> {
        Arc::clone(&self.free).acquire_owned().await.map_err(|_| ApiError::failed())
    }

    /// Counts an attempt to sign in; how many seconds it has to wait, where there were too many.
    fn attempt(&self, name: &str, extensions: &Extensions) -> Result<(), u64> {
        self.attempt_from("from", extensions)?;
        self.take("name", name, ATTEMPTS_OF_NAME)
    }

    /// The same of a kind for which only the address that it comes from counts.
    pub(super) fn attempt_from(&self, kind: &str, extensions: &Extensions) -> Result<(), u64> {
        let peer = extensions.get::<Arc<SocketAddr>>().map(|peer| peer.ip().to_string()).unwrap_or_default();
        self.take(kind, &peer, ATTEMPTS_FROM)
    }

    fn take(&self, kind: &str, of: &str, per_minute: u32) -> Result<(), u64> {
        let hash = blake3::hash(of.as_bytes());
        let group = u64::from_le_bytes(hash.as_bytes()[..8].try_into().unwrap_or_default()) % GROUPS;
        self.attempts.take(&format!("{kind} {group}"), per_minute, Instant::now()).map_err(|wait| wait.as_secs() + 1)
    }
}

pub(super) fn too_many(seconds: u64) -> Response {
    let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", "too many attempts in a minute");
    ([(RETRY_AFTER, seconds.to_string())], error.hint(format!("wait {seconds} s"))).into_response()
}

pub(super) fn unknown(message: &str) -> Response {
    ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", message).into_response()
}

/// Opens a session for who has a name and its passphrase.
async fn sign_in(
    State(door): State<PeopleDoor>,
    mut headers: HeaderMap,
    extensions: Extensions,
    JsonBody(params): JsonBody<SignInParams>,
) -> Result<Response, ApiError> {
    if let Err(seconds) = door.attempt(&params.name, &extensions) {
        return Ok(too_many(seconds));
    }
    let place = door.place().await?;
    let people = Arc::clone(&door.people);
    let look = move || {
        // Also where nobody waits any more.
        let _place = place;
        people.with_passphrase(&params.name, &params.passphrase)
    };
    let person = blocking(look).await?;
    match person {
        Some(person) => {
            headers.remove(VAULT_NAME);
            page::start(door.sessions, &person.name, headers).await
        }
        None => Ok(unknown("the name or the passphrase is wrong")),
    }
}

/// Opens a session for who accepts an invitation, with the passphrase that they choose.
async fn join(
    State(door): State<PeopleDoor>,
    mut headers: HeaderMap,
    extensions: Extensions,
    JsonBody(params): JsonBody<JoinParams>,
) -> Result<Response, ApiError> {
    if let Err(seconds) = door.attempt(&params.code, &extensions) {
        return Ok(too_many(seconds));
    }
    if !PASSPHRASE_BYTES.contains(&params.passphrase.len()) {
        let (least, most) = (PASSPHRASE_BYTES.start(), PASSPHRASE_BYTES.end());
        return Err(RequestError::invalid(format!("a passphrase has {least} to {most} bytes")).into());
    }
    let place = door.place().await?;
    let people = Arc::clone(&door.people);
    let join = move || {
        let _place = place;
        people.join(&params.code, &params.passphrase)
    };
    let joined = blocking(join).await?;
    let person = joined.map_err(|error| RequestError::internal(error.to_string()))?;
    match person {
        Some(person) => {
            headers.remove(VAULT_NAME);
            page::start(door.sessions, &person.name, headers).await
        }
        None => Ok(unknown("this invitation was already used, or has expired")),
    }
}

/// Who is signed in, their vaults and their sessions.
async fn me(State(door): State<PeopleDoor>, headers: HeaderMap, extensions: Extensions) -> Result<Response, ApiError> {
    let Some(person) = door.person(&headers, &extensions).await? else { return Ok(no_token(&headers, None)) };
    let (table, name) = (PageSessionTable::new(door.people.state()), Arc::clone(&person.name));
    let sessions = blocking(move || list_of(&table, |session| session.person() == Some(&name))).await??;
    let vaults = person.vaults.iter().filter(|(vault, _)| person.principal(vault).is_some());
    let view = MeView {
        name: person.name.to_string(),
        title: person.title.clone(),
        vaults: vaults.map(|(name, right)| VaultOfPerson { name: name.clone(), right: right.name() }).collect(),
        sessions,
    };
    Ok(Json(view).into_response())
}

/// Ends one session of who is signed in, or all but one.
async fn end(
    State(door): State<PeopleDoor>,
    headers: HeaderMap,
    extensions: Extensions,
    JsonBody(params): JsonBody<EndSessionsParams>,
) -> Result<Response, ApiError> {
    let Some(person) = door.person(&headers, &extensions).await? else { return Ok(no_token(&headers, None)) };
    let table = PageSessionTable::new(door.people.state());
    let end = move || end_of(&table, &params, |session| session.person() == Some(&person.name));
    Ok(Json(blocking(end).await??).into_response())
}

/// Ends the session of the request.
async fn leave(State(door): State<PeopleDoor>, mut headers: HeaderMap) -> Result<impl IntoResponse, ApiError> {
    headers.remove(VAULT_NAME);
    page::leave(State(door.sessions), headers).await
}
