//! What those take and give that change notes, settle conflicts, and say what was changed and forgotten.

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::search::{ChunkView, whole};
use crate::base::state::LeftOut;

/// How to delete a passage or a note.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DeleteParams {
    /// Also delete the note's checkpoints, its copies in `.trash/`, and the embeddings of the text. This cannot be undone.
    #[serde(default)]
    pub purge: bool,
}

/// What to forget: `hash`, or `path` with or without lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct ForgetParams {
    /// The hash of a passage or a note.
    #[arg(skip)]
    pub hash: Option<String>,
    /// A note's path in the vault.
    #[arg(skip)]
    pub path: Option<String>,
    /// A fact by its name, `namespace/key`; with `purge` all its values are removed from its history.
    #[arg(skip)]
    pub fact: Option<String>,
    /// The memory scope of the fact; default `user`.
    #[arg(long)]
    pub scope: Option<String>,
    /// With `path`: the first line to remove, from 1; default the whole note.
    #[serde(default, deserialize_with = "whole")]
    #[arg(skip)]
    pub line_start: Option<usize>,
    /// The last line; default the first.
    #[serde(default, deserialize_with = "whole")]
    #[arg(skip)]
    pub line_end: Option<usize>,
    /// The hash of the note as you saw it; if it has changed, the request fails.
    #[arg(skip)]
    pub seen: Option<String>,
    /// Also delete the note's checkpoints, its copies in `.trash/`, and the embeddings of the text. This cannot be undone, and the text
    /// stays purged: it is left out if a program or an agent brings it again.
    #[serde(default)]
    #[arg(long)]
    pub purge: bool,
    /// Change nothing; report what would be removed.
    #[serde(default)]
    #[arg(long)]
    pub dry_run: bool,
    /// Also remove the notes, facts and summary made from it.
    #[serde(default)]
    #[arg(long, conflicts_with = "keep_derived")]
    pub derived: bool,
}

/// The result of forgetting.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Forgotten {
    /// Always true.
    pub ok: bool,
    /// The note.
    pub path: String,
    /// Checkpoint that restores it; absent if nothing can.
    pub checkpoint_id: Option<String>,
    /// Whether the whole note was moved to `.trash/`.
    pub whole: bool,
    /// The text that would be removed; only for a dry run.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub content: String,
    /// The hash of the note before.
    pub seen: String,
    /// Whether searches reflect it already. Usually they do; if the indexer is busy, they follow later.
    pub searchable: bool,
    /// What `purge` deleted, if requested.
    pub purged: Option<PurgedView>,
    /// What was made from the removed text: notes by their frontmatter (`annotates`, `sources`), facts by their source, and the note's own
    /// `summary`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub derived: Vec<DerivedNote>,
}

/// Something made from the forgotten text: a note, a fact, a summary.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DerivedNote {
    /// Where it is, or was.
    pub path: String,
    /// The fact in that file, if it is one: `namespace/key`.
    pub fact: Option<String>,
    /// Whether it is only the `summary` in that note's frontmatter.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub summary: bool,
    /// Whether it was removed too.
    pub gone: bool,
    /// Checkpoint that restores it; absent if it was not removed, or cannot be restored.
    pub checkpoint_id: Option<String>,
    /// Why it could not be removed.
    pub kept_because: Option<String>,
}

/// What was permanently deleted.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PurgedView {
    /// Checkpoints of the note.
    pub checkpoints: usize,
    /// Copies of it in `.trash/`.
    pub trashed: usize,
    /// Embeddings of the text.
    pub embeddings: usize,
    /// Events of agents' traces from which the text was removed.
    pub traces: usize,
    /// Number of git commits that changed the note; absent without a repository.
    pub commits: Option<usize>,
    /// Id that allows the text again: `POST /api/forgotten/{id}/lift`. Absent if the text is too short to be
    /// recognised.
    pub tombstone: Option<i64>,
    /// Where the text may remain, and what to do about it, as sentences.
    pub remains: Vec<String>,
}

/// A remark on a passage: on `hash`, or on the one at a line of `path`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AnnotateParams {
    /// The passage's hash; a note's hash means its first passage.
    pub hash: Option<String>,
    /// A note's path in the vault.
    pub path: Option<String>,
    /// With `path`: a line of the passage, from 1.
    #[serde(default, deserialize_with = "whole")]
    pub line: Option<u32>,
    /// The remark: Markdown, up to 50 KB.
    pub note: String,
}

