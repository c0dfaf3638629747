//! What other programs have kept, handed over piece by piece.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// A piece of an import. The first names none; the answer names it for those that follow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ImportParams {
    /// What kind of source it is: `chatgpt`, `claude`, …
    #[schema(required, min_length = 1, max_length = 100)]
    pub kind: String,
    /// What is read, as you call it. An import of the same kind and source that did not come to its end is gone on with.
    pub source: String,
    /// The import that it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<i64>,
    /// Only say what would come.
    pub dry_run: bool,
    /// Whether it is the last piece.
    pub done: bool,
    /// Events, as `POST /api/user-memory/events` takes them. Of those with the same id the first counts, for good.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
    /// Notes.
    pub notes: Vec<ImportNote>,
}

/// A note of another program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportNote {
    /// Tells it from all others of its kind of source, at each import: where it was, whole, so that one that moved is known. No file is called by it.
    pub id: String,
    /// What it was called there.
    pub title: String,
    /// Its Markdown, with its frontmatter.
    pub text: String,
}

/// What became of a piece of an import.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportTaken {
    /// Always true: what was added is safe on disk, and in its files in a moment.
    pub ok: bool,
    /// The import, for the next piece; `vault restore import-N` undoes it. Absent when it was only asked what would come.
    pub import: Option<i64>,
    /// Whether it goes on with one that did not come to its end, so that what came then is undone with it; as the first piece says it.
    #[serde(default)]
    pub went_on: bool,
    /// Whether there is something to undo: files that it has made or changed so far.
    #[serde(default)]
    pub undoable: bool,
    /// So many events and notes are new.
    pub added: usize,
    /// So many notes have a new text.
    pub updated: usize,
    /// So many came before.
    pub existing: usize,
    /// So many were forgotten for good, and stay so.
    pub forgotten: usize,
    /// So many notes were changed or taken away here since they came, and are left as they are.
    pub edited: usize,
    /// So many have nothing left without what was recalled.
    pub empty: usize,
    /// So many events are not in their files yet.
    pub pending: usize,
    /// Why they are not, when something is wrong.
    pub failure: Option<String>,
}
