//! Who may ask over TCP: whoever has a token, and names this server as its host; and what needs no token.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CONTENT_LENGTH, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::ask::{ApiError, MAX_OPEN_BODY_BYTES, blocking};
use super::caller::claimed;
use crate::access::rules::{Authenticator, Caller, Principal, Token};

/// What a request over TCP is checked against.
#[derive(Clone)]
pub struct Guard {
    authenticators: Vec<Arc<dyn Authenticator>>,
    hosts: Vec<String>,
}

/// The addresses that a program which only says what happens may send to.
const CAPTURE: [&str; 2] = ["/api/user-memory/events", "/memory/ingest"];

impl Guard {
    /// With the tokens that count, and the names that `Host` may carry besides the loopback ones.
    pub fn new(authenticators: Vec<Arc<dyn Authenticator>>, hosts: impl IntoIterator<Item = String>) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        Self { authenticators, hosts: loopback.into_iter().chain(hosts).collect() }
    }

    /// Lets those in as well who hold one of these tokens.
    #[must_use]
    pub(super) fn and(mut self, authenticator: Arc<dyn Authenticator>) -> Self {
        self.authenticators.push(authenticator);
        self
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
        if !matches!(only(headers, &HOST), Ok(Some(host)) if self.is_here(host)) {
            return forbidden("the Host header names another server; allow it in `server.allowed_hosts`");
        }
        if !matches!(only(headers, &ORIGIN), Ok(origin) if origin.is_none_or(|origin| self.is_from_here(origin))) {
            return forbidden("requests from other web pages are not allowed");
        }
        Ok(())
    }

    /// Whose token a request carries. An agent's page is read where its file is another than it was.
    ///
    /// # Errors
    /// When looking fails unexpectedly.
    async fn holder(&self, headers: &HeaderMap) -> Result<Option<Principal>, ApiError> {
        let Some(token) = token(headers).map(|token| token.hash()) else { return Ok(None) };
        let known = self.authenticators.clone();
        blocking(move || known.iter().find_map(|known| known.holder(&token))).await
    }
}

/// The value of a header that may be given once; an error when it is given twice or is no text.
fn only<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a str>, ()> {
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

/// The token that a request carries.
pub(super) fn token(headers: &HeaderMap) -> Option<Token> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
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

/// The password of Basic credentials, or the name where there is no password (`http://TOKEN@host/`).
fn password(credentials: &str) -> Option<String> {
    let decoded = String::from_utf8(base64_decode(credentials.trim())?).ok()?;
    let (name, password) = decoded.split_once(':').unwrap_or((&decoded, ""));
    Some(if password.is_empty() { name } else { password }.to_owned())
}

fn base64_decode(text: &str) -> Option<Vec<u8>> {
    use base64::Engine;
    base64::engine::general_purpose::STANDARD.decode(text).ok()
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
    if path == "/health" || is_open(path) {
        return match is_small(request.headers()) {
            true => next.run(request).await,
            false => ApiError::too_large(MAX_OPEN_BODY_BYTES).into_response(),
        };
    }
    let holder = match guard.holder(request.headers()).await {
        Ok(holder) => holder,
        Err(error) => return error.into_response(),
    };
    let Some(principal) = holder else {
        let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is required")
            .hint("send `Authorization: Bearer TOKEN`; `vault serve` prints where the owner's token is");
        return ([(WWW_AUTHENTICATE, "Bearer, Basic realm=\"vault\"")], error).into_response();
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

/// Whether a body, as far as its length is said, is one for an address that needs no token.
fn is_small(headers: &HeaderMap) -> bool {
    let length = headers.get(CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<usize>().ok());
    length.is_none_or(|length| length <= MAX_OPEN_BODY_BYTES)
}

/// Whether a path is served without a token.
pub(super) fn is_open(path: &str) -> bool {
    path == "/" || path.starts_with("/page/")
}

/// Whether requests to a path are passed on, and have limits of size and time of their own.
pub(super) fn is_passed_on(path: &str) -> bool {
    path.starts_with("/v1/")
}

/// Whether what agents tell of their work is sent there; it has limits of its own.
pub(super) fn is_trace(path: &str) -> bool {
    path == "/api/trace"
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

    #[tokio::test]
    async fn the_token_comes_as_bearer_or_basic() {
        let guard = Arc::new(Guard::new(vec![Arc::new(OwnerToken::new(&Token::from_text("secret")))], []));
        let headers = |value| headers(&[("authorization", value)]);
        // Of the Basic ones: owner:secret, secret:, secret
        let good = ["Bearer secret", "bearer secret", "Basic b3duZXI6c2VjcmV0", "Basic c2VjcmV0Og==", "Basic c2VjcmV0"];
        for good in good {
            assert!(matches!(guard.holder(&headers(good)).await, Ok(Some(Principal::Owner))), "{good}");
        }
        for bad in ["Bearer wrong", "Bearer", "secret", "Basic !!", "Basic b3duZXI6d3Jvbmc=", "Digest secret"] {
            assert!(guard.holder(&headers(bad)).await.unwrap().is_none(), "{bad}");
        }
        assert!(guard.holder(&HeaderMap::new()).await.unwrap().is_none());
    }
}
