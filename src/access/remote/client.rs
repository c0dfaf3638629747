//! A client: what it is called and where answers to it may go. One that registers itself is not stored: its id holds what it said, sealed
//! with a key of the vault, so nobody can fill the vault with registrations.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::params::OAuthError;
use crate::access::rules::Token;
use crate::base::address::{WebAddress, is_of_address};
use crate::base::state::DigestKey;

/// Maximum length of a client's name, in characters.
const MAX_NAME_CHARS: usize = 60;
/// Maximum number of addresses that a client may name.
const MAX_REDIRECTS: usize = 10;
/// Maximum length of one, in bytes.
const MAX_REDIRECT_BYTES: usize = 512;
/// Schemes of programs on a person's own machine that have no dot, as RFC 8252 wants one. A scheme that a browser itself acts on (`javascript`,
/// `data`, `intent`) may never be among them.
const PROGRAMS: [&str; 8] = ["claude", "cursor", "goose", "raycast", "vscode", "vscode-insiders", "windsurf", "zed"];

/// A client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Client {
    /// What it calls itself.
    #[serde(rename = "n")]
    pub(super) name: String,
    /// Where answers to it may go.
    #[serde(rename = "r")]
    pub(super) redirects: Vec<String>,
}

impl Client {
    /// Reads what a client says of itself, as in RFC 7591.
    ///
    /// # Errors
    /// When it has no address that answers may go to, or wants what is not had here.
    pub(super) fn read(metadata: &Value) -> Result<Self, OAuthError> {
        let wrong = |about: &str| OAuthError::new("invalid_client_metadata", about);
        let redirects = metadata["redirect_uris"].as_array().filter(|all| (1..=MAX_REDIRECTS).contains(&all.len()));
        let redirects = redirects
            .and_then(|all| all.iter().map(|one| one.as_str().map(str::to_owned)).collect::<Option<Vec<String>>>())
            .filter(|all| all.iter().all(|one| may_be_redirect(one)))
            .ok_or_else(|| {
                let about = "`redirect_uris` takes 1 to 10 addresses: https, http of this machine, or of a program";
                OAuthError::new("invalid_redirect_uri", about)
            })?;
        for (key, needed) in [("grant_types", "authorization_code"), ("response_types", "code")] {
            let said = &metadata[key];
            let has = said.as_array().is_some_and(|all| all.iter().any(|one| one == needed));
            if !said.is_null() && !has {
                return Err(wrong(&format!("`{key}` needs {needed}")));
            }
        }
        let name: String =
            metadata["client_name"].as_str().unwrap_or_default().chars().filter(|c| is_plain(*c)).collect();
        let name: String = name.trim().chars().take(MAX_NAME_CHARS).collect();
        let host = || WebAddress::parse(&redirects[0]).map_or_else(|| "Assistant".to_owned(), |address| address.host);
        Ok(Self { name: if name.is_empty() { host() } else { name }, redirects })
    }

    /// Whether answers to it may go to an address: one that it named, to the byte. On this machine the port may differ.
    pub(super) fn has_redirect(&self, address: &str) -> bool {
        may_be_redirect(address)
            && self.redirects.iter().any(|known| known == address || is_same_but_port(known, address))
    }

    /// The id that it gets.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub(super) fn sealed(&self, key: &DigestKey) -> std::io::Result<String> {
        // Whoever registers twice gets two ids, as nobody is to learn from them whether they were made with one key.
        let said = serde_json::json!([&Token::random()?.reveal()[..16], self]).to_string();
        let seal = URL_SAFE_NO_PAD.encode(key.digest(SEAL, &[said.as_bytes()]));
        Ok(format!("{}.{seal}", URL_SAFE_NO_PAD.encode(said)))
    }

    /// The client of an id that was made with one of these keys.
    pub(super) fn of_sealed(id: &str, keys: &[DigestKey]) -> Option<Self> {
        let (said, seal) = id.split_once('.')?;
        let (said, seal) = (URL_SAFE_NO_PAD.decode(said).ok()?, URL_SAFE_NO_PAD.decode(seal).ok()?);
        // Hashes compare in constant time.
        let is_ours = |key: &DigestKey| blake3::hash(&key.digest(SEAL, &[&said])) == blake3::hash(&seal);
        if !keys.iter().any(is_ours) {
            return None;
        }
        let (_, client): (String, Self) = serde_json::from_slice(&said).ok()?;
        Some(client)
    }
}

/// What the key makes the seals of.
const SEAL: &str = "remote client";

