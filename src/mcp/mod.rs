//! The Model Context Protocol: the vault as tools, resources and prompts, over streamable HTTP.
//!
//! A transport: decodes a request, calls a use case on a blocking thread for whom the listener found, and
//! encodes the answer. Nothing is kept between two requests.

mod complete;
mod context;
mod entries;
mod facts;
mod fetch;
mod get;
mod graph;
mod memory;
mod multi_get;
mod note_text;
mod prompts;
mod refs;
mod related;
mod resources;
mod router;
mod schema;
mod search;
mod server;
mod status;
mod tool;
mod tools;

pub(crate) use router::{MAX_MESSAGE_BYTES, SESSION, router};
pub(crate) use tools::changes_nothing;
