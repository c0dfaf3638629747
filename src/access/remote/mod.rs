//! Remote assistants: who they are, what they ask for, and what the person lets them do. The vault is the OAuth 2.1 authorization server
//! of its own `/mcp`, as MCP's specification of 2026-07-28 asks.

mod client;
mod consent;
mod document;
mod grants;
mod params;

pub(crate) use consent::{decide, look};
pub(crate) use grants::{REGISTER, Remote, RemoteAddress, challenge_of};
pub(crate) use params::OAuthError;
