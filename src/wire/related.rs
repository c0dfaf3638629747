//! The notes near a note.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::config::Mode;

/// Which note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RelatedParams {
    /// Its path in the vault.
    pub path: String,
    /// Near the passage on this line, from 1; near the whole note when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1)]
    pub line: Option<usize>,
    /// Notes at most, 1 to 1,000; `[search] limit` when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
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
