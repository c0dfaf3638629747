//! The tags of notes.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The tags of the notes that are seen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TagsView {
    /// In alphabetical order, also those that notes have only one below of.
    pub tags: Vec<TagCount>,
    /// Whether there are more than an agent may be given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
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
