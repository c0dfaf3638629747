//! The HTTP API: decodes a request, calls the service on a blocking thread, encodes the answer.

mod auth;
mod capture;
mod error;
mod openapi;
mod routes;
mod serve;

pub use auth::Guard;
pub use openapi::document as openapi;
pub use routes::{guarded, local};
pub use serve::{Limits, serve};