/// Whether a character may be in a name: none that hides, turns or breaks the line that it stands in.
fn is_plain(character: char) -> bool {
    !character.is_control()
        && !matches!(character, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
}

/// Whether a client may name this address: `https`, `http` of this machine, or a scheme of a program.
fn may_be_redirect(address: &str) -> bool {
    if address.len() > MAX_REDIRECT_BYTES || !address.bytes().all(is_of_address) {
        return false;
    }
    if let Some(address) = WebAddress::parse(address) {
        return address.is_secure || address.is_loopback();
    }
    let Some((scheme, rest)) = address.split_once(':') else { return false };
    let is_scheme =
        |scheme: &str| scheme.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b".-+".contains(&b));
    let is_of_program =
        PROGRAMS.contains(&scheme) || (scheme.split('.').count() > 1 && scheme.split('.').all(|part| !part.is_empty()));
    is_scheme(scheme) && is_of_program && rest.starts_with('/')
}

/// Whether two addresses of this machine are the same but for the port (RFC 8252): programs listen at any free one.
fn is_same_but_port(known: &str, address: &str) -> bool {
    let (Some(known), Some(address)) = (WebAddress::parse(known), WebAddress::parse(address)) else { return false };
    let bare = |address: WebAddress| (address.is_secure, address.host, address.rest);
    known.is_loopback() && !known.is_secure && bare(known) == bare(address)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::state::State;

    fn client(redirects: &[&str]) -> Result<Client, OAuthError> {
        Client::read(&json!({ "client_name": "Claude", "redirect_uris": redirects }))
    }

    #[test]
    fn answers_go_to_exactly_what_was_named() {
        let named =
            ["https://claude.ai/api/mcp/auth_callback", "http://127.0.0.1:3118/callback", "com.example.app:/done"];
        let client = client(&named).unwrap();
        for good in named.iter().chain(&["http://127.0.0.1:9/callback", "http://127.0.0.1/callback"]) {
            assert!(client.has_redirect(good), "{good}");
        }
        for bad in [
            "https://claude.ai/api/mcp/auth_callback/",
            "https://claude.ai/api/mcp/auth_callback?x",
            "https://claude.ai",
            "https://claude.ai:443/api/mcp/auth_callback",
            "https://CLAUDE.ai/api/mcp/auth_callback",
            "https://claude.ai@evil.example/api/mcp/auth_callback",
            "https://claude.ai.evil.example/api/mcp/auth_callback",
            "http://claude.ai/api/mcp/auth_callback",
            "http://127.0.0.1:9/other",
            "http://localhost:9/callback",
            "https://127.0.0.1:9/callback",
            "http://127.0.0.2:9/callback",
            "http://127.0.0.1:9@evil.example/callback",
            "com.example.app:/other",
            "com.example.app:/done#x",
            "",
        ] {
            assert!(!client.has_redirect(bad), "{bad}");
        }
    }

    #[test]
    fn what_a_browser_would_run_is_nowhere_to_go() {
        for bad in [
            "javascript:alert(1)", "javascript://x/%0aalert(1)", "data:text/html,x", "http://evil.example/",
            "file:///etc/x", "JAVASCRIPT:/x", "intent://x", "vbscript:/x", "//evil.example", "https://a/#x",
            "https://u@a/", "https://a\\b/", "about:blank", "..:/x", "com.example.app:x", "https://a/ b",
            "blob:https://a/x", "view-source:https://a/",
        ] {
            assert!(client(&[bad]).is_err(), "{bad}");
        }
        assert!(client(&[]).is_err() && client(&["https://a/"; 11]).is_err());
        for good in ["https://a/", "http://[::1]:8/x", "http://localhost/x?y=1", "cursor://a/b", "vscode://x/y"] {
            assert!(client(&[good]).is_ok(), "{good}");
        }
    }

    #[test]
    fn an_id_holds_its_client_and_no_other() {
        let folder = tempfile::tempdir().unwrap();
        let key = State::in_folder(folder.path()).key_or_new().unwrap();
        let made = client(&["https://a/"]).unwrap();
        let id = made.sealed(&key).unwrap();
        assert_ne!(id, made.sealed(&key).unwrap());
        assert_eq!(Client::of_sealed(&id, std::slice::from_ref(&key)), Some(made));
        let other = tempfile::tempdir().unwrap();
        let other = State::in_folder(other.path()).key_or_new().unwrap();
        assert_eq!(Client::of_sealed(&id, &[other]), None);
        for bad in ["", ".", "a.b", &id[1..], &id[..id.len() - 1]] {
            assert_eq!(Client::of_sealed(bad, std::slice::from_ref(&key)), None, "{bad}");
        }
    }

    #[test]
    fn a_name_is_one_plain_line() {
        let name = |name: &str| {
            Client::read(&json!({ "client_name": name, "redirect_uris": ["https://a.example/x"] })).unwrap().name
        };
        assert_eq!(name("Cl\u{202e}au\nde "), "Claude");
        assert_eq!((name(""), name(&"x".repeat(99)).len()), ("a.example".to_owned(), 60));
    }
}
