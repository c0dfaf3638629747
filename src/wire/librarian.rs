//! The librarian of an agent, which reads what that tells of its work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// How the librarian of an agent is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarianView {
    /// The agent, by its folder.
    pub agent_name: String,
    /// Whether the person has switched it on, which the agent's page says: `librarian: true`.
    pub enabled: bool,
    /// The model that it asks: that of `[memory]`.
    #[serde(default)]
    pub model: Option<String>,
    /// `off`, `idle`, `waiting`, `working`, `withheld` where the model is on another machine and gets no traces, or `stopped`.
    pub state: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it read something last, as RFC 3339.
    #[serde(default)]
    pub last_run: Option<String>,
    /// How many events it has read.
    pub covered: u64,
    /// Parts of the traces that wait.
    pub queued: usize,
    /// Those that were put aside.
    pub dead: usize,
    /// What it looks for: `fact_extraction` and `preference_extraction`.
    #[serde(default)]
    pub tasks: BTreeMap<String, bool>,
}

/// A change of it; what is absent stays. Other keys, as taOS sends them, are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarianParams {
    /// Whether it reads what the agent tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub enabled: Option<bool>,
    /// Its model, which is that of `[memory]` in memory.toml and no other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What it looks for: `fact_extraction`, `preference_extraction`. Those that are not named stay; others are ignored.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<BTreeMap<String, bool>>,
    /// Whether it is to read what waits now, and to try what was put aside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<bool>,
}
