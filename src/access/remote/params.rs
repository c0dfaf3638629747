//! Parameters of OAuth: each may be said once, and what is empty is not said.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// Maximum length of a value, in bytes.
const MAX_VALUE_BYTES: usize = 4096;

/// Why a client does not get what it asks for, in the words of RFC 6749, 7591 and 8707.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OAuthError {
    /// The code of the error.
    pub(crate) error: &'static str,
    /// What is wrong, for the developer of the client.
    pub(crate) about: String,
}

impl OAuthError {
    pub(super) fn new(error: &'static str, about: impl Into<String>) -> Self {
        Self { error, about: about.into() }
    }

    /// That a parameter is missing or makes no sense.
    pub(super) fn request(about: impl Into<String>) -> Self {
        Self::new("invalid_request", about)
    }

    /// As it is answered.
    pub(crate) fn json(&self) -> Value {
        json!({ "error": self.error, "error_description": self.about })
    }
}

/// What a query or a form says.
pub(super) struct Params(BTreeMap<String, String>);

impl Params {
    /// Reads them.
    ///
    /// # Errors
    /// When one is there twice, or is too long.
    pub(super) fn read(text: &str) -> Result<Self, OAuthError> {
        let pairs: Vec<(String, String)> =
            serde_urlencoded::from_str(text).map_err(|_| OAuthError::request("the parameters cannot be read"))?;
        let mut read = BTreeMap::new();
        for (name, value) in pairs {
            if value.len() > MAX_VALUE_BYTES {
                return Err(OAuthError::request("a parameter is too long"));
            }
            if read.insert(name, value).is_some() {
                return Err(OAuthError::request("a parameter is there twice"));
            }
        }
        read.retain(|_, value| !value.is_empty());
        Ok(Self(read))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// One that has to be there.
    pub(super) fn need(&self, name: &str) -> Result<&str, OAuthError> {
        self.get(name).ok_or_else(|| OAuthError::request(format!("`{name}` is missing")))
    }
}

/// An address with more parameters behind those that it has.
pub(super) fn with_params(address: &str, more: &[(&str, &str)]) -> String {
    let join = if address.contains('?') { '&' } else { '?' };
    let more = serde_urlencoded::to_string(more).unwrap_or_default();
    format!("{address}{join}{more}")
}
