//! What there is: pages of passages, collections, numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::search::ChunkView;

/// A page of passages.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BrowseParams {
    /// Only this collection.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Only notes updated on this day of the local time zone: `2026-01-05`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day: Option<String>,
    /// Passages at most, 1 to 1,000; 20 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Passages to leave out first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
}

/// Passages, of the newest notes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Browse {
    /// This page.
    pub chunks: Vec<ChunkView>,
    /// How many there are on all pages.
    pub total: usize,
}

/// The names of the collections.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Collections {
    /// In alphabetical order.
    pub collections: Vec<String>,
}

/// A collection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Collection {
    /// Notes.
    pub files: usize,
    /// Passages.
    pub chunks: usize,
    /// Bytes of its notes.
    pub bytes: u64,
    /// The share of its passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// When a note of it was last changed, as RFC 3339.
    pub updated_at: String,
}

/// What there is, in numbers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Stats {
    /// Passages.
    pub total: usize,
    /// Passages of each collection.
    pub collections: BTreeMap<String, usize>,
    /// Notes.
    pub files: usize,
    /// Bytes of all notes.
    pub bytes: u64,
    /// The share of the passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// More of each collection.
    pub details: BTreeMap<String, Collection>,
    /// What was made in each month that has anything, the oldest first.
    pub growth: Vec<Growth>,
}

/// What was made in a month, by the notes' dates of creation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Growth {
    /// `2026-01`, in the local time zone.
    pub month: String,
    /// Notes.
    pub notes: usize,
    /// Their passages, as they are now.
    pub chunks: usize,
}
