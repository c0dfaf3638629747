//! The Model Context Protocol: the vault as tools, resources and prompts, over streamable HTTP.
//!
//! A transport: decodes a request, calls a use case on a blocking thread for whom the listener found, and
//! encodes the answer. Nothing is kept between two requests.

#[cfg(feature = "postgres")]
mod copies;
mod get;
mod memory;
mod resources;
mod search;
mod server;
mod tool;

#[cfg(feature = "postgres")]
pub(crate) use copies::router as router_of_copies;
pub(crate) use rmcp::model::ErrorCode;
pub(crate) use server::{MAX_MESSAGE_BYTES, SESSION, read_message, refusal, router};
pub(crate) use tool::{changes_nothing, count, full_schema_of};
