//! Who asks, and what they may read.
//!
//! Read paths accept a [`Scope`] and nothing else, so that no answer can be made from notes outside it.

mod agent_page;
mod globs;
mod grant;
mod principal;

pub use agent_page::Policy;
pub(crate) use agent_page::{LIBRARIAN_OFF, LIBRARIAN_TASKS, MemoryMode, PromptMemoryMode};
pub(crate) use globs::{GlobError, Globs};
pub use grant::Scope;
pub(crate) use grant::{AGENTS, Grant, Refusal, Subject, is_agents, is_agents_elsewhere, own_file};
pub(crate) use principal::{Authenticator, SESSION_AGENT, SESSION_SCOPE, may_read, session_marks};
pub use principal::{Caller, OwnerToken, Principal, Session, Token, Turn};
