//! Principals: who asks.

use std::sync::Arc;

use super::policy::Policy;
use super::turn::Turn;

/// Who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Principal {
    /// The person: the command line, and whoever holds the owner's token.
    Owner,
    /// A program that says what happens, by the name its token was made with. It reads nothing.
    Capture(String),
    /// An agent. It reads what the person gave it, and keeps a memory of its own.
    Agent(Caller),
}

/// An agent that asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its folder's name in `agents/`.
    pub slug: String,
    /// The session that its token is bound to.
    pub session: Session,
    /// The session that the request itself names. It counts for agents whose `agent.md` says so.
    pub claimed: Session,
    /// Whether the request may still change something.
    pub turn: Turn,
    /// What its page said when the request came. One request is held to one policy, whatever becomes of the page meanwhile.
    pub policy: PolicyThen,
}

/// A policy as it was looked up for a request; none where nobody has looked yet. It says nothing of who asks.
#[derive(Debug, Clone, Default)]
pub struct PolicyThen(pub Option<Arc<Policy>>);

impl PartialEq for PolicyThen {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for PolicyThen {}

impl Caller {
    /// An agent in a session, with a request that names none.
    pub fn new(slug: impl Into<String>, session: Session) -> Self {
        let (claimed, turn, policy) = (Session::default(), Turn::default(), PolicyThen::default());
        Self { slug: slug.into(), session, claimed, turn, policy }
    }

    /// The same, held to a policy.
    #[must_use]
    pub fn with_policy(self, policy: Arc<Policy>) -> Self {
        Self { policy: PolicyThen(Some(policy)), ..self }
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
