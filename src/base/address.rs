//! Addresses of the web, taken apart: scheme, host, port and the rest. What two programs could read in two ways is no address.

use std::net::IpAddr;

/// An `http` or `https` address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct WebAddress {
    /// Whether it is `https`.
    pub(crate) is_secure: bool,
    /// The host in small letters, an IPv6 address in its brackets.
    pub(crate) host: String,
    /// The port, where it is said.
    pub(crate) port: Option<u16>,
    /// Path and query, as they are written.
    pub(crate) rest: String,
}

impl WebAddress {
    /// Reads one; `None` for whatever else it may be, or with a user, a fragment, or a character that addresses do not have.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (scheme, after) = text.split_once("://")?;
        let is_secure = match scheme.to_ascii_lowercase().as_str() {
            "https" => true,
            "http" => false,
            _ => return None,
        };
        if !after.bytes().all(is_of_address) {
            return None;
        }
        let (authority, rest) = after.split_at(after.find(['/', '?']).unwrap_or(after.len()));
        let end = match authority.strip_prefix('[') {
            Some(address) => address.find(']')? + 2,
            None => authority.find(':').unwrap_or(authority.len()),
        };
        let (host, port) = authority.split_at(end);
        let port = match port.strip_prefix(':') {
            Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => Some(digits.parse().ok()?),
            None if port.is_empty() => None,
            _ => return None,
        };
        let is_name = |host: &str| {
            let part = |part: &str| {
                !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            };
            host.split('.').all(part)
        };
        let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
        let is_host = bare.map_or_else(|| is_name(host), |bare| bare.parse::<std::net::Ipv6Addr>().is_ok());
        is_host.then(|| Self { is_secure, host: host.to_ascii_lowercase(), port, rest: rest.to_owned() })
    }

    /// Whether its host is this machine by what it is called.
    pub(crate) fn is_loopback(&self) -> bool {
        ["localhost", "127.0.0.1", "[::1]"].contains(&self.host.as_str())
    }

    /// Its host as an IP address, if it is one.
    pub(crate) fn ip(&self) -> Option<IpAddr> {
        self.host.trim_start_matches('[').trim_end_matches(']').parse().ok()
    }

    /// Scheme, host and port.
    pub(crate) fn origin(&self) -> String {
        let scheme = if self.is_secure { "https" } else { "http" };
        let port = self.port.map(|port| format!(":{port}")).unwrap_or_default();
        format!("{scheme}://{}{port}", self.host)
    }
}

/// Whether a byte may be in an address. No browser may make another address of it: it takes `\` for `/`, and leaves out tabs.
pub(crate) fn is_of_address(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"#<>\\^`{|}@".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_one_way() {
        let read = |text: &str| WebAddress::parse(text);
        let found = read("HTTPS://Claude.ai:8443/api?x=1").unwrap();
        assert_eq!((found.origin().as_str(), found.rest.as_str()), ("https://claude.ai:8443", "/api?x=1"));
        assert!(read("http://[::1]:80/").unwrap().is_loopback() && read("http://localhost").unwrap().is_loopback());
        assert_eq!(read("https://10.0.0.1/x").unwrap().ip(), Some([10, 0, 0, 1].into()));
        for bad in [
            "", "https://", "https:///x", "https://a b", "https://a@b/", "https://a:b@c", "https://a/#x",
            "https://a\\b", "https://a/\t", "https://a:99999", "https://a:", "https://[::1", "https://[x]/",
            "https://a..b", "ftp://a/", "javascript://a/", "https:a", "//a", "https://ä/", "https://a:+1/",
            "https://a/\u{202e}",
        ] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }
}
