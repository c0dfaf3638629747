//! The catalog: an SQLite database that is the authority on what is indexed.
//!
//! Write-ahead logging without a sync at every commit: a killed process loses nothing, a power loss at most the last
//! changes, which the next start finds on disk again. Every row carries a checksum, and none is shown or believed without.

mod reader;
mod schema;
mod vectors;
mod writer;

pub use reader::CatalogReader;
pub(super) use reader::check;
pub(super) use schema::damaged;
pub use writer::Catalog;
