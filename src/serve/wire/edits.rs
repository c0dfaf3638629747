//! A note's text as the person edits it: read, written, made, ticked, and what it said before.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::writes::CheckpointView;

/// Which note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct TextParams {
    /// Its path in the vault.
    pub path: String,
}

/// A note's text as it is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoteText {
    /// The note.
    pub path: String,
    /// Its whole text, frontmatter included.
    pub text: String,
    /// BLAKE3 of the file, in hexadecimal.
    pub hash: String,
}

/// What a note says now that was to be written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoteNow {
    /// Its whole text.
    pub text: String,
    /// BLAKE3 of the file, in hexadecimal.
    pub hash: String,
}

/// A text for a note that was read before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteWriteParams {
    /// The note's path in the vault.
    pub path: String,
    /// The `hash` of the text that was read, or that of `GET /api/user-memory/note`.
    pub if_hash: String,
    /// The whole text; with `line_start` and `line_end` the lines that take their place. Each line ends in a newline, which the last need not
    /// have; an empty text has no lines. A text without carriage returns gets those of the note.
    pub text: String,
    /// The first line that is replaced, from 1. Lines are what newlines separate: after a newline at the end there is one more, which is empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_start: Option<usize>,
    /// The last line that is replaced; `line_start - 1` inserts before `line_start`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line_end: Option<usize>,
}

/// A note to make.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NoteMakeParams {
    /// Its path in the vault, which ends in `.md`. Missing folders are made.
    pub path: String,
    /// Its whole text.
    pub text: String,
}

/// A task to tick.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskParams {
    /// The note's path in the vault.
    pub path: String,
    /// The line of the task, from 1.
    pub line: usize,
    /// Whether it is done: `[x]`, else `[ ]`.
    pub done: bool,
    /// The `hash` of the note that was read; then the answer is 409 if it has changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_hash: Option<String>,
}

/// The result of writing a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct NoteWritten {
    /// Always true.
    pub ok: bool,
    /// The note.
    pub path: String,
    /// BLAKE3 of the file as it is now, in hexadecimal.
    pub hash: String,
    /// Checkpoint that undoes it; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
    /// Whether searches reflect it already. Usually they do; if the indexer is busy, they follow later.
    pub searchable: bool,
    /// Whether what is new was purged before, or a part of it. It is written anyway, as the owner requested it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten_before: bool,
}

/// The versions of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionsView {
    /// Newest first: the note as it was before each change. Restore one by its `id`.
    pub versions: Vec<CheckpointView>,
}

/// Where a note's title or alias is written without a link.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MentionsView {
    /// By path and line, at most 50.
    pub mentions: Vec<MentionView>,
    /// Whether there are more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A line that has a note's title or alias.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MentionView {
    /// The note of the line.
    pub path: String,
    /// Its title.
    pub title: String,
    /// The line, from 1.
    pub line: usize,
    /// What it says, up to 300 characters.
    pub text: String,
}

/// Which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct VersionParams {
    /// Its id: that of the checkpoint.
    pub id: String,
}

/// A version of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct VersionText {
    /// The note.
    pub path: String,
    /// What it said; `null` if it did not exist.
    pub text: Option<String>,
}
