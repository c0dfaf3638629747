//! Who may ask over TCP: whoever has the owner's token or that of a session of the page, and names this server as its host.

use std::sync::Arc;
use std::time::Instant;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::error::ApiError;
use super::page;
use super::sessions::Sessions;
use crate::access::{Token, TokenHash};

/// What a request over TCP is checked against.
#[derive(Debug, Clone)]
pub struct Guard {
    token: TokenHash,
    hosts: Vec<String>,
    sessions: Arc<Sessions>,
}

impl Guard {
    /// With the owner's token, and the names that `Host` may carry besides the loopback ones.
    pub fn new(token: &Token, hosts: impl IntoIterator<Item = String>) -> Self {
        let loopback = ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned);
        let hosts = loopback.into_iter().chain(hosts).collect();
        Self { token: token.hash(), hosts, sessions: Arc::default() }
    }

    /// Lets the sessions of the page in as well.
    #[must_use]
    pub(super) fn with_sessions(self, sessions: Arc<Sessions>) -> Self {
        Self { sessions, ..self }
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

    fn knows(&self, headers: &HeaderMap) -> bool {
        let Some(Ok(value)) = headers.get(AUTHORIZATION).map(HeaderValue::to_str) else { return false };
        let (scheme, credentials) = value.split_once(' ').unwrap_or((value, ""));
        let token = if scheme.eq_ignore_ascii_case("bearer") {
            Some(credentials.to_owned())
        } else if scheme.eq_ignore_ascii_case("basic") {
            password(credentials)
        } else {
            None
        };
        token.is_some_and(|token| {
            let hash = Token::from_text(&token).hash();
            hash == self.token || self.sessions.knows(&hash, Instant::now())
        })
    }
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
pub(super) async fn guard(State(guard): State<Arc<Guard>>, request: Request, next: Next) -> Response {
    if let Err(refused) = guard.check(request.headers()) {
        return refused.into_response();
    }
    let path = request.uri().path();
    if path != "/health" && !page::is_open(path) && !guard.knows(request.headers()) {
        let error = ApiError::new(StatusCode::UNAUTHORIZED, "unauthorized", "a token is needed")
            .hint("send `Authorization: Bearer TOKEN`; `vault serve` says where the owner's token is");
        return ([(WWW_AUTHENTICATE, "Bearer, Basic realm=\"vault\"")], error).into_response();
    }
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
    }

    #[test]
    fn only_this_host_and_its_own_pages_are_served() {
        let guard = Guard::new(&Token::from_text("secret"), ["vault.local".to_owned()]);
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
        let guard = Guard::new(&Token::from_text("secret"), []);
        let knows = |value| guard.knows(&headers(&[("authorization", value)]));
        assert!(knows("Bearer secret") && knows("bearer secret"));
        // owner:secret, secret:, secret
        assert!(knows("Basic b3duZXI6c2VjcmV0") && knows("Basic c2VjcmV0Og==") && knows("Basic c2VjcmV0"));
        for bad in ["Bearer wrong", "Bearer", "secret", "Basic !!", "Basic b3duZXI6d3Jvbmc=", "Digest secret"] {
            assert!(!knows(bad), "{bad}");
        }
        assert!(!guard.knows(&HeaderMap::new()));
    }
}
