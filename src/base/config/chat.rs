//! `[chat]`, and what of a search is left to it.

use std::fmt;

use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::sections::is_variable_name;

/// `[chat]`: a chat model that helps searches.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ChatConfig {
    /// An OpenAI-compatible service; empty means none.
    pub endpoint: String,
    /// The model's name there.
    pub model: String,
    /// The environment variable that has its key.
    pub api_key_env: String,
    /// Whether private notes are sent to a service on another machine.
    pub send_private: bool,
    /// A search waits for it no longer.
    pub search_timeout_ms: u64,
}

impl Default for ChatConfig {
    fn default() -> Self {
        Self {
            endpoint: String::new(),
            model: String::new(),
            api_key_env: String::new(),
            send_private: false,
            search_timeout_ms: 4_000,
        }
    }
}

impl ChatConfig {
    /// What of it does not go together, as a sentence that names the key.
    pub(super) fn violation(&self) -> Option<String> {
        if !self.endpoint.is_empty() && self.model.is_empty() {
            return Some("`chat.endpoint` needs `chat.model`, the model's name at that service".into());
        }
        // It may be the key itself, so it is not said.
        (!is_variable_name(&self.api_key_env)).then(|| {
            "`chat.api_key_env` is not the name of an environment variable; put the key into such a variable, and its name here".into()
        })
    }
}

/// Who puts the best of a search in order anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rerank {
    /// Nobody.
    Off,
    /// The model of `[chat]`.
    Chat,
    /// The cross-encoder of `search.rerank_model`.
    Model,
}

/// `false` and `true` are words for it, too, as one sets it for one search.
impl<'de> Deserialize<'de> for Rerank {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RerankVisitor;

        impl Visitor<'_> for RerankVisitor {
            type Value = Rerank;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("\"off\", \"chat\" or \"model\"")
            }

            fn visit_bool<E: Error>(self, value: bool) -> Result<Rerank, E> {
                Ok(if value { Rerank::Chat } else { Rerank::Off })
            }

            fn visit_str<E: Error>(self, value: &str) -> Result<Rerank, E> {
                match value {
                    "off" => Ok(Rerank::Off),
                    "chat" => Ok(Rerank::Chat),
                    "model" => Ok(Rerank::Model),
                    other => Err(E::invalid_value(Unexpected::Str(other), &self)),
                }
            }
        }

        deserializer.deserialize_any(RerankVisitor)
    }
}