/// The result of writing a remark.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Annotated {
    /// Always true.
    pub ok: bool,
    /// The hash of the note of the remark.
    pub hash: String,
    /// Where it is.
    pub path: String,
    /// Whether searches reflect it already. Usually they do; if the indexer is busy, they follow later.
    pub searchable: bool,
    /// Checkpoint that undoes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// A remark on a passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AnnotationView {
    /// The note of the remark.
    pub path: String,
    /// The hash of that note; use it to delete the note.
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

/// Which checkpoints to return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct CheckpointsParams {
    /// Only those of this note.
    pub path: Option<String>,
}

/// The changes that can be undone, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointsView {
    /// One per change.
    pub checkpoints: Vec<CheckpointView>,
}

/// A note as it was before a change.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointView {
    /// Its id.
    pub id: String,
    /// When the change was made, as RFC 3339.
    pub at: String,
    /// The note; for an import, its source.
    pub path: String,
    /// The change: `create`, `edit`, `forget`, `trash`, `restore`, or `import` for a whole import.
    pub action: String,
    /// The agent that requested it; absent for the owner.
    pub by: Option<String>,
    /// Size of the note in bytes; absent if it did not exist.
    pub bytes: Option<u64>,
    /// Number of files that an import created or changed.
    pub files: Option<usize>,
}

/// How to restore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct RestoreParams {
    /// Restore even if the note has changed since; the present content is stored too.
    #[serde(default)]
    #[arg(long)]
    pub force: bool,
}

/// The result of restoring.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Restored {
    /// Always true.
    pub ok: bool,
    /// The note; of an import, its name.
    pub path: String,
    /// Checkpoint that undoes this; the same one if nothing had to be done. For an import its name: import it again to bring it back.
    pub checkpoint_id: String,
    /// Whether searches reflect it already. Usually they do; if the indexer is busy, they follow later.
    pub searchable: bool,
    /// Whether it contains purged text. It is restored anyway, as the owner requested it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten_before: bool,
    /// Number of restored files, if an import was undone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub files: Option<usize>,
}

/// A text to save.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct SaveParams {
    /// Markdown, up to 50 KB.
    #[arg(skip)]
    pub content: String,
    /// The note's title; default the first line of the content.
    #[arg(long)]
    pub title: Option<String>,
    /// The top-level folder for it; default `snippets`.
    #[arg(long, short)]
    pub collection: Option<String>,
    /// Tags, without `#`.
    #[arg(long = "tag", short, value_name = "TAG", help = "A tag, without #; may be given more than once")]
    pub tags: Option<Vec<String>>,
    /// Other fields for the frontmatter.
    #[arg(skip)]
    pub metadata: Option<serde_json::Map<String, Value>>,
}

/// The result of saving.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Saved {
    /// Always true.
    pub ok: bool,
    /// The hash of the note; use it to delete the note.
    pub hash: String,
    /// Where it is.
    pub path: String,
    /// Number of its passages.
    pub chunks: usize,
    /// Whether the note existed before: with the same text, or in `notes` with the same title.
    pub existing: bool,
    /// Whether secrets were removed from the text, each marked as `[redacted: …]`.
    pub redacted: bool,
    /// Whether searches find it. Usually they do; if the indexer is busy, they follow later.
    pub searchable: bool,
    /// Whether the text, or a part of it, was purged before. It is saved anyway, as the owner requested it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten_before: bool,
    /// Checkpoint that undoes it; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// A thought to be captured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CaptureParams {
    /// One line becomes an item of a list, more become paragraphs, below the time.
    pub text: String,
    /// `today`, `inbox`, or a note's path.
    pub to: String,
    /// When it was thought of, in milliseconds since 1970; default now.
    pub at_ms: Option<i64>,
    /// Unique. A thought that is sent again with its id is captured once.
    pub id: Option<String>,
}

/// The result of capturing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ThoughtCaptured {
    /// Always true.
    pub ok: bool,
    /// The note.
    pub path: String,
    /// BLAKE3 of the note, in hexadecimal.
    pub hash: String,
    /// Checkpoint that undoes it.
    pub checkpoint_id: String,
    /// Whether it was captured before, by a request with the same id.
    pub existing: bool,
    /// Whether secrets were removed from the text, each marked as `[redacted: …]`.
    pub redacted: bool,
    /// Whether searches find it. Usually they do; if the indexer is busy, they follow later.
    pub searchable: bool,
    /// Whether the text, or a part of it, was purged before. It is captured anyway, as the owner requested it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten_before: bool,
}

/// What a file that is dropped on the page is called.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
pub struct DropParams {
    /// Its name. No path is taken from it.
    pub name: String,
}

/// What a file was that was dropped on the page.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum DropKind {
    /// A picture or PDF, stored beside the notes.
    File,
    /// A text, which is a note now.
    Note,
    /// An export of another program, imported.
    #[default]
    Import,
}

