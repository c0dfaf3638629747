//! Who asks, and what they may read.
//!
//! Read paths accept a [`Scope`] and nothing else, so that no answer can be made from notes outside it.

mod authenticator;
mod globs;
mod grant;
mod librarian;
mod modes;
mod policy;
mod principal;
mod rules_reader;
mod scope;
mod session;
mod session_mark;
mod token;
mod turn;

pub(crate) use authenticator::Authenticator;
pub use authenticator::OwnerToken;
pub(crate) use globs::{GlobError, Globs};
#[cfg(test)]
pub(crate) use grant::GrantedCollections;
pub(crate) use grant::{AGENTS, Grant, Refusal, Subject, is_agents};
pub(crate) use librarian::{LIBRARIAN_OFF, LIBRARIAN_TASKS, LibrarianRules};
pub(crate) use modes::{PromptMemoryMode, WriteMode};
pub use policy::Policy;
pub use principal::{Caller, Principal, Session};
pub use scope::Scope;
pub(crate) use scope::{is_agents_elsewhere, own_file};
pub(crate) use session::may_read;
pub(crate) use session_mark::{SESSION_AGENT, SESSION_SCOPE, session_marks};
pub use token::Token;
pub(crate) use token::TokenHash;
pub use turn::Turn;
