//! Who asks, and what they may read.
//!
//! Read paths accept a [`Scope`] and nothing else, so that no answer can be made from notes outside it.

mod authenticator;
mod globs;
mod grant;
mod policy;
mod principal;
mod scope;
mod session;
mod token;
mod turn;

pub use authenticator::{Authenticator, OwnerToken};
pub use globs::{GlobError, Globs};
pub use grant::{AGENTS, Grant, GrantedCollections, Refusal, Subject, is_agents};
pub use policy::{Policy, PolicyLimits, WriteMode, WrittenRules};
pub use principal::{Caller, Principal, Session};
pub use scope::{Scope, own_file};
pub use session::may_read;
pub use token::{Token, TokenHash};
pub use turn::Turn;
