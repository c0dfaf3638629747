//! Who asks, and what they may read.
//!
//! Read paths accept a [`Scope`] and nothing else, so that no answer can be made from notes outside it.

mod principal;
mod token;

pub use principal::{Principal, Scope};
pub use token::{Token, TokenHash};
