//! The agents that a person lets in: who they are, what they may do, and what they read.
//!
//! Who an agent is and what it may do stands in `agents/<slug>/agent.md`, for the person to read and edit. Its token's hash,
//! the session the token is bound to and the log of what it read are the vault's state: a checkout brings no removed agent
//! back.

mod log;
mod page;
mod policies;
mod rate_limiter;
mod registry;

pub use log::{LogEntry, ReadLog};
pub use page::{agent_page, revised_page};
pub use policies::{Policies, agent_file, is_slug};
pub use rate_limiter::{RateLimiter, RequestPermit, RequestPermits};
pub use registry::{AgentRegistry, AgentToken, AgentsError};
