//! Whose memory it is, and what may be done with it.

use super::super::error::{ErrorKind, ServiceError};
use super::super::start::Service;
use super::target::is_memory;
use crate::access::{Principal, Scope};
use crate::path::VaultPath;

/// What an agent may write of its own memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteMode {
    Hybrid,
    PromptOnly,
    SearchOnly,
    Off,
}

impl WriteMode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::PromptOnly => "prompt-only",
            Self::SearchOnly => "search-only",
            Self::Off => "off",
        }
    }
}

/// An agent's own memory.
#[derive(Debug)]
pub(super) struct Own {
    pub slug: String,
    pub mode: WriteMode,
    /// What it may read of it, and of that of agents that share theirs.
    pub scope: Scope,
    pub others: Vec<String>,
}

impl Own {
    /// Whether a file is of the memory that is read.
    pub fn reads(&self, path: &VaultPath) -> bool {
        let mut slugs = std::iter::once(&self.slug).chain(&self.others);
        slugs.any(|slug| is_memory(slug, path))
    }
}

impl Service {
    /// The memory of the one who asks.
    pub(super) fn own(&self, principal: &Principal) -> Result<Own, ServiceError> {
        match principal {
            Principal::Owner => {
                let message = "this is for agents, each of which has a memory of its own";
                let hint = "ask with an agent's token; your own notes are at /api/user-memory";
                Err(forbidden(message, hint))
            }
            Principal::Capture(_) => Err(ServiceError::not_found("there is nothing at this address")),
        }
    }
}

/// The one who asks may not.
pub(super) fn forbidden(message: impl Into<String>, hint: &str) -> ServiceError {
    ServiceError { kind: ErrorKind::Conflict, message: message.into(), hint: Some(hint.into()) }
}
