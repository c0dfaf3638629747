//! The Model Context Protocol: the vault as tools, resources and prompts, over streamable HTTP.
//!
//! A transport: decodes a request, calls a use case on a blocking thread for whom the listener found, and
//! encodes the answer. Nothing is kept between two requests.

mod answers;
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

pub(crate) use answers::SESSION;
pub(crate) use router::{MAX_MESSAGE_BYTES, router};
pub(crate) use tools::changes_nothing;
