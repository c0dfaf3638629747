//! Consent to remote assistants: what one asks for, and what the owner decides.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use super::AgentParams;

/// The request of an assistant, as its client sends it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsentQuery {
    /// The query of the address that the browser was sent to.
    pub query: String,
}

/// What an assistant asks for.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentRequest {
    /// What it calls itself.
    pub name: String,
    /// The host that publishes its metadata document; absent for one that has registered itself.
    pub published_by: Option<String>,
    /// Where the answer goes.
    pub redirect: String,
    /// The host of that, or the scheme of a program.
    pub redirect_host: String,
    /// An agent that is called so already.
    pub agent: Option<String>,
    /// What is wrong with the request: then it can only be refused.
    pub problem: Option<String>,
    /// Where the refusal goes.
    pub back: Option<String>,
}

/// What the owner decides; with neither agent it is denied.
#[skip_serializing_none]
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConsentDecision {
    /// The request.
    pub query: String,
    /// The agent that is made for it.
    pub agent: Option<AgentParams>,
    /// The agent that it is let in as, whose page stays as it is.
    pub existing: Option<String>,
}

/// Where the answer goes.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConsentGoes {
    /// The address that the browser goes to.
    pub address: String,
    /// The agent that it was let in as.
    pub agent: Option<String>,
}
