//! Where an endpoint is, out of what people write; its key, which nobody gets to see; and what is asked of it, as addresses and messages name it.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use super::super::ModelError;

/// The address of an OpenAI-compatible endpoint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::models) struct Address {
    /// The one that is asked, whole.
    pub(super) url: String,
    /// Host and port as they were written, for people.
    pub(in crate::models) host: String,
    /// Without the port and without brackets.
    name: String,
    port: u16,
    is_encrypted: bool,
}

impl Address {
    /// Reads a bare host, an address that ends in `/v1`, or the full one that ends as the service's do (`/embeddings`). Without a scheme
    /// it is `http` on this machine and `https` elsewhere, so that no text goes out unencrypted unless somebody wrote so.
    ///
    /// # Errors
    /// Why it is no address.
    pub(in crate::models) fn parse(text: &str, service: &EndpointService) -> Result<Self, String> {
        let text = text.trim();
        if text.chars().any(|character| character.is_whitespace() || character.is_control()) {
            return Err("it has white space in it".into());
        }
        let (scheme, rest) = match text.split_once("://") {
            Some((scheme, rest)) => (Some(scheme.to_ascii_lowercase()), rest),
            None => (None, text),
        };
        if rest.contains('#') {
            return Err("it has a `#` in it".into());
        }
        let end = rest.find(['/', '?']).unwrap_or(rest.len());
        let (host, path) = rest.split_at(end);
        if host.contains('@') {
            let section = service.section;
            return Err(format!(
                "it has a name or password in it; name the key's environment variable in `{section}.api_key_env`"
            ));
        }
        let (name, port) = split_port(host).ok_or("it has no host")?;
        let is_encrypted = match scheme.as_deref() {
            None => !is_here(&name),
            Some("http") => false,
            Some("https") => true,
            Some(other) => return Err(format!("{other:?} is neither http nor https")),
        };
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, format!("?{query}")),
            None => (path, String::new()),
        };
        let path = path.trim_end_matches('/');
        let path = match path {
            full if full.ends_with(service.path) => full.to_owned(),
            versioned if versioned.ends_with("/v1") => format!("{versioned}{}", service.path),
            base => format!("{base}/v1{}", service.path),
        };
        let scheme = if is_encrypted { "https" } else { "http" };
        Ok(Self {
            url: format!("{scheme}://{host}{path}{query}"),
            host: host.to_owned(),
            port: port.unwrap_or(if is_encrypted { 443 } else { 80 }),
            name,
            is_encrypted,
        })
    }

    /// The address of something else that the same service has, as `/files` beside the service's own path.
    pub(super) fn beside(&self, own: &str, path: &str) -> String {
        let (url, query) = match self.url.split_once('?') {
            Some((url, query)) => (url, format!("?{query}")),
            None => (self.url.as_str(), String::new()),
        };
        format!("{}{path}{query}", url.strip_suffix(own).unwrap_or(url))
    }

    /// Whether what is sent there stays on this machine.
    pub(in crate::models) fn is_loopback(&self) -> bool {
        if !is_here(&self.name) {
            return false;
        }
        // The machine may have another mind of what `localhost` is.
        let found = (self.name.as_str(), self.port).to_socket_addrs();
        found.is_ok_and(|found| {
            let found: Vec<SocketAddr> = found.collect();
            !found.is_empty() && found.iter().all(|address| is_loopback_ip(address.ip()))
        })
    }

    /// Whether others on the way can read what is sent.
    pub(in crate::models) fn is_open_to_all(&self) -> bool {
        !self.is_encrypted && !is_here(&self.name)
    }
}

/// Whether an address is one whose texts stay on this machine; not where it is none.
pub(in crate::models) fn is_loopback(address: &str) -> bool {
    Address::parse(address, &EMBEDDING).is_ok_and(|address| address.is_loopback())
}

fn is_here(name: &str) -> bool {
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(is_loopback_ip)
}

fn is_loopback_ip(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => ip.is_loopback(),
        IpAddr::V6(ip) => ip == Ipv6Addr::LOCALHOST || ip.to_ipv4_mapped().as_ref().is_some_and(Ipv4Addr::is_loopback),
    }
}

/// The name of a host without brackets, and its port.
fn split_port(host: &str) -> Option<(String, Option<u16>)> {
    let (name, port) = match host.strip_prefix('[') {
        Some(rest) => {
            let (name, port) = rest.split_once(']')?;
            name.parse::<Ipv6Addr>().ok()?;
            (name, port.strip_prefix(':').or_else(|| port.is_empty().then_some("")))
        }
        None => match host.split_once(':') {
            Some((name, port)) => (name, Some(port)),
            None => (host, Some("")),
        },
    };
    let port = match port? {
        "" => None,
        port => Some(port.parse().ok()?),
    };
    (!name.is_empty()).then(|| (name.to_owned(), port))
}

/// A key. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(in crate::models) struct ApiKey(String);

