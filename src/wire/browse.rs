//! What there is: pages of passages, collections, numbers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::search::ChunkView;
use crate::config::Mode;

/// A page of passages.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct BrowseParams {
    /// Only this collection.
    pub collection: Option<String>,
    /// Only notes updated on this day of the local time zone: `2026-01-05`.
    pub day: Option<String>,
    /// Passages at most, 1 to 1,000; 20 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Passages to leave out first.
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

/// Maximum number of collections that are named to whoever asks for one that is not there.
const SHOWN_NAMES: usize = 50;

/// Which notes, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ListingParams {
    /// Only notes whose paths match this glob; `*` stays within a folder, `**` does not.
    pub glob: Option<String>,
    /// Only notes that come after this path.
    pub after: Option<String>,
    /// Notes at most.
    pub limit: usize,
}

/// A page of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Listing {
    /// This page.
    pub notes: Vec<NoteName>,
    /// How many there are on this page and those after it.
    pub total: usize,
}

/// Which notes are listed.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NotesParams {
    /// Only notes of this collection, or in this folder or one below it: `notes/daily`.
    pub folder: Option<String>,
    /// Only notes with this tag, or one below it.
    pub tag: Option<String>,
    /// Only notes updated then or later: a date, an RFC 3339 time, or how long ago (`7d`).
    pub since: Option<String>,
    /// Notes at most, 1 to 1,000; 50 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Notes to leave out first.
    #[param(minimum = 0)]
    pub offset: Option<usize>,
}

/// Notes, the newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NotesView {
    /// This page.
    pub notes: Vec<NoteName>,
    /// How many there are on all pages.
    pub total: usize,
    /// Why there are none, when nothing that is seen is in such a folder, whatever its tags and times.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// What a note is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoteName {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed, as RFC 3339.
    pub updated_at: String,
}

/// The names of collections for a sentence, not more than can be read; `None` when there is none.
pub(crate) fn named(collections: &[String]) -> Option<String> {
    let shown: Vec<String> = collections.iter().take(SHOWN_NAMES).map(|name| format!("`{name}`")).collect();
    match collections.len().checked_sub(SHOWN_NAMES) {
        _ if collections.is_empty() => None,
        None | Some(0) => Some(shown.join(", ")),
        Some(more) => Some(format!("{}, and {more} more", shown.join(", "))),
    }
}

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

/// Which note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RelatedParams {
    /// Its path in the vault.
    pub path: String,
    /// Near the passage on this line, from 1; near the whole note when it is not said.
    #[param(minimum = 1)]
    pub line: Option<usize>,
    /// Notes at most, 1 to 1,000; `[search] limit` when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The notes near a note, which itself is left out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RelatedView {
    /// The note's path.
    pub path: String,
    /// What was compared: `semantic`, or `keyword` where the note has no embedding.
    pub mode: Mode,
    /// The notes, the nearest first.
    pub results: Vec<RelatedNote>,
    /// Why the answer is less than it could be, when it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// A note near another, with its nearest passage.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RelatedNote {
    /// The note's path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// The headings that its nearest passage stands under, outermost first.
    pub heading_path: Vec<String>,
    /// How that passage begins.
    pub snippet: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// Where it is: `notes/api.md#L42-L58`.
    pub citation: String,
    /// When the note was last changed, as RFC 3339.
    pub updated_at: String,
    /// How near it is: a cosine, or by words a share of what could be. Compares within one answer only.
    pub score: f64,
    /// Which of the two links to the other; absent where neither does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub linked: Option<Linked>,
}

/// Which of two notes links to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum Linked {
    /// The one that was asked about.
    Out,
    /// The one that is near it.
    In,
    /// Each to the other.
    Both,
}
