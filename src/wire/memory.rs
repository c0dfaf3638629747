//! What agents say and hear of memory of their own.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// A search of an agent's own memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearchParams {
    /// Words, `"phrases"` and `-exclusions`, or a question.
    pub query: String,
    /// Hits at most; 1 to 1,000, `[search] limit` when it is not said, and never more than the agent may have.
    #[serde(default, deserialize_with = "super::object::whole", skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// What an agent's own memory consists of.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryFiles {
    /// The paths of its files in the vault.
    pub files: Vec<String>,
}

/// What to read: `hash`, or `path` with or without lines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryGetParams {
    /// A passage's hash; a search gives it, and `chunk_id` is understood as well.
    #[serde(default, alias = "chunk_id", skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// `MEMORY.md`, `memory/notes.md`, or a path that a search gives; also a citation, or `PATH:42` for its line 42.
    pub path: Option<String>,
    /// A line of it; the passage at it, or `lines` from there.
    #[schema(minimum = 1)]
    #[serde(default, deserialize_with = "super::object::whole")]
    pub line: Option<u32>,
    /// How many lines; all of the file's when `line` is not said either.
    #[schema(minimum = 1)]
    #[serde(default, deserialize_with = "super::object::whole")]
    pub lines: Option<u32>,
}

/// A part of an agent's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryText {
    /// The file's path in the vault.
    pub path: String,
    /// The lines.
    pub text: String,
    /// The first of them, from 1.
    pub line_start: u32,
    /// The last.
    pub line_end: u32,
    /// `agents/coder/MEMORY.md#L3-L4`.
    pub citation: String,
    /// The passage's hash, when it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether there are more lines than one answer takes (50 KB).
    pub cut: bool,
}

/// What to remember.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySaveParams {
    /// Markdown; up to 50 KB.
    pub content: String,
    /// `MEMORY.md`, `memory.md` or `memory/<name>.md`; `MEMORY.md` when it is not said, or `memory/notes.md` where only that may be
    /// written.
    pub file: Option<String>,
    /// `false` replaces the file's text; else the text is added to its end.
    pub append: Option<bool>,
}

/// What to delete: `text`, or with `whole_file` everything.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryDeleteParams {
    /// `MEMORY.md`, `memory.md` or `memory/<name>.md`; without `whole_file` the one that saving takes when it is not said.
    pub file: Option<String>,
    /// Exactly as in the file.
    pub text: Option<String>,
    /// Wherever it is; refused without when it is there more than once.
    pub all_matches: Option<bool>,
    /// Delete the file; `delete_file` is understood as well.
    #[serde(default, alias = "delete_file", skip_serializing_if = "Option::is_none")]
    pub whole_file: Option<bool>,
    /// An emptied file, too; so it is when it is not said.
    pub delete_if_empty: Option<bool>,
}

/// A file of an agent's memory that was changed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryChange {
    /// Always true.
    pub ok: bool,
    /// The file's path in the vault.
    pub path: String,
    /// What undoes this.
    pub checkpoint_id: String,
    /// The same, as programs that know Moltis look for it.
    #[serde(rename = "checkpointId")]
    pub checkpoint_id_there: String,
    /// How many passages the file has now.
    pub chunks: usize,
    /// Whether a search finds the file as it is now. It does, unless the indexer is kept busy for seconds.
    pub searchable: bool,
    /// Whether the file is gone now.
    pub file_deleted: bool,
    /// Whether secrets were taken out of the text, each marked as `[redacted: …]`.
    pub redacted: bool,
    /// How often the text was deleted; absent when none was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches_removed: Option<usize>,
}

/// What to forget.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryForgetParams {
    /// What it is about; its exact words, or the hash of a candidate; `request` is understood as well.
    #[serde(alias = "request")]
    pub query: String,
    /// Candidates at most, where it is not clear which is meant: 1 to 6; 6 when it is not said.
    #[schema(minimum = 1)]
    pub limit: Option<usize>,
    /// Only say what would go.
    pub dry_run: Option<bool>,
}

/// What is forgotten, or might be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryForgotten {
    /// Always true.
    pub ok: bool,
    /// What was deleted.
    pub deleted: Vec<MemoryCandidate>,
    /// What may be meant, the likeliest first, when nothing was deleted.
    pub candidates: Vec<MemoryCandidate>,
    /// Whether it is not clear which is meant: ask again with the hash of one.
    pub needs_confirmation: bool,
    /// What undoes this.
    pub checkpoint_ids: Vec<String>,
    /// Whether a search no longer finds what was deleted. So it is, unless the indexer is kept busy for seconds.
    pub searchable: bool,
    /// Whether several may have been meant, and the chat model of the vault has said which.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub chosen_by_model: bool,
}

/// A paragraph, list item or table row of an agent's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryCandidate {
    /// Names it; it changes when the text does.
    pub hash: String,
    /// The file's path in the vault.
    pub path: String,
    /// Its text.
    pub text: String,
    /// Its first line, from 1.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// `agents/coder/MEMORY.md#L3-L4`.
    pub citation: String,
}

/// What to undo.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryRestoreParams {
    /// As a change gave it; `checkpointId` is understood as well.
    #[serde(alias = "checkpointId")]
    pub checkpoint_id: String,
}
