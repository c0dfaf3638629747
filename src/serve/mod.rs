//! How it is reached: HTTP, MCP, `qmd`, the page, and the daemon that serves them.

#[cfg_attr(not(test), deny(clippy::disallowed_methods))]
pub mod api;
pub mod app;
#[cfg_attr(not(test), deny(clippy::disallowed_methods))]
pub(crate) mod daemon;
pub mod jobs;
#[cfg_attr(not(test), deny(clippy::disallowed_methods))]
pub(crate) mod mcp;
mod push;
pub(crate) mod qmd;
#[cfg_attr(not(test), deny(clippy::disallowed_methods))]
pub(crate) mod server;
pub mod wire;
