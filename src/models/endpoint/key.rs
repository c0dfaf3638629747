//! The key of an endpoint, which nobody gets to see.

use std::fmt;

use super::super::ModelError;
use super::service::EndpointService;

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
