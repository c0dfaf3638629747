//! What an agent is told of the vault, and what it would be answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::search::{SearchQuery, SearchResponse};

/// How an agent's part of the vault is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AgentStatus {
    /// The program's version.
    pub version: String,
    /// Notes that the agent may read.
    pub files: usize,
    /// Their passages.
    pub chunks: usize,
    /// The share of the passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// Passages of each collection.
    pub collections: BTreeMap<String, usize>,
    /// The embedding model: `off`, `loading`, `ready` or `failed`.
    pub model: String,
}

/// A search as an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AgentSearchParams {
    /// Words, `"phrases"` and `-exclusions`, or a question.
    pub q: String,
    /// The agent, by the name of its folder. An agent names itself, or nobody.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_name: Option<String>,
    /// Hits at most, 1 to 1,000; `[search] limit` when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Only this collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// How long the models are waited for, 1 to 60,000 ms, and no longer than `[search] timeout_ms` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 60_000)]
    pub timeout_ms: Option<u64>,
    /// Whether what was saved just before is waited for, a second at most. Over the Unix socket it is, unless this is
    /// `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fresh: Option<bool>,
}

impl From<AgentSearchParams> for SearchQuery {
    fn from(asked: AgentSearchParams) -> Self {
        let collection = asked.collection.filter(|name| !name.is_empty());
        let AgentSearchParams { q, limit, timeout_ms, fresh, .. } = asked;
        Self { q, limit, collection, timeout_ms, fresh, ..Self::default() }
    }
}

/// What an agent is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AgentFound {
    /// The answer.
    #[serde(flatten)]
    pub response: SearchResponse,
    /// The agent.
    pub agent: String,
}
