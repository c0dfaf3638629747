//! Who asks: over TCP whoever has a token, and names this server as its host; over the Unix socket the person. And how often an agent may.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::extract::{FromRequestParts, Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, COOKIE, HOST, ORIGIN, RETRY_AFTER, WWW_AUTHENTICATE};
use axum::http::request::Parts;
use axum::http::{Extensions, HeaderMap, HeaderName, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use tokio::task::JoinHandle;

use super::ask::{ApiError, MAX_OPEN_BODY_BYTES, blocking};
use super::oauth::{self, MCP, OAuth};
use super::share::is_share;
use crate::access::policy::RequestPermit;
use crate::access::request::{Role, agent_limits};
use crate::access::rules::{Authenticator, Caller, Principal, Session, Token, Turn};
use crate::serve::app::App;

/// What a request over TCP is checked against.
#[derive(Clone)]
pub struct Guard {
    authenticators: Vec<Arc<dyn Authenticator>>,
    hosts: Vec<String>,
    oauth: Option<OAuth>,
}

/// The addresses that a program which only says what happens may send to.
const CAPTURE: [&str; 2] = ["/api/user-memory/events", "/memory/ingest"];

impl Guard {
    /// With the tokens that count, and the names that `Host` may carry besides the loopback ones.
    pub fn new(authenticators: Vec<Arc<dyn Authenticator>>, hosts: impl IntoIterator<Item = String>) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        Self { authenticators, hosts: loopback.into_iter().chain(hosts).collect(), oauth: None }
    }

    /// Lets those in as well who hold one of these tokens.
    #[must_use]
    pub(super) fn and(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticators.push(authenticator);
        self
    }

    /// Lets remote assistants sign in as well, and at `/mcp` in with the tokens that they have from there.
    #[must_use]
    pub(super) fn and_remote(self, oauth: Option<OAuth>) -> Self {
        Self { oauth, ..self }
    }

    /// Whether a `Host` is this server, with or without a port. A page that reached us through a name of its own (DNS
    /// rebinding) sends that name.
    fn is_here(&self, authority: &str) -> bool {
        let bare = |name: &str| name.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        host_of(authority).is_some_and(|host| self.hosts.iter().any(|known| bare(known) == bare(host)))
    }

    /// Whether an `Origin` is this server: a scheme, a host and a port at most, as browsers write it.
    fn is_from_here(&self, origin: &str) -> bool {
        let authority = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
        authority.is_some_and(|authority| self.is_here(authority))
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let forbidden = |message| Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message));
        if !matches!(once(headers, &HOST), Ok(Some(host)) if self.is_here(host)) {
            return forbidden("the Host header names another server; allow it in `server.allowed_hosts`");
        }
        if !matches!(once(headers, &ORIGIN), Ok(origin) if origin.is_none_or(|origin| self.is_from_here(origin))) {
            return forbidden("requests from other web pages are not allowed");
        }
        Ok(())
    }

    /// Whose token a request for a path carries: those of remote assistants count at `/mcp` alone. An agent's page is read where its file is
    /// another than it was.
    ///
    /// # Errors
    /// When looking fails unexpectedly.
    pub(super) async fn holder(&self, path: &str, headers: &HeaderMap) -> Result<Option<Principal>, ApiError> {
        let Some(token) = token(headers).map(|token| token.hash()) else { return Ok(None) };
        let mut known = self.authenticators.clone();
        if let Some(oauth) = self.oauth.as_ref().filter(|_| path == MCP) {
            known.push(Arc::clone(&oauth.remote) as Arc<dyn Authenticator>);
        }
        blocking(move || known.iter().find_map(|known| known.holder(&token))).await
    }

    /// What is asked of who has no token that counts, at `/mcp`.
    fn challenge(&self, path: &str, headers: &HeaderMap) -> Option<String> {
        let oauth = self.oauth.as_ref().filter(|_| path == MCP)?;
        Some(oauth.remote.at.challenge(headers.contains_key(AUTHORIZATION)))
    }
}

/// The value of a header that may be given once; an error when it is given twice or is no text.
fn once<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => value.to_str().map(Some).map_err(|_| ()),
        (Some(_), Some(_)) => Err(()),
    }
}

/// The host of `host`, `host:port` or `[address]:port`; `None` for whatever else it may be. Whoever reads the rest of it in
/// another way (`localhost:80@evil.example`) would come to another host.
fn host_of(authority: &str) -> Option<&str> {
    let end = match authority.strip_prefix('[') {
        Some(address) => address.find(']')? + 2,
        None => authority.find(':').unwrap_or(authority.len()),
    };
    let (host, port) = authority.split_at(end);
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
    (!host.is_empty() && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))).then_some(host)
}

