//! The names of notes and collections.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct NotesParams {
    /// Only notes of this collection, or in this folder or one below it: `notes/daily`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// Only notes with this tag, or one below it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tag: Option<String>,
    /// Only notes updated then or later: a date, an RFC 3339 time, or how long ago (`7d`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<String>,
    /// Notes at most, 1 to 1,000; 50 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Notes to leave out first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
