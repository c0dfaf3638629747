//! Client id metadata documents: a client whose id is an address says there what it is. They are fetched from the open network alone, and
//! only where a person is about to look at the request.

use std::collections::HashMap;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;
use ureq::config::Config;
use ureq::http::{Uri, header};
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{DefaultConnector, NextTimeout};

use super::client::Client;
use crate::base::address::WebAddress;

/// Maximum length of a document, in bytes.
const MAX_DOCUMENT_BYTES: u64 = 64 << 10;
/// Time limit of a fetch, from looking for the host to the last byte.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a document counts, in seconds, whatever its server says.
const FRESH_SECONDS: std::ops::RangeInclusive<u64> = 300..=86_400;
/// Maximum number of documents that are remembered.
const MAX_DOCUMENTS: usize = 32;

/// A document as it came, and for how many seconds its server lets it be kept.
type Fetched = (Vec<u8>, Option<u64>);
/// Fetches the document at an address.
type Fetch = dyn Fn(&str) -> Result<Fetched, String> + Send + Sync;

/// Fetches documents and remembers them for a while.
pub(super) struct Documents {
    fetch: Box<Fetch>,
    known: Mutex<HashMap<String, (Instant, Client)>>,
}

impl Default for Documents {
    fn default() -> Self {
        Self { fetch: Box::new(fetch), known: Mutex::default() }
    }
}

impl Documents {
    /// The client whose id is this address. It may wait for the network.
    ///
    /// # Errors
    /// Why there is none, for the person.
    pub(super) fn client(&self, id: &str, now: Instant) -> Result<Client, String> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, client)) = known().get(id).filter(|(until, _)| now < *until) {
            return Ok(client.clone());
        }
        if !is_document(id) {
            return Err("the client's id is no address of a metadata document".into());
        }
        let (bytes, seconds) = (self.fetch)(id).map_err(|why| format!("the document of the client {why}"))?;
        let document: Value = serde_json::from_slice(&bytes).map_err(|_| "the document of the client is not JSON")?;
        if document["client_id"] != id {
            return Err("the document at the client's id is that of another client".into());
        }
        let client = Client::read(&document).map_err(|error| format!("the document of the client: {}", error.about))?;
        let seconds = seconds.unwrap_or_default().clamp(*FRESH_SECONDS.start(), *FRESH_SECONDS.end());
        let mut known = known();
        known.retain(|_, (until, _)| now < *until);
        if known.len() >= MAX_DOCUMENTS {
            known.clear();
        }
        known.insert(id.to_owned(), (now + Duration::from_secs(seconds), client.clone()));
        Ok(client)
    }
}

/// Whether an id can be the address of a document: https, with a path that goes nowhere else.
fn is_document(id: &str) -> bool {
    let Some(address) = WebAddress::parse(id).filter(|address| address.is_secure) else { return false };
    let path = address.rest.split('?').next().unwrap_or_default();
    let goes_on =
        path.split('/').all(|part| !matches!(part.to_ascii_lowercase().as_str(), "." | ".." | "%2e" | "%2e%2e"));
    path.len() > 1 && goes_on && address.ip().is_none_or(is_public)
}

fn fetch(address: &str) -> Result<Fetched, String> {
    let config = ureq::Agent::config_builder()
        .https_only(true)
        .http_status_as_error(false)
        .max_redirects(0)
        // A proxy would look for the host itself.
        .proxy(None)
        .timeout_global(Some(FETCH_TIMEOUT))
        .user_agent(concat!("memory-vault/", env!("CARGO_PKG_VERSION")))
        .build();
    let agent = ureq::Agent::with_parts(config, DefaultConnector::default(), PublicResolver::default());
    let mut answer = agent.get(address).header("Accept", "application/json").call().map_err(|error| match error {
        ureq::Error::HostNotFound => "is at no host of the open network".to_owned(),
        error => format!("could not be fetched: {error}"),
    })?;
    if answer.status().as_u16() != 200 {
        return Err(format!("could not be fetched: its server answered {}", answer.status()));
    }
    let cache = answer.headers().get(header::CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let seconds = cache.split(',').find_map(|part| part.trim().strip_prefix("max-age=")?.parse().ok());
    let mut bytes = Vec::new();
    let mut body = answer.body_mut().as_reader().take(MAX_DOCUMENT_BYTES + 1);
    body.read_to_end(&mut bytes).map_err(|error| format!("could not be fetched: {error}"))?;
    if bytes.len() as u64 > MAX_DOCUMENT_BYTES {
        return Err("is too long".into());
    }
    Ok((bytes, seconds))
}

/// Finds hosts of the open network alone. What it gives is what is connected to, so a name that says something else a moment later changes
/// nothing.
#[derive(Debug, Default)]
struct PublicResolver(DefaultResolver);

impl Resolver for PublicResolver {
    fn resolve(&self, uri: &Uri, config: &Config, timeout: NextTimeout) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let found = self.0.resolve(uri, config, timeout)?;
        match found.iter().all(|address| is_public(address.ip())) {
            true => Ok(found),
            false => Err(ureq::Error::HostNotFound),
        }
    }
}

