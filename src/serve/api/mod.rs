//! The HTTP API: decodes a request, calls a use case on a blocking thread, encodes the answer.

mod ask;
mod auth;
mod caller;
mod endpoint;
pub(crate) mod endpoints;
mod events;
mod openapi;
mod page;
mod passing;
mod qmd;
mod router;
mod serve;
mod without_token;

pub use auth::Guard;
pub(crate) use caller::AS_AGENT;
pub(crate) use endpoint::{Endpoint, EndpointCall, Sent};
pub use openapi::document as openapi;
pub use router::{Live, alone, guarded, local};
pub(crate) use serve::{ConnectionLimits, serve};
pub(crate) use without_token::{OpenService, without_token};
