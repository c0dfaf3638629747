//! Indexes that are asked as `qmd`: which one a command means, its collections, and the table of its documents.
//!
//! Each is a vault of its own without notes of its own, in a private folder of the user's state. Its collections are folders
//! elsewhere, which are only ever read.

mod collections;
mod documents;
mod place;

pub(crate) use collections::{AGENT, QMD_VERSION, QmdCollection, QmdCollections};
pub(crate) use documents::{QmdDocument, QmdDocuments};
pub(crate) use place::{DEFAULT_NAME, IndexPaths, IndexVariables, QmdError, indexes_folder};
