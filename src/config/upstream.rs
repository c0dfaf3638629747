//! `[upstream]`: the service of chat models to which agents' requests are passed on.

use serde::{Deserialize, Serialize};

use super::variable::is_variable_name;

/// `[upstream]`: where `/v1/chat/completions` leads.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct UpstreamConfig {
    /// An OpenAI-compatible service; empty means that nothing is passed on.
    pub endpoint: String,
    /// The environment variable that has its key.
    pub api_key_env: String,
    /// An answer that takes longer, to its end, is cut.
    pub timeout_ms: u64,
    /// Requests that are longer are refused.
    pub max_body_bytes: u64,
}

impl Default for UpstreamConfig {
    fn default() -> Self {
        Self { endpoint: String::new(), api_key_env: String::new(), timeout_ms: 600_000, max_body_bytes: 33_554_432 }
    }
}

impl UpstreamConfig {
    /// Its whole numbers with their ranges.
    pub(super) fn ranges(&self) -> [(&'static str, u64, u64, u64); 2] {
        [
            ("upstream.timeout_ms", self.timeout_ms, 1_000, 3_600_000),
            ("upstream.max_body_bytes", self.max_body_bytes, 1_024, 268_435_456),
        ]
    }

    /// What of it does not go together, as a sentence that names the key.
    pub(super) fn violation(&self) -> Option<String> {
        // It may be the key itself, so it is not said.
        (!is_variable_name(&self.api_key_env)).then(|| {
            "`upstream.api_key_env` is no name of an environment variable; put the key into the environment, and the variable's name here"
                .into()
        })
    }
}
