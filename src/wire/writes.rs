//! What those take and give that change notes.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::object::whole;
use super::search::ChunkView;

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
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
    pub line_start: Option<usize>,
    /// The last of the lines; the first when it is not said.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
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
    #[serde(default = "super::writes::yes")]
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
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
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
    #[serde(default = "super::writes::yes")]
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
    #[serde(default = "super::writes::yes")]
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
    #[serde(default = "super::writes::yes")]
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
