//! The tags of notes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The tags of the notes that are seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TagsView {
    /// In alphabetical order, also those that notes have only one below of.
    pub tags: Vec<TagCount>,
}

/// A tag.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TagCount {
    /// Its name, as most notes write it: `work/plan`.
    pub tag: String,
    /// Notes with this very tag.
    pub notes: usize,
    /// Notes with it or one below it.
    pub with_below: usize,
}
