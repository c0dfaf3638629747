//! Who asks, and how often an agent may.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::RETRY_AFTER;
use axum::http::request::Parts;
use axum::http::{HeaderMap, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use tokio::task::JoinHandle;

use super::ask::{ApiError, blocking};
use super::auth::{is_passed_on, is_trace};
use crate::access::policy::RequestPermit;
use crate::access::request::Role;
use crate::access::rules::{Principal, Session, Turn};
use crate::serve::app::App;

/// Over the Unix socket the person's own process says with this that it asks as an agent.
pub(crate) const AS_AGENT: &str = "x-vault-agent";
/// A request may say in which session it is made.
const CHAT_TYPE: &str = "x-chat-type";
const CHANNEL: &str = "x-channel";
/// Maximum time that who sends events may take for a request.
const CAPTURE_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum time that what is being written may still take when an agent's time is over.
const WRITE_TIMEOUT: Duration = Duration::from_secs(60);

/// Who asks, as the guard or the Unix socket found out, and until when it is waited for. Where nobody did, nobody is answered.
pub(super) struct Asking {
    pub(super) principal: Principal,
    pub(super) turn: Turn,
    /// Held until nothing works on the request any more.
    pub(super) place: Option<Arc<RequestPermit>>,
    /// Whether it came over the Unix socket.
    pub(super) is_local: bool,
    /// Whether it is to see what was saved just before.
    pub(super) sees_saves: bool,
}

impl Asking {
    /// The same, that waits for what was saved just before, if it came over the Unix socket.
    pub(super) fn seeing_saves(self) -> Self {
        Self { sees_saves: self.is_local, ..self }
    }
}

/// A request that came over the Unix socket.
#[derive(Debug, Clone, Copy)]
struct OverSocket;

impl<S: Sync> FromRequestParts<S> for Asking {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let none = || ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is required");
        let principal = parts.extensions.get::<Principal>().cloned().ok_or_else(none)?;
        let turn = parts.extensions.get::<Turn>().cloned().unwrap_or_default();
        let is_local = parts.extensions.get::<OverSocket>().is_some();
        let place = parts.extensions.get::<Arc<RequestPermit>>().cloned();
        Ok(Self { principal, turn, place, is_local, sees_saves: false })
    }
}

/// What a request says of the session it is made in.
pub(super) fn claimed(headers: &HeaderMap) -> Session {
    let said = |name| headers.get(name)?.to_str().ok().map(str::trim).filter(|text| !text.is_empty());
    Session { chat_type: said(CHAT_TYPE).map(Into::into), channel: said(CHANNEL).map(Into::into) }
}

/// Over the Unix socket: the person, or the agent that the person's process steps down to.
pub(super) async fn local(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let principal = match request.headers().get(AS_AGENT) {
        None => Some(Principal::Owner),
        Some(slug) => {
            let slug = slug.as_bytes().to_owned();
            let named = blocking(move || app.agents().named(std::str::from_utf8(&slug).ok()?)).await;
            match named {
                Ok(named) => named.map(|mut caller| {
                    caller.claimed = claimed(request.headers());
                    Principal::Agent(caller)
                }),
                Err(error) => return error.into_response(),
            }
        }
    };
    let Some(principal) = principal else {
        let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "there is no agent of this name");
        return error.hint("`vault agent list` lists all agents").into_response();
    };
    request.extensions_mut().insert(principal);
    request.extensions_mut().insert(OverSocket);
    next.run(request).await
}

/// Lets only those through whom a role admits.
pub(super) async fn only<R: Role>(Asking { principal, .. }: Asking, request: Request, next: Next) -> Response {
    match R::admits(&principal) {
        Ok(()) => next.run(request).await,
        Err(error) => ApiError::from(error).into_response(),
    }
}

/// Holds agents to their limits: so many requests a minute, and so long an answer. A program that sends events byte by byte is
/// hung up on too.
pub(super) async fn within_limits(State(app): State<Arc<App>>, mut request: Request, next: Next) -> Response {
    let (principal, slug) = match request.extensions().get::<Principal>() {
        Some(Principal::Capture(_)) => return within(CAPTURE_TIMEOUT, next.run(request)).await,
        None | Some(Principal::Owner) => return next.run(request).await,
        Some(agent @ Principal::Agent(caller)) => (agent, caller.slug.clone()),
    };
    let Some(limits) = app.limits_of(principal) else { return next.run(request).await };
    let rates = app.agents().rates();
    // What it tells of its work comes by the hundred, and takes nothing from what it asks. No agent has a name with a slash.
    let (slug, per_minute) = match is_trace(request.uri().path()) {
        true => (format!("{slug}/trace"), app.config().traces.events_per_minute),
        false => (slug, limits.requests_per_minute),
    };
    if let Err(wait) = rates.take(&slug, per_minute, Instant::now()) {
        return too_many("too many requests in a minute", wait.as_secs() + 1);
    }
    let Some(places) = rates.enter(&slug) else { return too_many("too many requests at a time", 1) };
    let turn = Turn::until(Instant::now() + Duration::from_millis(limits.timeout_ms));
    request.extensions_mut().insert(turn.clone());
    request.extensions_mut().insert(Arc::new(places.at_work));
    let answered = places.answered;
    if is_passed_on(request.uri().path()) {
        // Its turn is that of memory; how long the upstream may take is said elsewhere.
        let response = next.run(request).await;
        drop(answered);
        return response;
    }
    let mut answer = Answering {
        task: tokio::spawn(async move {
            let response = next.run(request).await;
            drop(answered);
            response
        }),
        turn: turn.clone(),
    };
    match tokio::time::timeout(Duration::from_millis(limits.timeout_ms), &mut answer.task).await {
        Ok(answer) => answer.unwrap_or_else(|_| failed()),
        Err(_) if answer.give_up() => too_long("the answer took too long"),
        // It is being written, or was: whoever hears otherwise would send it again.
        Err(_) => match tokio::time::timeout(WRITE_TIMEOUT, &mut answer.task).await {
            Ok(answer) => answer.unwrap_or_else(|_| failed()),
            Err(_) => too_long("the disk took too long; check whether the change was written before you send it again"),
        },
    }
}

/// A request that is being answered. When its time is over, or whoever asked has hung up, it counts no more, and what works on it
/// ends where it next looks at its turn; unless something is being written.
struct Answering {
    task: JoinHandle<Response>,
    turn: Turn,
}

impl Answering {
    fn give_up(&self) -> bool {
        let given_up = self.turn.give_up();
        if given_up {
            self.task.abort();
        }
        given_up
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.give_up();
    }
}

fn too_many(message: &str, seconds: u64) -> Response {
    let error = ApiError::new(StatusCode::TOO_MANY_REQUESTS, "too_many_requests", message);
    ([(RETRY_AFTER, seconds.to_string())], error.hint(format!("wait {seconds} s"))).into_response()
}

fn failed() -> Response {
    ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the server failed; please report this")
        .into_response()
}

async fn within(timeout: Duration, answer: impl Future<Output = Response>) -> Response {
    tokio::time::timeout(timeout, answer).await.unwrap_or_else(|_| too_long("the answer took too long"))
}

fn too_long(message: &str) -> Response {
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
    error.hint("try again in a moment, or ask for less").into_response()
}
