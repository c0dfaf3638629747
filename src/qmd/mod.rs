//! Indexes that are asked as `qmd`: which one a command means, its collections, and the table of its documents.
//!
//! Each is a vault of its own without notes of its own, in a private folder of the user's state. Its collections are folders
//! elsewhere, which are only ever read.

mod collection;
mod database;
mod documents;
mod error;
mod former;
mod place;
mod rows;
mod seen;
mod settings;
mod sight;

pub(crate) use collection::{QmdCollection, QmdCollections};
pub(crate) use documents::QmdDocuments;
pub(crate) use error::QmdError;
pub(crate) use place::{DEFAULT_NAME, IndexPlace, IndexVariables, indexes_folder};
pub(crate) use rows::QmdDocument;
pub(crate) use settings::{AGENT, QMD_VERSION};
