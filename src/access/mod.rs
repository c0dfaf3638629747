//! Who asks, and what they may read.
//!
//! Read paths accept a [`Scope`] and nothing else, so that no answer can be made from notes outside it.

mod authenticator;
mod globs;
mod grant;
mod policy;
mod principal;
mod rules_reader;
mod scope;
mod token;

pub(crate) use authenticator::Authenticator;
pub use authenticator::OwnerToken;
pub(crate) use globs::{GlobError, Globs};
#[cfg(test)]
pub(crate) use grant::GrantedCollections;
pub(crate) use grant::{AGENTS, Grant, Refusal, Subject, is_agents};
pub use policy::Policy;
pub(crate) use policy::{LIBRARIAN_OFF, LIBRARIAN_TASKS, PromptMemoryMode, WriteMode};
pub use principal::{Caller, Principal, Session, Turn};
pub(crate) use principal::{SESSION_AGENT, SESSION_SCOPE, may_read, session_marks};
pub use scope::Scope;
pub(crate) use scope::{is_agents_elsewhere, own_file};
pub use token::Token;
pub(crate) use token::TokenHash;
