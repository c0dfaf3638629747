//! Principals: who asks.

use std::sync::Arc;

use super::policy::Policy;

/// Who asks.
#[derive(Debug, Clone)]
pub enum Principal {
    /// The person: the command line, and whoever holds the owner's token.
    Owner,
    /// A program that says what happens, by the name its token was made with. It reads nothing.
    Capture(String),
    /// An agent. It reads what the person gave it, and keeps a memory of its own.
    Agent(Caller),
}

/// An agent that asks.
#[derive(Debug, Clone)]
pub struct Caller {
    /// Its folder's name in `agents/`.
    pub slug: String,
    /// The session that its token is bound to.
    pub session: Session,
    /// The session that the request itself names. It counts for agents whose `agent.md` says so.
    pub claimed: Session,
    /// What its page said when the request came. One request is held to one policy, whatever becomes of the page meanwhile.
    pub policy: Arc<Policy>,
}

impl Caller {
    /// An agent in a session, with a request that names none, held to a policy.
    pub fn new(slug: impl Into<String>, session: Session, policy: Arc<Policy>) -> Self {
        Self { slug: slug.into(), session, claimed: Session::default(), policy }
    }
}

/// Where an agent talks, as OpenClaw tells sessions apart.
#[derive(Debug, Clone, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Session {
    /// With whom: `direct`, `group`, `channel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub chat_type: Option<String>,
    /// Through which service: `telegram`, `slack`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

impl Session {
    /// A conversation with one person.
    pub fn direct() -> Self {
        Self { chat_type: Some("direct".into()), channel: None }
    }
}
