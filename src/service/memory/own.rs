//! Whose memory it is, and what may be done with it. All that depends on who asks.

use std::time::Duration;

use super::super::error::ServiceError;
use super::super::reach::Reach;
use super::super::start::Service;
use crate::access::{Principal, Scope, Turn, WriteMode};
use crate::agents::LogEntry;

/// An agent's own memory.
#[derive(Debug)]
pub(super) struct Own<'a> {
    /// The agent's folder.
    pub slug: &'a str,
    /// What it may write.
    pub mode: WriteMode,
    /// What it may read: its own memory, and that of agents which share theirs with it.
    pub scope: Scope,
    /// Whether it may still change something.
    pub turn: &'a Turn,
    principal: &'a Principal,
}

impl Own<'_> {
    /// Who asks.
    pub(super) fn principal(&self) -> &Principal {
        self.principal
    }
}

impl Service {
    /// The memory of the one who asks. The person has none of this kind.
    pub(super) fn own<'a>(&self, principal: &'a Principal) -> Result<Own<'a>, ServiceError> {
        match principal {
            Principal::Agent(caller) => Ok(Own {
                slug: &caller.slug,
                mode: self.policy_of(caller).map_or(WriteMode::Off, |policy| policy.write_mode),
                scope: self.own_scope_of(principal),
                turn: &caller.turn,
                principal,
            }),
            Principal::Owner => {
                let hint = "ask with an agent's token; over the Unix socket, `X-Vault-Agent: NAME` steps down to one";
                let message = "this is for agents, each of which has a memory of its own";
                Err(ServiceError { hint: Some(hint.into()), ..ServiceError::forbidden(message) })
            }
            Principal::Capture(_) => Err(ServiceError::forbidden("this token may only send events")),
        }
    }

    /// What of the agents' memory it sees now.
    pub(super) fn reach_own(&self, own: &Own<'_>) -> Result<Reach, ServiceError> {
        self.reach_of(own.principal, &own.scope)
    }

    /// How long a change waits for the index, so that its answer comes before the agent's time is over.
    pub(super) fn patience_of(&self, own: &Own<'_>) -> Duration {
        let patience = self.limits_of(own.principal).map_or(Duration::ZERO, |limits| limits.timeout / 2);
        own.turn.left().map_or(patience, |left| patience.min(left))
    }

    /// Logs what it asked, and which places it was given, for the person to see.
    pub(super) fn log_own(&self, own: &Own<'_>, what: &str, query: &str, given: Vec<String>) {
        self.agents.log().add(own.slug, &LogEntry::now(what, query, given));
    }
}

/// It may not, and what to do about it.
pub(super) fn forbidden(message: impl Into<String>, hint: &str) -> ServiceError {
    ServiceError { hint: Some(hint.into()), ..ServiceError::forbidden(message) }
}
