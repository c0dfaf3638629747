//! The HTTP API: decodes a request, calls a use case on a blocking thread, encodes the answer.

mod ask;
mod auth;
mod endpoint;
pub(crate) mod endpoints;
mod events;
mod file;
mod oauth;
mod openid;
mod page;
mod page_files;
mod passing;
mod people;
mod qmd;
#[cfg(feature = "postgres")]
mod query;
#[cfg(feature = "postgres")]
mod query_page;
mod router;
mod serve;
mod several;
mod share;
mod tls;

pub(crate) use ask::on_request;
#[cfg(feature = "postgres")]
pub(crate) use ask::{ApiError, blocking};
pub use auth::Guard;
pub(crate) use auth::{AS_AGENT, Asking};
pub(crate) use endpoint::{Endpoint, EndpointCall, Input};
pub(crate) use oauth::{OAuth, OAuthOfServer};
pub(crate) use page_files::make_ready as make_page_ready;
pub(crate) use people::{HOME, PeopleDoor};
#[cfg(feature = "postgres")]
pub(crate) use query::{QueryServer, VaultsQuery, token_of};
pub(crate) use router::without_token;
pub use router::{Live, alone, document as openapi, guarded, local};
pub(crate) use serve::{ConnectionLimits, is_late, serve};
pub(crate) use several::{
    asks_first, call, challenge, for_all_vaults, is_vault_name, knows, name_vault, no_vault, nobody, refused, several,
    unavailable,
};
pub(crate) use tls::Door;