/// In this header the page sends the key of its session, which the browser's cookie opens nothing without.
pub(super) const KEY: HeaderName = HeaderName::from_static("x-vault-key");

/// In this header a server of several vaults says which one a request is for: what the browser sent in it does not count.
pub(crate) const VAULT_NAME: HeaderName = HeaderName::from_static("x-vault-name");

/// The token that a request carries, or the two secrets of a session of the page as one.
pub(super) fn token(headers: &HeaderMap) -> Option<Token> {
    let Some(value) = headers.get(AUTHORIZATION) else {
        let key = once(headers, &KEY).ok()??;
        return Some(session_token(cookie(headers, SESSION)?, key));
    };
    let value = value.to_str().ok()?;
    let (scheme, credentials) = value.split_once(' ').unwrap_or((value, ""));
    let token = if scheme.eq_ignore_ascii_case("bearer") {
        Some(credentials.to_owned())
    } else if scheme.eq_ignore_ascii_case("basic") {
        password(credentials)
    } else {
        None
    };
    Some(Token::from_text(&token?))
}

/// The kind of cookie that a session of the page has.
pub(super) const SESSION: &str = "vault-session";

/// What a kind of cookie is called at the address that a request names: a browser sends the cookies of all ports of a host to each of
/// them, and those of all vaults of a server to each. Then its name where the browser came by TLS, which no other host or page without TLS can set.
pub(super) fn cookie_names(kind: &str, headers: &HeaderMap) -> [String; 2] {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    let port = host_of(host).map_or("", |name| host[name.len()..].trim_start_matches(':'));
    let vault = headers.get(VAULT_NAME).and_then(|name| name.to_str().ok()).unwrap_or_default();
    let parts = [kind, port, vault];
    let name = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-");
    let locked = format!("__Host-{name}");
    [name, locked]
}

/// The cookie of a kind that a request carries.
pub(super) fn cookie<'a>(headers: &'a HeaderMap, kind: &str) -> Option<&'a str> {
    let [name, locked] = cookie_names(kind, headers);
    cookie_named(headers, &locked).or_else(|| cookie_named(headers, &name))
}

fn cookie_named<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let all = headers.get_all(COOKIE).iter().filter_map(|all| all.to_str().ok()).flat_map(|all| all.split(';'));
    all.filter_map(|one| one.trim().split_once('=')).find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// The two secrets of a session as one: neither is known by itself.
pub(super) fn session_token(cookie: &str, key: &str) -> Token {
    Token::from_text(&format!("{cookie}\n{key}"))
}

/// The password of Basic credentials, or the name where there is no password (`http://TOKEN@host/`).
fn password(credentials: &str) -> Option<String> {
    let decoded = String::from_utf8(STANDARD.decode(credentials.trim()).ok()?).ok()?;
    let (name, password) = decoded.split_once(':').unwrap_or((&decoded, ""));
    Some(if password.is_empty() { name } else { password }.to_owned())
}

/// Refuses a request that names another host or comes from another page, and lets all others in.
pub(super) async fn only_from_here(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Err(refused) = guard.check(request.headers()) {
        return refused.into_response();
    }
    next.run(request).await
}

/// Refuses a request that names another host, comes from another page, or has no token where one is needed.
pub(super) async fn guard(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    if let Err(refused) = guard.check(request.headers()) {
        return refused.into_response();
    }
    let path = request.uri().path();
    if path == "/health" || is_open(path) || is_share(path) {
        return match too_long_for_nobody(request.headers()) {
            Some(refused) => refused,
            None => next.run(request).await,
        };
    }
    if guard.oauth.is_some() && oauth::is_open(path) {
        return match oauth::is_too_long(request.headers()) {
            true => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
            false => next.run(request).await,
        };
    }
    // The server of several vaults may know already who it is.
    let known = request.extensions().get::<Principal>().cloned();
    let holder = match known {
        Some(person) => Ok(Some(person)),
        None => guard.holder(path, request.headers()).await,
    };
    let holder = match holder {
        Ok(holder) => holder,
        Err(error) => return error.into_response(),
    };
    let Some(principal) = holder else {
        let challenge = guard.challenge(path, request.headers());
        return no_token(request.headers(), challenge.as_deref());
    };
    let principal = match principal {
        Principal::Capture(_) if !CAPTURE.contains(&request.uri().path()) || request.method() != Method::POST => {
            let error = ApiError::new(StatusCode::FORBIDDEN, "forbidden", "this token may only send events");
            return error.into_response();
        }
        Principal::Agent(caller) => Principal::Agent(Caller { claimed: claimed(request.headers()), ..caller }),
        principal => principal,
    };
    request.extensions_mut().insert(principal);
    next.run(request).await
}

