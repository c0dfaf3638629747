//! What stays forgotten, and what was changed.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// What was forgotten for good, and what became of that.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForgottenView {
    /// What was forgotten, the oldest first. What it said is not kept.
    pub forgotten: Vec<TombstoneView>,
    /// What was left out because of it, the newest first; the last 1,000.
    pub left_out: Vec<LeftOutView>,
    /// What stands in notes all the same: somebody wrote it again. It stays.
    pub back: Vec<BackAgain>,
    /// Whether all notes were looked over for `back`.
    pub complete: bool,
}

/// Something that was forgotten for good.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TombstoneView {
    /// Names it.
    pub id: i64,
    /// When it was forgotten, as RFC 3339.
    pub at: String,
    /// The note that it was in; of one that is gone the folder alone.
    pub place: String,
    /// By how many texts it is known again: all of it, paragraphs, list items, turns.
    pub texts: usize,
    /// By how many sentences.
    pub sentences: usize,
    /// How many facts it is.
    pub facts: usize,
}

/// Something that was left out because it was forgotten.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LeftOutView {
    /// When, as RFC 3339.
    pub at: String,
    /// Who brought it: `program NAME`, `agent NAME`, `import` for an archive.
    pub by: String,
    /// The collection, or the file, that it was for.
    pub into: String,
    /// Whether all of it was left out, or a part.
    pub whole: bool,
    /// Which of the forgotten it is.
    pub tombstone: i64,
}

/// A line that was forgotten for good and is there again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackAgain {
    /// The note.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// Which of the forgotten it is.
    pub tombstone: i64,
}

/// Something that was forgotten may come back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LiftedView {
    /// Always true.
    pub ok: bool,
}

/// Which changes.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangesParams {
    /// At most so many, 1 to 10,000; 100 when it is not said.
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<usize>,
    /// Only those of this note, or of a folder that ends in `/`.
    pub path: Option<String>,
    /// Only those from then on: a date (`2026-01-05`), a time (`2026-01-05T10:00:00Z`) or how long ago (`7d`).
    pub since: Option<String>,
}

/// What the program changed, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangesView {
    /// A line a change. They hold no text.
    pub changes: Vec<ChangeView>,
}

/// A change that the program made to a note.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangeView {
    /// When, as RFC 3339.
    pub at: String,
    /// Who: `owner`, `agent NAME`, `program NAME`, `retention`.
    pub by: String,
    /// What: `create`, `edit`, `append`, `forget`, `trash`, `restore` or `purge`.
    pub what: String,
    /// The note; of one that is gone for good the folder alone.
    pub path: String,
    /// The first line that is another since.
    pub line_start: Option<u32>,
    /// The last one.
    pub line_end: Option<u32>,
    /// A digest of the note before, by a key of this vault alone: the same again is the same content. Absent where it was not there.
    pub before: Option<String>,
    /// The digest after.
    pub after: Option<String>,
    /// What undoes it, while it can be undone.
    pub checkpoint_id: Option<String>,
}
