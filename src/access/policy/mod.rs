//! The agents that a person lets in: who they are, what they may do, and what they read.
//!
//! Who an agent is and what it may do stands in `agents/<slug>/agent.md`, for the person to read and edit. Its token's hash,
//! the session the token is bound to and the log of what it read are the vault's state: a checkout brings no removed agent
//! back.

mod policies;
mod registry;

pub(crate) use policies::{agent_file, agent_page, revised_page};
pub use registry::AgentRegistry;
pub(crate) use registry::{RequestPermit, session};
