//! The work of the machine: indexing and checking, how far it is, and embedding for others.

mod embedding;
mod index;
mod progress;

pub use embedding::embed;
pub use index::{reindex, verification, verify};
pub use progress::{Following, follow, phase, to_embed};
