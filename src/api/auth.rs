//! Who may ask over TCP: whoever has a token, and names this server as its host.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::caller::claimed;
use super::error::ApiError;
use super::page;
use crate::access::{Caller, Keys, Principal, Token};

/// What a request over TCP is checked against.
#[derive(Clone)]
pub struct Guard {
    keys: Vec<Arc<dyn Keys>>,
    hosts: Vec<String>,
}

/// The one address that a program which only says what happens may send to.
const CAPTURE: &str = "/api/user-memory/events";

impl Guard {
    /// With the tokens that count, and the names that `Host` may carry besides the loopback ones.
    pub fn new(keys: Vec<Arc<dyn Keys>>, hosts: impl IntoIterator<Item = String>) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        Self { keys, hosts: loopback.into_iter().chain(hosts).collect() }
    }

    /// Lets those in as well who hold one of these tokens.
    #[must_use]
    pub(super) fn and(mut self, keys: Arc<dyn Keys>) -> Self {
        self.keys.push(keys);
        self
    }

    /// Whether a `Host` or the host of an `Origin` is this server. A page that reached us through a name of its own
    /// (DNS rebinding) sends that name.
    fn is_here(&self, authority: &str) -> bool {
        let host = match authority.rfind(':') {
            Some(colon) if !authority.ends_with(']') => &authority[..colon],
            _ => authority,
        };
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(host))
    }

    fn check(&self, headers: &HeaderMap) -> Result<(), ApiError> {
        let text = |name| headers.get(name).map(HeaderValue::to_str);
        let forbidden = |message| Err(ApiError::new(StatusCode::FORBIDDEN, "forbidden", message));
        match text(HOST) {
            Some(Ok(host)) if self.is_here(host) => {}
            _ => return forbidden("the Host header names another server; `server.allowed_hosts` lists those allowed"),
        }
        if let Some(origin) = text(ORIGIN) {
            let host = origin.ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
            if !host.is_some_and(|host| self.is_here(host)) {
                return forbidden("requests from other web pages are refused");
            }
        }
        Ok(())
    }

    /// Whose token a request carries.
    fn holder(&self, headers: &HeaderMap) -> Option<Principal> {
        let token = token(headers)?.hash();
        self.keys.iter().find_map(|keys| keys.holder(&token))
    }
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

/// Refuses a request that names another host, comes from another page, or has no token where one is needed.
pub(super) async fn guard(State(guard): State<Arc<Guard>>, mut request: Request, next: Next) -> Response {
    if let Err(refused) = guard.check(request.headers()) {
        return refused.into_response();
    }
    let path = request.uri().path();
    if path == "/health" || page::is_open(path) {
        return next.run(request).await;
    }
    let Some(principal) = guard.holder(request.headers()) else {
        let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is needed")
            .hint("send `Authorization: Bearer TOKEN`; `vault serve` says where the owner's token is");
        return ([(WWW_AUTHENTICATE, "Bearer, Basic realm=\"vault\"")], error).into_response();
    };
    let principal = match principal {
        Principal::Capture(_) if (request.uri().path(), request.method()) != (CAPTURE, &Method::POST) => {
            let error = ApiError::new(StatusCode::FORBIDDEN, "forbidden", "this token may only send events");
            return error.into_response();
        }
        Principal::Agent(caller) => Principal::Agent(Caller { claimed: claimed(request.headers()), ..caller }),
        principal => principal,
    };
    request.extensions_mut().insert(principal);
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::OwnerKey;

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
    fn the_token_comes_as_bearer_or_basic() {
        let guard = Guard::new(vec![Arc::new(OwnerKey::new(&Token::from_text("secret")))], []);
        let knows = |value| guard.holder(&headers(&[("authorization", value)])) == Some(Principal::Owner);
        assert!(knows("Bearer secret") && knows("bearer secret"));
        // owner:secret, secret:, secret
        assert!(knows("Basic b3duZXI6c2VjcmV0") && knows("Basic c2VjcmV0Og==") && knows("Basic c2VjcmV0"));
        for bad in ["Bearer wrong", "Bearer", "secret", "Basic !!", "Basic b3duZXI6d3Jvbmc=", "Digest secret"] {
            assert!(!knows(bad), "{bad}");
        }
        assert_eq!(guard.holder(&HeaderMap::new()), None);
    }
}
