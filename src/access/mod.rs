//! Who asks, and what they may see: principals, agents' pages and tokens, the request.

pub mod agents;
pub(crate) mod openid;
pub mod page_sessions;
pub(crate) mod people;
pub mod policy;
pub(crate) mod remote;
pub mod request;
pub mod rules;
pub(crate) mod share;