/// The answer to who needs no token and sends much, as far as the length of the body is said.
pub(super) fn too_long_for_nobody(headers: &HeaderMap) -> Option<Response> {
    let length = headers.get(CONTENT_LENGTH)?.to_str().ok()?.parse::<usize>().ok()?;
    (length > MAX_OPEN_BODY_BYTES).then(|| ApiError::too_large(MAX_OPEN_BODY_BYTES).into_response())
}

/// The answer to a request whose token is not known; `challenge` says how a remote assistant comes to one.
pub(crate) fn no_token(headers: &HeaderMap, challenge: Option<&str>) -> Response {
    let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is required")
        .hint("send `Authorization: Bearer TOKEN`; `vault serve` prints where the owner's token is");
    // The page asks for one itself; with Basic the browser would do so, too.
    let basic = if headers.contains_key(KEY) { "Bearer" } else { "Bearer, Basic realm=\"vault\"" };
    ([(WWW_AUTHENTICATE, challenge.unwrap_or(basic))], error).into_response()
}

/// Whether a path is served without a token.
pub(super) fn is_open(path: &str) -> bool {
    path == "/" || path.starts_with("/page/")
}

/// Whether what agents tell of their work is sent there; it has limits of its own.
pub(super) fn is_trace(path: &str) -> bool {
    path == "/api/trace"
}

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
pub(crate) struct Asking {
    pub(crate) principal: Principal,
    pub(super) turn: Turn,
    /// Held until nothing works on the request any more.
    pub(super) place: Option<Arc<RequestPermit>>,
    /// Whether it came over the Unix socket.
    pub(super) is_local: bool,
    /// Whether it is to see what was saved just before.
    pub(super) sees_saves: bool,
}

