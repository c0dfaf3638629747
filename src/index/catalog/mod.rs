//! The catalog: an SQLite database that is the authority on what is indexed.
//!
//! Write-ahead logging without a sync at every commit: a killed process loses nothing, a power loss at most the last
//! changes, which the next start finds on disk again.

mod packed;
mod reader;
mod schema;
mod writer;

pub(crate) use packed::rounded;
pub use reader::{CatalogReader, ChunkText};
pub use schema::CatalogError;
pub use writer::{Catalog, ChunkRow, FileRow, NewFile};
