//! A text to keep.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// A text to keep.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveParams {
    /// Markdown, up to 50 KB.
    pub content: String,
    /// The note's title; the first line of the content when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The top-level folder that it goes to; `snippets` when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub collection: Option<String>,
    /// Tags, without `#`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// What else is to be in the frontmatter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<serde_json::Map<String, Value>>,
}

/// A text that was saved and can be found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Saved {
    /// Always true.
    pub ok: bool,
    /// Names the note as it is now; what deletes it takes this.
    pub hash: String,
    /// Where it is.
    pub path: String,
    /// How many passages it has.
    pub chunks: usize,
    /// Whether the note was there before: the same text, or in `notes` one of the same title.
    pub existing: bool,
    /// Whether secrets were taken out of the text, each marked as `[redacted: …]`.
    pub redacted: bool,
    /// Whether a search finds it. It does, unless the indexer is kept busy; it is written all the same.
    #[serde(default = "super::save::yes")]
    pub searchable: bool,
    /// Whether the text, or a part of it, was forgotten for good before. It is saved all the same: it is the person's to say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten_before: bool,
    /// Undoes it; none where the note said so already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// What an older daemon does not say.
pub(super) fn yes() -> bool {
    true
}
