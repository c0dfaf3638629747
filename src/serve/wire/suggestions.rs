//! What agents suggest for notes and write into them, and what is decided about suggestions.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// Edits that an agent suggests for a note: `old` and `new`, or `edits`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuggestParams {
    /// The note.
    #[schema(min_length = 1)]
    pub path: String,
    /// Its `hash` as you read it; if the note is another by now, the request fails.
    pub base_hash: Option<String>,
    /// What to replace; it occurs exactly once in the note.
    pub old: Option<String>,
    /// The new text; empty deletes `old`.
    pub new: Option<String>,
    /// Several at once.
    pub edits: Option<Vec<TextEdit>>,
    /// A reason, in one sentence.
    #[schema(min_length = 1, max_length = 500)]
    pub why: String,
}

/// An exact edit of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TextEdit {
    /// What to replace.
    pub old: String,
    /// The new text.
    pub new: String,
}

/// The result of a suggestion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Suggested {
    /// Always true.
    pub ok: bool,
    /// The note; it is unchanged.
    pub path: String,
    /// Always `pending`: the owner decides.
    pub status: String,
    /// Whether secrets were removed from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
}

/// What an agent writes into a note: `new` in the place of `old`, below `heading`, at the end, or as a note of its own (`create`).
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentWriteParams {
    /// The note.
    #[schema(min_length = 1)]
    pub path: String,
    /// Its `hash` as you read it; if the note is another by now, the request fails.
    pub base_hash: Option<String>,
    /// What to replace; it occurs exactly once in the note.
    pub old: Option<String>,
    /// The new text; empty deletes `old`.
    pub new: String,
    /// Append below this heading.
    pub heading: Option<String>,
    /// Make a new note. Its name ends with the time.
    pub create: Option<bool>,
}

/// The result of writing into a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentWritten {
    /// Always true.
    pub ok: bool,
    /// The note.
    pub path: String,
    /// Checkpoint with which the owner can undo it.
    pub checkpoint_id: String,
    /// Whether secrets were removed from the text.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Whether searches reflect it already.
    pub searchable: bool,
}

/// A suggestion that waits.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SuggestionView {
    /// Its id: `ada/2026-03-09-plan`.
    pub id: String,
    /// The agent.
    pub agent: String,
    /// When it came, as RFC 3339.
    pub at: String,
    /// The note.
    pub path: String,
    /// Why, in the words of the agent.
    pub why: String,
    /// The file in which it waits.
    pub file: String,
    /// Whether the note has changed since.
    pub moved_on: bool,
    /// Its edits, in the order of the file.
    pub hunks: Vec<HunkView>,
    /// Why it cannot be read; then it can only be rejected.
    pub problem: Option<String>,
}

/// One edit of a suggestion.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HunkView {
    /// The text that it replaces.
    pub old: String,
    /// The new text.
    pub new: String,
    /// The line in the note where `old` begins; absent if the note does not have it exactly once any more.
    pub line: Option<usize>,
    /// The difference, word by word.
    pub diff: Vec<DiffPiece>,
}

/// A piece of a difference.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DiffPiece {
    /// `=` is in both, `-` goes, `+` comes.
    pub change: char,
    /// The words.
    pub text: String,
}

/// Decisions on suggestions: if one cannot be carried out, none is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuggestionDecisions {
    /// The decisions.
    pub decisions: Vec<SuggestionDecision>,
}

/// A decision on a suggestion.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SuggestionDecision {
    /// The id of the suggestion.
    pub id: String,
    /// `true` accepts, `false` rejects.
    pub accept: bool,
    /// Only these of its edits, from 1; the others go on waiting. Default all.
    pub hunks: Option<Vec<usize>>,
}

/// The result of decisions on suggestions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SuggestionsDecided {
    /// Always true.
    pub ok: bool,
    /// The notes that were edited.
    pub changed: Vec<String>,
    /// Number of edits accepted.
    pub accepted: usize,
    /// Number of edits rejected.
    pub rejected: usize,
    /// Checkpoints that undo it, in this order.
    pub checkpoint_ids: Vec<String>,
}
