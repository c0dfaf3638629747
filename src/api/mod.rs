//! The HTTP API: decodes a request, calls a use case on a blocking thread, encodes the answer.

mod agents;
mod ask;
mod auth;
mod body;
mod caller;
mod capture;
mod context;
mod entries;
mod error;
mod events;
mod facts;
mod forgotten;
mod graph;
mod import;
mod links;
mod memory;
mod open;
mod openapi;
mod page;
mod passing;
mod processing;
mod profile;
mod qmd;
mod router;
mod routes;
mod serve;
mod sessions;
mod summaries;
mod traces;
mod visitor;
mod writes;

pub use auth::Guard;
pub(crate) use caller::AS_AGENT;
pub use openapi::document as openapi;
pub use router::{Live, guarded, local};
pub(crate) use serve::{ConnectionLimits, serve};
