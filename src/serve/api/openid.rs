//! How people sign in to a server of several vaults with its OpenID provider: the page goes there, comes back with a code, and trades that here.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{DefaultBodyLimit, State};
use axum::http::header::{ORIGIN, SET_COOKIE};
use axum::http::{Extensions, HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use serde::{Deserialize, Serialize};
use tokio::sync::Semaphore;

use super::ask::{ApiError, JsonBody, MAX_CODE_BODY_BYTES, blocking};
use super::auth::{VAULT_NAME, cookie};
use super::page;
use super::people::{PeopleDoor, too_many, unknown};
use super::several::no_vault;
use crate::access::openid::{OpenId, OpenIdError, Returned, SIGN_IN_WITHIN};
use crate::access::people::PeopleError;
use crate::access::request::RequestError;
use crate::access::rules::Token;

/// The kind of cookie by which a browser is known that went to the provider.
const BROWSER: &str = "vault-openid";
/// The provider is asked for so many people at a time; more wait.
const AT_A_TIME: usize = 8;

/// The provider of a server.
#[derive(Clone)]
pub(super) struct OpenIdDoor {
    openid: Arc<OpenId>,
    free: Arc<Semaphore>,
}

impl OpenIdDoor {
    /// That which `openid` asks.
    pub(super) fn new(openid: OpenId) -> Self {
        Self { openid: Arc::new(openid), free: Arc::new(Semaphore::new(AT_A_TIME)) }
    }

    /// Does what may wait for the provider; the place for it is taken also where nobody waits any more.
    async fn ask<T: Send + 'static>(&self, work: impl FnOnce(&OpenId) -> T + Send + 'static) -> Result<T, ApiError> {
        let place = Arc::clone(&self.free).acquire_owned().await.map_err(|_| ApiError::failed())?;
        let openid = Arc::clone(&self.openid);
        let work = move || {
            let _place = place;
            work(&openid)
        };
        blocking(work).await
    }
}

/// How people can sign in beside a passphrase.
#[derive(Serialize)]
struct WaysView {
    /// The host of the OpenID provider.
    openid: Option<String>,
}

/// What begins to sign somebody in.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StartParams {
    /// The code of the invitation that they accept so.
    invitation: Option<String>,
}

/// Where the browser goes.
#[derive(Serialize)]
struct StartView {
    address: String,
}

/// The routes beside those of the passphrase.
pub(super) fn routes() -> Router<PeopleDoor> {
    Router::new()
        .route("/page/sign-in", get(ways))
        .route("/page/openid/start", post(start))
        .route("/page/openid/finish", post(finish).layer(DefaultBodyLimit::max(MAX_CODE_BODY_BYTES)))
}

async fn ways(State(door): State<PeopleDoor>) -> Json<WaysView> {
    Json(WaysView { openid: door.openid.map(|door| door.openid.name()) })
}

/// Begins to sign somebody in: gives the address at the provider.
async fn start(
    State(door): State<PeopleDoor>,
    headers: HeaderMap,
    extensions: Extensions,
    JsonBody(params): JsonBody<StartParams>,
) -> Result<Response, ApiError> {
    let Some(provider) = &door.openid else { return Ok(no_vault()) };
    let origin = provider.openid.origin();
    if headers.get(ORIGIN).is_some_and(|from| *from != *origin) {
        return Err(RequestError::invalid(format!("the provider sends you back to {origin}; sign in there")).into());
    }
    if let Err(seconds) = door.attempt_from("openid from", &extensions) {
        return Ok(too_many(seconds));
    }
    match provider.ask(move |openid| openid.begin(params.invitation, Instant::now())).await? {
        Ok((address, browser)) => {
            let cookie = page::set_cookie(BROWSER, &headers, browser.reveal(), SIGN_IN_WITHIN.as_secs());
            Ok(([(SET_COOKIE, cookie)], Json(StartView { address })).into_response())
        }
        Err(error) => Ok(failed(&error)),
    }
}

/// Opens a session for who comes back from the provider, or accepts an invitation so.
async fn finish(
    State(door): State<PeopleDoor>,
    mut headers: HeaderMap,
    extensions: Extensions,
    JsonBody(back): JsonBody<Returned>,
) -> Result<Response, ApiError> {
    let Some(provider) = &door.openid else { return Ok(no_vault()) };
    if let Err(seconds) = door.attempt_from("from", &extensions) {
        return Ok(too_many(seconds));
    }
    let browser = Token::from_text(cookie(&headers, BROWSER).unwrap_or_default());
    let signed_in = match provider.ask(move |openid| openid.finish(back, &browser, Instant::now())).await? {
        Ok(signed_in) => signed_in,
        Err(error) => return Ok(failed(&error)),
    };
    let (people, account) = (Arc::clone(&door.people), signed_in.account.clone());
    let look = move || match signed_in.invitation {
        Some(code) => people.join_with_openid(&code, &signed_in.account),
        None => Ok(people.with_openid(&signed_in.account)),
    };
    match blocking(look).await? {
        Ok(Some(person)) => {
            headers.remove(VAULT_NAME);
            page::start(door.sessions, &person.name, headers).await
        }
        Ok(None) => {
            tracing::warn!(
                "nobody has the account that signed in; `openid: {account:?}` on a page in people/ lets its person in"
            );
            Ok(nobody())
        }
        Err(PeopleError::Refused(why)) => Err(ApiError::new(StatusCode::CONFLICT, "conflict", why)),
        Err(error) => Err(RequestError::internal(error.to_string()).into()),
    }
}

/// The answer to whoever is not signed in: why is in the log.
fn failed(error: &OpenIdError) -> Response {
    tracing::warn!("nobody is signed in by the OpenID provider: {error}");
    match error {
        OpenIdError::Refused(_) => nobody(),
        OpenIdError::Unavailable(_) => {
            let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", "the provider does not answer");
            error.hint("try again in a moment; the server's log says more").into_response()
        }
    }
}

fn nobody() -> Response {
    unknown("nobody here is signed in so")
}
