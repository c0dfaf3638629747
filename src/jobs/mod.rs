//! The work of the machine: indexing and checking, how far it is, and embedding for others.

mod embedding;
mod index;
mod model;
mod progress;

pub(crate) use embedding::embed;
pub(crate) use index::verification;
pub use index::{reindex, verify};
pub use model::{drop_kept_vectors, reload_model};
pub use progress::follow;
pub(crate) use progress::{Following, phase, to_embed};
