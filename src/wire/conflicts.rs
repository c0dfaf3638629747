//! Files that were changed in two places, and how to settle that.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// A file that was changed in two places: what a sync service left of it, or a merge.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictCopy {
    /// The copy; of a note with git's conflict markers the note itself.
    pub path: String,
    /// The file it is a copy of, which may be gone.
    pub of: String,
    /// Who makes copies with such names, or `git`.
    pub made_by: String,
    /// Whether the copy says the same as the file to the byte. Then searches find that alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same: bool,
    /// Why it can only be settled by hand: its name is no text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

/// What waits for a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictsView {
    /// By path.
    pub conflicts: Vec<ConflictCopy>,
}

/// Which conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ConflictParams {
    /// The copy, or the file that has one copy or conflict markers.
    pub path: String,
}

/// Both sides of a conflict.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictView {
    /// Which it is.
    #[serde(flatten)]
    pub conflict: ConflictCopy,
    /// The lines that differ with three around them, as a unified diff: `-` is ours, `+` is theirs. Empty where nothing differs, and where
    /// a side is no text.
    pub diff: String,
    /// Ours, where a side is no text; absent where it is gone, too.
    pub ours: Option<ConflictSide>,
    /// Theirs, where a side is no text.
    pub theirs: Option<ConflictSide>,
}

/// One side of a conflict that is no text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictSide {
    /// How long it is, in bytes.
    pub bytes: u64,
    /// When it was last changed, as RFC 3339.
    pub updated_at: String,
}

/// What of a conflict is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum KeptSide {
    /// The file as it has its name; of conflict markers what stands above `=======`.
    Ours,
    /// The copy, which takes the place of the file; of conflict markers what stands below.
    Theirs,
    /// The copy becomes a file of its own; of conflict markers both, one after the other.
    Both,
}

/// How to settle a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepParams {
    /// The copy, or the file that has one copy or conflict markers.
    pub path: String,
    /// What is kept.
    pub keep: KeptSide,
}

/// A conflict that is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictSettled {
    /// Always true.
    pub ok: bool,
    /// The file.
    pub path: String,
    /// The file that the copy has become, where both are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// What undoes it, each of them, the last change first.
    pub checkpoint_ids: Vec<String>,
    /// Whether searches say so already. They do, unless the indexer is kept busy; it is done all the same.
    #[serde(default = "super::writes::yes")]
    pub searchable: bool,
}