/// Whether an address is one of the open network: none of this machine, of a network at home, or for a purpose of its own.
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_special = ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_documentation();
    let is_reserved = a == 0 || a >= 224 || (a == 100 && b & 0xc0 == 64) || (a == 198 && b & 0xfe == 18);
    let is_protocol = a == 192 && b == 0 && c == 0 || a == 192 && b == 88 && c == 99;
    !is_special && !is_reserved && !is_protocol
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let [a, b, ..] = ip.segments();
    // All others are of networks at home, of this machine, or hold an IPv4 address.
    let is_unicast = a & 0xe000 == 0x2000;
    let is_special = a == 0x2002 || (a == 0x2001 && (b < 0x200 || b == 0xdb8)) || (a == 0x3fff && b < 0x1000);
    is_unicast && !is_special
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;

    use super::*;

    const ID: &str = "https://claude.ai/oauth/claude.json";

    fn documents(seconds: Option<u64>, document: Value) -> (Documents, Arc<AtomicUsize>) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let fetch = move |_: &str| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok((document.to_string().into_bytes(), seconds))
        };
        (Documents { fetch: Box::new(fetch), known: Mutex::default() }, asked)
    }

    fn document(id: &str) -> Value {
        json!({ "client_id": id, "client_name": "Claude", "redirect_uris": ["https://claude.ai/cb"] })
    }

    #[test]
    fn a_document_is_asked_for_as_often_as_its_server_says_within_bounds() {
        let now = Instant::now();
        for (said, seconds) in [(None, 300), (Some(0), 300), (Some(1000), 1000), (Some(u64::MAX), 86_400)] {
            let (documents, asked) = documents(said, document(ID));
            assert_eq!(documents.client(ID, now).unwrap().name, "Claude");
            documents.client(ID, now + Duration::from_secs(seconds - 1)).unwrap();
            assert_eq!(asked.load(Ordering::Relaxed), 1, "{said:?}");
            documents.client(ID, now + Duration::from_secs(seconds)).unwrap();
            assert_eq!(asked.load(Ordering::Relaxed), 2, "{said:?}");
        }
    }

    #[test]
    fn a_document_is_that_of_its_address() {
        for wrong in [document("https://claude.ai/oauth/other.json"), json!([]), json!({ "client_id": ID })] {
            let (documents, _) = documents(None, wrong.clone());
            assert!(documents.client(ID, Instant::now()).is_err(), "{wrong}");
        }
        let (documents, asked) = documents(None, document(ID));
        for bad in [
            "http://claude.ai/x", "https://claude.ai", "https://claude.ai/", "https://127.0.0.1/x", "https://[::1]/x",
            "https://10.1.2.3/x", "https://claude.ai/a/../b", "https://claude.ai/%2e%2E/b", "https://u@claude.ai/x",
            "https://claude.ai/x#y", "file:///etc/passwd", "https://169.254.169.254/latest",
        ] {
            assert!(documents.client(bad, Instant::now()).is_err(), "{bad}");
        }
        assert_eq!(asked.load(Ordering::Relaxed), 0, "nobody was asked");
    }

    #[test]
    fn nothing_at_home_is_asked() {
        for private in [
            "127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1",
            "198.18.0.1", "224.0.0.1", "255.255.255.255", "192.0.0.1", "192.0.2.1", "240.0.0.1", "::", "::1",
            "fe80::1", "fd00::1", "ff02::1", "::ffff:127.0.0.1", "::ffff:8.8.8.8", "64:ff9b::7f00:1", "2002:7f00:1::",
            "2001::1", "2001:db8::1",
        ] {
            assert!(!is_public(private.parse().unwrap()), "{private}");
        }
        for public in ["8.8.8.8", "1.1.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        // The fetcher itself, for a name that is of this machine.
        let told = fetch("https://localhost:1/x").unwrap_err();
        assert_eq!(told, "is at no host of the open network");
    }
}