impl Asking {
    /// What the guard has left with a request.
    pub(crate) fn of(extensions: &Extensions) -> Option<Self> {
        Some(Self {
            principal: extensions.get::<Principal>().cloned()?,
            turn: extensions.get::<Turn>().cloned().unwrap_or_default(),
            is_local: extensions.get::<OverSocket>().is_some(),
            place: extensions.get::<Arc<RequestPermit>>().cloned(),
            sees_saves: false,
        })
    }

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
        Self::of(&parts.extensions).ok_or_else(none)
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
        None => Some(Principal::Owner(None)),
        Some(slug) => {
            let slug = slug.as_bytes().to_owned();
            let named = blocking(move || app.agents.named(std::str::from_utf8(&slug).ok()?)).await;
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
        Some(Principal::Capture(_)) => {
            let answer = tokio::time::timeout(CAPTURE_TIMEOUT, next.run(request)).await;
            return answer.unwrap_or_else(|_| too_long("the answer took too long"));
        }
        None | Some(Principal::Owner(_)) => return next.run(request).await,
        Some(Principal::Member(member)) => {
            let limits = member.policy.limits_over(&app.config.agents);
            let (rates, name) = (app.agents.rates(), format!("person/{}", member.name));
            if let Err(wait) = rates.take(&name, limits.requests_per_minute, Instant::now()) {
                return too_many("too many requests in a minute", wait.as_secs() + 1);
            }
            let Some(place) = rates.enter(&name) else { return too_many("too many requests at a time", 1) };
            request.extensions_mut().insert(Arc::new(place.at_work));
            return next.run(request).await;
        }
        Some(agent @ Principal::Agent(caller)) => (agent, caller.slug.clone()),
    };
    let Some(limits) = agent_limits(&app.config.agents, principal) else { return next.run(request).await };
    let rates = app.agents.rates();
    // What it tells of its work comes by the hundred, and takes nothing from what it asks. No agent has a name with a slash.
    let (slug, per_minute) = match is_trace(request.uri().path()) {
        true => (format!("{slug}/trace"), app.config.traces.events_per_minute),
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
    if request.uri().path().starts_with("/v1/") {
        // It is passed on. Its turn is that of memory; how long the upstream may take is said elsewhere.
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
        Ok(answer) => answer.unwrap_or_else(|_| ApiError::failed().into_response()),
        Err(_) if answer.give_up() => too_long("the answer took too long"),
        // It is being written, or was: whoever hears otherwise would send it again.
        Err(_) => match tokio::time::timeout(WRITE_TIMEOUT, &mut answer.task).await {
            Ok(answer) => answer.unwrap_or_else(|_| ApiError::failed().into_response()),
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

fn too_long(message: &str) -> Response {
    let error = ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "unavailable", message);
    error.hint("try again in a moment, or ask for less").into_response()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::rules::OwnerToken;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_this_host_and_its_own_pages_are_served() {
        let guard = Guard::new(Vec::new(), ["vault.local".to_owned()]);
        for host in ["localhost:7833", "127.0.0.1:7833", "[::1]:7833", "[::1]", "LOCALHOST", "vault.local:1"] {
            assert!(guard.check(&headers(&[("host", host)])).is_ok(), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:7833", ""] {
            assert!(guard.check(&headers(&[("host", host)])).is_err(), "{host}");
        }
        assert!(guard.check(&HeaderMap::new()).is_err());
        let origin = |origin| guard.check(&headers(&[("host", "localhost"), ("origin", origin)])).is_ok();
        assert!(origin("http://localhost:7833"));
        assert!(!origin("https://evil.example") && !origin("null"));
    }

    #[test]
    fn a_host_is_not_what_comes_before_the_last_colon() {
        let guard = Guard::new(Vec::new(), ["vault.local".to_owned(), "fd00::1".to_owned()]);
        assert!(guard.is_here("[fd00::1]:7833") && guard.is_from_here("https://[fd00::1]"));
        let strange = [
            "localhost:evil.com", "localhost:80@evil.com", "localhost:80:80", "localhost:", "localhost:+80",
            "localhost:65536", "localhost:80/", "localhost/", "maya@localhost", "localhost@evil.com:80",
            "localhost,evil.com", "localhost localhost", "[::1]evil.com", "[::1]@evil.com", "[::1", "::1",
            "[localhost]evil.com:80", ":80", "evil.com#localhost",
        ];
        for authority in strange {
            assert!(!guard.is_here(authority), "{authority}");
            assert!(!guard.is_from_here(&format!("http://{authority}")), "{authority}");
        }
        for origin in ["http://localhost/", "file://localhost", "localhost", "http:localhost", "xhttp://localhost", ""]
        {
            assert!(!guard.is_from_here(origin), "{origin}");
        }
        let twice = [("host", "localhost"), ("host", "evil.com")];
        let mut headers = HeaderMap::new();
        for (name, value) in twice {
            headers.append(name, value.parse().unwrap());
        }
        assert!(guard.check(&headers).is_err(), "which of two hosts is meant nobody knows");
    }

    #[test]
    fn a_session_is_its_cookie_and_its_key() {
        let hash = |pairs: &[(&'static str, &str)]| token(&headers(pairs)).map(|token| token.hash());
        let session = Some(session_token("c", "k").hash());
        let host = ("host", "localhost:7833");
        let (cookie, key) = (("cookie", "a=b; vault-session-7833=c; vault-session=x"), ("x-vault-key", "k"));
        assert_eq!(hash(&[host, cookie, key]), session);
        assert_eq!(hash(&[("host", "[::1]:7833"), cookie, key]), session);
        assert_ne!(hash(&[("host", "localhost:7834"), cookie, key]), session, "it is of another vault");
        assert_eq!((hash(&[host, cookie]), hash(&[host, key])), (None, None));
        let locked = ("cookie", "vault-session-7833=x; __Host-vault-session-7833=c");
        assert_eq!(hash(&[host, locked, key]), session, "nobody else can set this one");
        assert_eq!(hash(&[("host", "vault.local"), ("cookie", "vault-session=c"), key]), session);
        let bearer = hash(&[host, cookie, key, ("authorization", "Bearer secret")]);
        assert_eq!(bearer, Some(Token::from_text("secret").hash()), "what is said goes before what the browser adds");
    }

    #[tokio::test]
    async fn the_token_comes_as_bearer_or_basic() {
        let guard = Arc::new(Guard::new(vec![Arc::new(OwnerToken::new(&Token::from_text("secret")))], []));
        let headers = |value| headers(&[("authorization", value)]);
        // Of the Basic ones: owner:secret, secret:, secret
        let good = ["Bearer secret", "bearer secret", "Basic b3duZXI6c2VjcmV0", "Basic c2VjcmV0Og==", "Basic c2VjcmV0"];
        for good in good {
            assert!(matches!(guard.holder("/", &headers(good)).await, Ok(Some(Principal::Owner(None)))), "{good}");
        }
        for bad in ["Bearer wrong", "Bearer", "secret", "Basic !!", "Basic b3duZXI6d3Jvbmc=", "Digest secret"] {
            assert!(guard.holder("/", &headers(bad)).await.unwrap().is_none(), "{bad}");
        }
        assert!(guard.holder("/", &HeaderMap::new()).await.unwrap().is_none());
    }
}
