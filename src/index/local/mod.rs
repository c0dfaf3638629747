//! The engine in this process: one folder of stores, kept as one: `catalog` (SQLite), `keyword` (tantivy) and `vectors` (exact
//! scan and hnsw_rs).
//!
//! A `LocalEngine` opens them. A [`Store`] is the one writer. What it publishes is a `Snapshot` that pins one state of all three, so that a search
//! never sees a file half old, half new. The catalog is the authority; the others follow it and are caught up or rebuilt
//! when they do not match.

pub mod catalog;
mod embeddings;
pub mod keyword;
mod recovery;
mod snapshot;
mod store;
pub mod vectors;

pub(crate) use store::LocalEngine;
pub use store::{Settings, Store};