/// The result of dropping a file.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Dropped {
    /// Always true.
    pub ok: bool,
    /// What the file was.
    pub kind: DropKind,
    /// Where a file or a note is now.
    pub path: Option<String>,
    /// The program whose export it was: `chatgpt`, `bookmarks`, …
    pub from: Option<String>,
    /// Number of conversations in the export.
    pub conversations: usize,
    /// Number of bookmarks.
    pub bookmarks: usize,
    /// Number of notes.
    pub notes: usize,
    /// Number of turns, bookmarks and notes that are new.
    pub added: usize,
    /// Number of those that were in the vault before.
    pub existing: usize,
    /// Number of those that could not be imported.
    pub refused: usize,
    /// What undoes it, as `POST /api/user-memory/checkpoints/{id}/restore` takes it.
    pub undo: Option<String>,
}

/// A file that was changed in two places, found as a copy of a sync service, or by conflict markers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictCopy {
    /// The copy; for git's conflict markers the note itself.
    pub path: String,
    /// The original file, which may no longer exist.
    pub of: String,
    /// The program that makes copies with such names, or `git`.
    pub made_by: String,
    /// Whether both are identical. Then searches find only the original.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same: bool,
    /// Why it can only be resolved by hand: it is not a note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_hand: Option<String>,
}

/// The unresolved conflicts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictsView {
    /// Sorted by path.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictView {
    /// The conflict.
    #[serde(flatten)]
    pub conflict: ConflictCopy,
    /// The different lines with three lines of context, as a unified diff: `-` is ours, `+` is theirs. Empty if nothing differs.
    pub diff: String,
}

/// Which side of a conflict to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ConflictChoice {
    /// The original file; for conflict markers the part above `=======`.
    Ours,
    /// The copy, which replaces the file; for conflict markers the part below.
    Theirs,
    /// The copy becomes a separate file; for conflict markers both parts, one after the other.
    Both,
}

/// How to resolve a conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct KeepParams {
    /// The copy, or the file that has one copy or conflict markers.
    pub path: String,
    /// The side to keep.
    pub keep: ConflictChoice,
}

/// A resolved conflict.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConflictResolved {
    /// Always true.
    pub ok: bool,
    /// The file.
    pub path: String,
    /// The new file of the copy, if both are kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub beside: Option<String>,
    /// Checkpoints that undo it, the last change first.
    pub checkpoint_ids: Vec<String>,
    /// Whether searches reflect it already. Usually they do; if the indexer is busy, they follow later.
    pub searchable: bool,
}

/// The purged texts, and what happened to them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ForgottenView {
    /// The purged texts, oldest first. Their content is not stored.
    pub forgotten: Vec<TombstoneView>,
    /// Texts that were left out because of it, newest first; the last 1,000.
    pub left_out: Vec<LeftOut>,
    /// Purged texts that somebody wrote again. They stay.
    pub back: Vec<BackAgain>,
    /// Whether all notes were checked for `back`.
    pub complete: bool,
}

/// A purged text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TombstoneView {
    /// Its id.
    pub id: i64,
    /// When it was purged, as RFC 3339.
    pub at: String,
    /// The note that it was in; only the folder if the note no longer exists.
    pub place: String,
    /// Number of texts by which it is recognised: the whole, paragraphs, list items, turns.
    pub texts: usize,
    /// Number of sentences by which it is recognised.
    pub sentences: usize,
    /// Number of facts in it.
    pub facts: usize,
}

/// A purged line that exists again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct BackAgain {
    /// The note.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The id of the purged text.
    pub tombstone: i64,
}

/// Which changes to return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ChangesParams {
    /// Maximum changes, 1 to 10,000; default 100.
    #[arg(long, short = 'n', default_value = "100")]
    pub limit: Option<usize>,
    /// Only those of this note, or of a folder that ends in `/`.
    #[arg(long)]
    pub path: Option<String>,
    /// Only changes from this time: a date (`2026-01-05`), `yesterday`, a time (`2026-01-05T10:00:00Z`) or how long ago (`7d`).
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
}

/// What the program changed, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ChangesView {
    /// One line per change. They contain no text.
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
    /// The note; only the folder if it was purged.
    pub path: String,
    /// The first changed line.
    pub line_start: Option<u32>,
    /// The last changed line.
    pub line_end: Option<u32>,
    /// A keyed digest of the note before, with a key of this vault: equal digests mean equal content. Absent if it did not exist.
    pub before: Option<String>,
    /// The digest after.
    pub after: Option<String>,
    /// Checkpoint that undoes it, while possible.
    pub checkpoint_id: Option<String>,
}
