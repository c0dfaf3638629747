//! What an agent is told of the vault, and what it would be answered.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::error::ServiceError;
use super::start::Service;
use super::views::{Model, SearchParams, SearchResponse};
use crate::access::Principal;

/// How an agent's part of the vault is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentStatus {
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
}

/// What an agent is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentFound {
    /// The answer.
    #[serde(flatten)]
    pub response: SearchResponse,
    /// The agent.
    pub agent: String,
}

impl Service {
    /// How an agent's part of the vault is: nothing that it may not read is counted.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub fn agent_status(&self, principal: &Principal) -> Result<AgentStatus, ServiceError> {
        let stats = self.stats(principal)?;
        Ok(AgentStatus {
            version: env!("CARGO_PKG_VERSION").into(),
            files: stats.files,
            chunks: stats.total,
            embedded_share: stats.embedded_share,
            collections: stats.collections,
            model: Model::of(self.shared.progress().model).state,
        })
    }

    /// Answers a search as an agent would be answered: for the person any, for an agent itself.
    ///
    /// # Errors
    /// When the agent may not read the person's memory. Whether there is such an agent is not told.
    pub fn agent_search(&self, principal: &Principal, params: &AgentSearchParams) -> Result<AgentFound, ServiceError> {
        let named = params.agent_name.as_deref().filter(|name| !name.is_empty());
        let caller = match (principal, named) {
            (Principal::Owner, None) => {
                return Err(ServiceError::forbidden("no agent is named; `agent_name` says which"));
            }
            (Principal::Owner, Some(name)) => self.agents().named(name),
            (Principal::Agent(caller), named) => {
                Some(caller.clone()).filter(|own| named.is_none_or(|name| name == own.slug))
            }
            (Principal::Capture(_), _) => None,
        };
        let may_read = |slug: &str| self.agents().policy(slug).is_some_and(|policy| policy.grant.is_some());
        let Some(caller) = caller.filter(|caller| may_read(&caller.slug)) else {
            return Err(ServiceError::forbidden("this agent may not read the user's memory"));
        };
        let agent = caller.slug.clone();
        let search = SearchParams {
            q: params.q.clone(),
            limit: params.limit,
            collection: params.collection.clone().filter(|name| !name.is_empty()),
            ..SearchParams::default()
        };
        let response = self.search(&Principal::Agent(caller), &search)?;
        Ok(AgentFound { response, agent })
    }
}
