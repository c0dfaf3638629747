//! Who asks, and what they may read.
//!
//! Read paths accept a [`Scope`] and nothing else, so that no answer can be made from notes outside it.

mod keys;
mod principal;
mod token;

pub use keys::{Keys, OwnerKey};
pub use principal::{Principal, Scope};
pub use token::{Token, TokenHash};
