//! What those take and give that change notes, settle conflicts, and say what was changed and forgotten.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::search::{ChunkView, whole};

/// How to delete a passage or a note.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteParams {
    /// Also drop the note's checkpoints, what `.trash/` has of it, and the embeddings of the text. This cannot be undone.
    #[serde(default)]
    pub purge: bool,
}

/// What to forget: `hash`, or `path` with or without lines.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ForgetParams {
    /// A passage's hash, or a note's.
    pub hash: Option<String>,
    /// A note's path in the vault.
    pub path: Option<String>,
    /// A fact by its name, `namespace/key`; with `purge` all that it ever was goes out of its history.
    pub fact: Option<String>,
    /// The memory scope of the fact; `user` when it is not said.
    pub scope: Option<String>,
    /// With `path`: the first of the lines that go, from 1; the whole note when it is not said.
    #[serde(default, deserialize_with = "whole")]
    pub line_start: Option<usize>,
    /// The last of the lines; the first when it is not said.
    #[serde(default, deserialize_with = "whole")]
    pub line_end: Option<usize>,
    /// The hash of the note as the caller has seen it; refused when it is not so any more.
    pub seen: Option<String>,
    /// Also drop the note's checkpoints, what `.trash/` has of it, and the embeddings of the text. This cannot be undone, and the text
    /// stays forgotten: what a program or an agent brings of it later is left out.
    #[serde(default)]
    pub purge: bool,
    /// Change nothing, and say what would go.
    #[serde(default)]
    pub dry_run: bool,
    /// Also remove what was made of it, in the same way: what `derived` lists.
    #[serde(default)]
    pub derived: bool,
}

/// What is forgotten.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// Always true.
    pub ok: bool,
    /// The note.
    pub path: String,
    /// What brings it back; absent when nothing can.
    pub checkpoint_id: Option<String>,
    /// Whether the whole note went to `.trash/`.
    pub whole: bool,
    /// What would go; not said once it is gone.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The hash of the note as it was.
    pub seen: String,
    /// Whether searches say so already. They do, unless the indexer is kept busy; it is done all the same.
    #[serde(default = "yes")]
    pub searchable: bool,
    /// What else was dropped, when that was asked for.
    pub purged: Option<PurgedView>,
    /// What was made of what went: notes by their frontmatter (`annotates`, `sources`), facts by where they were learned, and the note's own
    /// `summary`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedNote>,
}

/// What was made of what is forgotten: a note, a fact, a summary.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DerivedNote {
    /// Where it is, or was.
    pub path: String,
    /// The fact in that file, where it is one: `namespace/key`.
    pub fact: Option<String>,
    /// Whether it is the `summary` in that note's frontmatter alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summary: bool,
    /// Whether it went, too.
    pub gone: bool,
    /// What brings it back; absent when nothing has to, or can.
    pub checkpoint_id: Option<String>,
    /// Why it could not go, though it was to.
    pub kept_because: Option<String>,
}

/// What was dropped for good.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PurgedView {
    /// Checkpoints of the note.
    pub checkpoints: usize,
    /// Copies of it in `.trash/`.
    pub trashed: usize,
    /// Embeddings of the text.
    pub embeddings: usize,
    /// Events of agents' traces that said it, and say it no more.
    #[serde(default)]
    pub traces: usize,
    /// How many commits of git have changed the note; absent where there is no repository.
    pub commits: Option<usize>,
    /// What lifts it, so that the text may come back: `POST /api/forgotten/{id}/lift`. Absent where the text says too little to be known
    /// again.
    pub tombstone: Option<i64>,
    /// Where the text may be found all the same, and what to do about it, as sentences.
    pub remains: Vec<String>,
}

/// A remark on a passage: on `hash`, or on the one at a line of `path`.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnnotateParams {
    /// The passage's hash; of a note's, its first passage is meant.
    pub hash: Option<String>,
    /// A note's path in the vault.
    pub path: Option<String>,
    /// With `path`: a line of the passage, from 1.
    #[serde(default, deserialize_with = "whole")]
    pub line: Option<u32>,
    /// The remark: Markdown, up to 50 KB.
    pub note: String,
}

/// A remark that is written and can be found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Annotated {
    /// Always true.
    pub ok: bool,
    /// Names the note of the remark as it is now.
    pub hash: String,
    /// Where it is.
    pub path: String,
    /// Whether searches say so already. They do, unless the indexer is kept busy; it is done all the same.
    #[serde(default = "yes")]
    pub searchable: bool,
    /// Undoes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// A remark on a passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnnotationView {
    /// The note of the remark.
    pub path: String,
    /// Names that note as it is now; what deletes it takes this.
    pub hash: String,
    /// The remark.
    pub note: String,
    /// The passage as it was.
    pub quote: String,
    /// The note in which the passage is now, or was last.
    pub source: String,
    /// The passage's first line, now or last.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// Whether the passage is still there.
    pub found: bool,
}

/// A passage with the remarks on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PassageView {
    /// The passage.
    #[serde(flatten)]
    pub chunk: ChunkView,
    /// The remarks, oldest first.
    pub annotations: Vec<AnnotationView>,
}

/// Which checkpoints.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CheckpointsParams {
    /// Only those of this note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
}

/// The changes that can be undone, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointsView {
    /// One a change.
    pub checkpoints: Vec<CheckpointView>,
}

/// A note as it was before a change.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointView {
    /// Its name.
    pub id: String,
    /// When the change was made, as RFC 3339.
    pub at: String,
    /// The note; of an import, what was read.
    pub path: String,
    /// The change: `create`, `edit`, `forget`, `trash`, `restore`, or `import` for all that an import made.
    pub action: String,
    /// The agent that asked for it; absent when it was you.
    pub by: Option<String>,
    /// How many bytes the note had; absent when it was not there.
    pub bytes: Option<u64>,
    /// How many files an import made or changed.
    pub files: Option<usize>,
}

/// How to restore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RestoreParams {
    /// Also over what was written since. That is kept, too.
    #[serde(default)]
    pub force: bool,
}

/// A note that is again what it was, and can be found so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Restored {
    /// Always true.
    pub ok: bool,
    /// The note; of an import, its name.
    pub path: String,
    /// What undoes this; the same checkpoint when nothing was to be done, and the name of an import, which comes again when it is imported again.
    pub checkpoint_id: String,
    /// Whether searches say so already. They do, unless the indexer is kept busy; it is done all the same.
    #[serde(default = "yes")]
    pub searchable: bool,
    /// Whether it says what was forgotten for good. It is there all the same: it is the person's to say.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten_before: bool,
    /// How many files are as they were, where an import was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
}

/// A text to keep.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SaveParams {
    /// Markdown, up to 50 KB.
    pub content: String,
    /// The note's title; the first line of the content when it is not said.
    pub title: Option<String>,
    /// The top-level folder that it goes to; `snippets` when it is not said.
    pub collection: Option<String>,
    /// Tags, without `#`.
    pub tags: Option<Vec<String>>,
    /// What else is to be in the frontmatter.
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
    #[serde(default = "yes")]
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
pub enum ConflictChoice {
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
    pub keep: ConflictChoice,
}

/// A conflict that is settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictResolved {
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
    #[serde(default = "yes")]
    pub searchable: bool,
}

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