impl ApiKey {
    /// The key in the environment variable `name`, and in no other; `None` where no name is given.
    ///
    /// # Errors
    /// When there is no such variable, or its value cannot be a key.
    pub(in crate::models) fn from_environment(
        name: &str,
        service: &EndpointService,
    ) -> Result<Option<Self>, ModelError> {
        if name.is_empty() {
            return Ok(None);
        }
        let refused = |reason: String| service.bad_option("api_key_env", reason);
        let value = std::env::var(name).map_err(|_| {
            refused(format!("the environment variable {name} is not set; set it where you start the program"))
        })?;
        let key = Self(value.trim().to_owned());
        if key.0.is_empty() || !key.0.chars().all(|character| character.is_ascii_graphic()) {
            return Err(refused(format!("{name} is not a valid key: it is empty, or has characters that no key has")));
        }
        Ok(Some(key))
    }

    /// What the request carries.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }

    /// A text without the key.
    pub(super) fn taken_out_of(&self, text: &str) -> String {
        text.replace(&self.0, "…")
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ApiKey(…)")
    }
}

/// One of the things that OpenAI-compatible endpoints do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::models) struct EndpointService {
    /// The section of `memory.toml` that it is set in.
    pub(super) section: &'static str,
    /// What it is called in messages.
    pub(super) name: &'static str,
    /// The end of its addresses.
    pub(super) path: &'static str,
    /// What an endpoint does not do that has no such thing.
    pub(super) verb: &'static str,
}

/// Texts to vectors.
pub(in crate::models) const EMBEDDING: EndpointService =
    EndpointService { section: "embed", name: "the embedding endpoint", path: "/embeddings", verb: "embed" };

/// Messages to an answer.
pub(in crate::models) const CHAT: EndpointService =
    EndpointService { section: "chat", name: "the chat endpoint", path: "/chat/completions", verb: "chat" };

/// The same for the memory.
pub(in crate::models) const MEMORY: EndpointService =
    EndpointService { section: "memory", name: "the endpoint of the memory", path: "/chat/completions", verb: "chat" };

/// Messages to an answer, passed on.
pub(in crate::models) const UPSTREAM: EndpointService =
    EndpointService { section: "upstream", name: "the upstream", path: "/chat/completions", verb: "chat" };

impl EndpointService {
    /// An option of its section has a value that cannot be.
    pub(in crate::models) fn bad_option(&self, option: &'static str, reason: String) -> ModelError {
        ModelError::BadOption { section: self.section, option, reason }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_v1_and_full_address_are_the_same() {
        for (written, url) in [
            ("localhost:11434", "http://localhost:11434/v1/embeddings"),
            ("http://localhost:11434/", "http://localhost:11434/v1/embeddings"),
            ("127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1/embeddings"),
            ("[::1]:1234/v1/", "http://[::1]:1234/v1/embeddings"),
            ("api.openai.com", "https://api.openai.com/v1/embeddings"),
            ("https://api.openai.com/v1", "https://api.openai.com/v1/embeddings"),
            ("HTTPS://api.openai.com/v1/embeddings", "https://api.openai.com/v1/embeddings"),
            ("http://192.168.1.5:8080", "http://192.168.1.5:8080/v1/embeddings"),
            ("https://x.test/openai/embeddings?version=2", "https://x.test/openai/embeddings?version=2"),
        ] {
            assert_eq!(Address::parse(written, &EMBEDDING).unwrap().url, url, "{written}");
        }
        for bad in
            ["", "http://", "ftp://x", "a b", "http://me:secret@x", "x:99999", "http://x#y", "[nonsense]:1", ":80"]
        {
            assert!(Address::parse(bad, &EMBEDDING).is_err(), "{bad}");
        }
        for written in ["localhost:1", "localhost:1/v1", "http://localhost:1/v1/chat/completions"] {
            assert_eq!(Address::parse(written, &CHAT).unwrap().url, "http://localhost:1/v1/chat/completions");
        }
    }

    #[test]
    fn what_is_beside_the_embeddings_is_found_from_them() {
        for (written, files) in [
            ("localhost:1", "http://localhost:1/v1/files"),
            ("https://x.test/v1/embeddings", "https://x.test/v1/files"),
            ("https://x.test/openai/embeddings?version=2", "https://x.test/openai/files?version=2"),
        ] {
            assert_eq!(Address::parse(written, &EMBEDDING).unwrap().beside(EMBEDDING.path, "/files"), files);
        }
    }

    #[test]
    fn only_this_machine_is_loopback() {
        for (written, is_loopback) in [
            ("127.0.0.1:1", true),
            ("127.8.9.1", true),
            ("[::1]:1", true),
            ("https://127.0.0.1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("192.168.1.5:1", false),
            ("0.0.0.0:1", false),
            ("localhost.evil.test", false),
            ("127.0.0.1.evil.test", false),
        ] {
            assert_eq!(Address::parse(written, &EMBEDDING).unwrap().is_loopback(), is_loopback, "{written}");
        }
        assert!(Address::parse("http://x.test", &EMBEDDING).unwrap().is_open_to_all());
        assert!(!Address::parse("http://127.0.0.1", &EMBEDDING).unwrap().is_open_to_all());
    }
}
