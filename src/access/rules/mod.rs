//! Who asks, and what they may read.
//!
//! Read paths accept a [`Scope`] and nothing else, so that no answer can be made from notes outside it.

mod agent_page;
mod globs;
mod principal;

pub use agent_page::Policy;
pub(crate) use agent_page::{LIBRARIAN_OFF, LIBRARIAN_TASKS, MemoryMode, PromptMemoryMode};
pub(crate) use globs::{GlobError, Globs, literal};
pub(crate) use principal::{
    AGENTS, Authenticator, Grant, PRIVATE_TO, Refusal, SESSION_AGENT, SESSION_SCOPE, Subject, is_agents,
    is_agents_elsewhere, may_read, own_file, private_mark, session_marks,
};
pub use principal::{Caller, Member, OwnerToken, Principal, Scope, Session, Token, Turn};
