//! An agent's own memory, and what is made of notes: the profile, summaries, what chat models do for it.

use clap::{ArgAction, Args};
use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::search::{Skipped, whole};
use crate::base::state::ModelCall;
use crate::text::derive::UserPage;
use crate::text::derive::summary::CitedLine;

/// A search of an agent's own memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearchParams {
    /// Words, `"phrases"` and `-exclusions`, or a question.
    pub query: String,
    /// Maximum hits; 1 to 1,000, default `[search] limit`, and never more than the agent's limit.
    #[serde(default, deserialize_with = "whole")]
    #[schema(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The files of an agent's own memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryFiles {
    /// The paths of its files in the vault.
    pub files: Vec<String>,
}

/// What to read: `hash`, or `path` with or without lines.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryGetParams {
    /// A passage's hash. A search returns it; `chunk_id` is accepted as well.
    #[serde(default, alias = "chunk_id")]
    pub hash: Option<String>,
    /// `MEMORY.md`, `memory/notes.md`, or a path from a search; also a citation, or `PATH:42` for its line 42.
    pub path: Option<String>,
    /// A line of it; returns the passage there, or `lines` from there.
    #[schema(minimum = 1)]
    #[serde(default, deserialize_with = "whole")]
    pub line: Option<u32>,
    /// Number of lines; without `line` and `lines` the whole file.
    #[schema(minimum = 1)]
    #[serde(default, deserialize_with = "whole")]
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
    /// The passage's hash, if it is one passage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
    /// Whether there are more lines than fit in one answer (50 KB).
    pub cut: bool,
}

/// What to remember.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySaveParams {
    /// Markdown; up to 50 KB.
    pub content: String,
    /// `MEMORY.md`, `memory.md` or `memory/<name>.md`; default `MEMORY.md`, or `memory/notes.md` if only that may be
    /// written.
    pub file: Option<String>,
    /// `false` replaces the file's text; by default the text is appended.
    pub append: Option<bool>,
}

/// What to delete: `text`, or with `whole_file` everything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryDeleteParams {
    /// `MEMORY.md`, `memory.md` or `memory/<name>.md`; without `whole_file` the default file for saving.
    pub file: Option<String>,
    /// Exactly as in the file.
    pub text: Option<String>,
    /// Delete every occurrence; without it, several occurrences are an error.
    pub all_matches: Option<bool>,
    /// Delete the file; `delete_file` is accepted as well.
    #[serde(default, alias = "delete_file")]
    pub whole_file: Option<bool>,
    /// Also an emptied file; default `true`.
    pub delete_if_empty: Option<bool>,
}

/// The result of a change to an agent's memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryChange {
    /// Always true.
    pub ok: bool,
    /// The file's path in the vault.
    pub path: String,
    /// Checkpoint that undoes this.
    pub checkpoint_id: String,
    /// The same, under the name that Moltis uses.
    #[serde(rename = "checkpointId")]
    pub checkpoint_id_there: String,
    /// Number of passages in the file now.
    pub chunks: usize,
    /// Whether searches find the file as it is now. Usually they do; if the indexer is busy, they follow later.
    pub searchable: bool,
    /// Whether the file was deleted.
    pub file_deleted: bool,
    /// Whether secrets were removed from the text, each marked as `[redacted: …]`.
    pub redacted: bool,
    /// Number of deleted occurrences; absent if no text was to be deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub matches_removed: Option<usize>,
}

/// What to forget.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryForgetParams {
    /// What it is about; its exact words, or the hash of a candidate; `request` is accepted as well.
    #[serde(alias = "request")]
    pub query: String,
    /// Maximum candidates, if several match: 1 to 6; default 6.
    #[schema(minimum = 1)]
    pub limit: Option<usize>,
    /// Only report what would be deleted.
    pub dry_run: Option<bool>,
}

/// The result of forgetting.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryForgotten {
    /// Always true.
    pub ok: bool,
    /// What was deleted.
    pub deleted: Vec<MemoryCandidate>,
    /// Candidates, the likeliest first, if nothing was deleted.
    pub candidates: Vec<MemoryCandidate>,
    /// Whether several match: ask again with the hash of one.
    pub needs_confirmation: bool,
    /// Checkpoints that undo this.
    pub checkpoint_ids: Vec<String>,
    /// Whether searches no longer find what was deleted. Usually they do not; if the indexer is busy, they follow later.
    pub searchable: bool,
}

/// A paragraph, list item or table row of an agent's memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MemoryCandidate {
    /// Its hash; it changes with the text.
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
    /// As returned by a change; `checkpointId` is accepted as well.
    #[serde(alias = "checkpointId")]
    pub checkpoint_id: String,
}

/// The whole profile.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProfileView {
    /// The content of `profile/overrides.md`: only the owner writes it; it is always included.
    pub overrides: Option<String>,
    /// The content of `USER.md`.
    pub user: Option<UserPage>,
    /// The content of `profile/profile.md`, each sentence with its sources.
    pub profile: Option<String>,
    /// How the profile was made.
    pub state: ProfileState,
    /// Number of new contributions after which it is made again.
    pub regenerate_after: usize,
}

/// How the profile was made, and whether it is out of date.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileState {
    /// The page.
    pub path: String,
    /// How often it was made; 0 if never.
    pub version: u64,
    /// Number of contributions that it was made from.
    pub contributions: usize,
    /// New contributions since then.
    pub new: usize,
    /// Whether a source of it was deleted or changed.
    pub outdated: bool,
    /// Whether a person wrote or edited it, so that it is never overwritten.
    pub is_persons: bool,
}

/// The result of making the profile again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileMade {
    /// Always true.
    pub ok: bool,
    /// Its present state.
    pub state: ProfileState,
    /// Checkpoint that undoes it; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// Fields for `USER.md`; absent fields stay unchanged, and an empty text removes a field.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct UserSetParams {
    /// The name of the owner.
    #[arg(long)]
    pub name: Option<String>,
    /// Time zone, as an IANA name: `Europe/Vienna`.
    #[arg(long)]
    pub timezone: Option<String>,
    /// Degrees north; rounded to a tenth (the size of a town), unless `exact` is true.
    #[arg(long, allow_negative_numbers = true)]
    pub latitude: Option<f64>,
    /// Degrees east, likewise.
    #[arg(long, allow_negative_numbers = true)]
    pub longitude: Option<f64>,
    /// The place in words.
    #[arg(long = "place", value_name = "PLACE")]
    pub location_place: Option<String>,
    /// Store the degrees exactly.
    #[arg(long, action = ArgAction::SetTrue)]
    pub exact: Option<bool>,
}

/// A change of `USER.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserSet {
    /// Always true.
    pub ok: bool,
    /// The page.
    pub path: String,
    /// Checkpoint that undoes it; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// Which summaries to return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SummariesParams {
    /// Only the summary of this conversation: its path.
    #[arg(long, value_name = "CONVERSATION")]
    pub of: Option<String>,
    /// Include those older than `memory.summary_retention_days`.
    #[arg(long, action = ArgAction::SetTrue)]
    pub all: Option<bool>,
    /// Maximum summaries, 1 to 1,000; default 50.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Summaries of conversations, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummariesView {
    /// The summaries.
    pub summaries: Vec<SummaryView>,
    /// Whether there are more than were returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// The summary of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummaryView {
    /// Its file.
    pub path: String,
    /// The conversation.
    pub of: String,
    /// Its title.
    pub title: String,
    /// Time of the last turn in it, as RFC 3339.
    pub at: String,
    /// The last line of the conversation that it covers.
    pub through: String,
    /// Number of turns in it.
    pub turns: u64,
    /// Its author: `rules`, or the name of a model.
    pub made_by: String,
    /// Whether the owner has edited it; then it is not made again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Whether the conversation has changed since.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old: bool,
    /// Its sections.
    pub sections: Vec<DigestSection>,
}

/// A part of a summary or a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DigestSection {
    /// Its heading.
    pub heading: String,
    /// Its lines.
    pub lines: Vec<CitedLine>,
}

/// Which summaries to make now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct SummaryMakeParams {
    /// Only the summary of this conversation: its path. Default all whose turns have changed.
    #[arg(value_name = "CONVERSATION")]
    pub of: Option<String>,
}

/// The result of making summaries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummariesMade {
    /// The files that were written.
    pub made: Vec<String>,
    /// Number of those already up to date.
    pub same: usize,
    /// Number of conversations with nothing to summarise.
    pub nothing: usize,
    /// Those that were not changed, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Skipped>,
}

/// Which day or week.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DigestParams {
    /// A day, `2026-11-21`; default today.
    pub day: Option<String>,
    /// A week, `2026-W47`, a day of it, or `now`.
    pub week: Option<String>,
}

/// A digest of a day or a week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DigestView {
    /// `2026-11-21`, or `2026-W47`.
    pub name: String,
    /// Its first day.
    pub first_day: String,
    /// Its last day.
    pub last_day: String,
    /// Its sections; empty if nothing happened.
    pub sections: Vec<DigestSection>,
    /// Whether there is more than was returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// Its file, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// The result of writing the file of a day or a week.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DigestWritten {
    /// The file.
    pub path: String,
    /// Whether it was written.
    pub written: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// State of the summaries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummariesState {
    /// Existing summaries of conversations.
    pub summaries: usize,
    /// Conversations that are not quiet yet.
    pub waiting: usize,
    /// Files that are outdated, or could not be made, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<Skipped>,
}

/// State and cost of the chat model of the memory.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Processing)]
pub struct ProcessingView {
    /// Its present state.
    #[serde(flatten)]
    pub now: ProcessingState,
    /// The last 24 hours, with their limits.
    pub day: ProcessingDay,
    /// Tokens read, as counted by the provider.
    pub prompt_tokens: u64,
    /// Tokens written, likewise.
    pub answer_tokens: u64,
    /// The share of calls that were answered; absent without calls.
    pub success: Option<f64>,
    /// Median duration of answered calls, in milliseconds.
    pub p50_ms: Option<u64>,
    /// 95th percentile of it.
    pub p95_ms: Option<u64>,
    /// Outcomes of calls, the most common first.
    pub outcomes: Vec<ProcessingOutcome>,
    /// Failed sessions.
    pub dead_letters: Vec<DeadLetter>,
    /// The newest calls, newest first.
    pub recent: Vec<ModelCall>,
    /// Sizes of the stores.
    pub stores: StoreSizes,
}

/// State of the chat model of the memory.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingState {
    /// The model; absent if `[memory]` names none.
    pub model: Option<String>,
    /// `off`, `idle`, `waiting`, `working` or `stopped`.
    pub state: String,
    /// Why it waits or is stopped.
    pub reason: Option<String>,
    /// Waiting sessions.
    pub queued: usize,
    /// Failed sessions; `vault status` and the page say why.
    pub dead: usize,
    /// Private conversations, which are not sent to another machine.
    pub withheld: usize,
    /// Calls since the vault was created.
    pub calls: u64,
    /// Bytes of text sent since then.
    pub bytes_sent: u64,
    /// Time of the first call; absent without calls.
    pub since: Option<String>,
}

/// Calls and tokens of 24 hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingDay {
    /// Calls.
    pub calls: u64,
    /// The limit.
    pub calls_limit: u64,
    /// Tokens, as counted by the provider; estimated if it gives no count.
    pub tokens: u64,
    /// The limit.
    pub tokens_limit: u64,
}

/// Number of calls with an outcome.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingOutcome {
    /// `answered`, `unreadable`, `failed`, `refused`, `stopped`, `cut off` or `under way`.
    pub outcome: String,
    /// Calls.
    pub calls: u64,
}

/// A failed session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetter {
    /// Its id, for a retry.
    pub id: String,
    /// The conversation, if it still exists.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Why.
    pub reason: String,
    /// Number of attempts.
    pub attempts: u32,
}

/// Sizes of the stores, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreSizes {
    /// The indexed notes.
    pub notes: u64,
    /// Part of them: entries, summaries and the profile.
    pub layers: u64,
    /// The index.
    pub index: u64,
    /// Data that is not derived: tokens, logs, jobs, checkpoints.
    pub state: u64,
}

/// A retry of failed sessions.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct RetryParams {
    /// The id of the failed session, as in `vault memory processing`; default all.
    pub id: Option<String>,
}

/// A retry of failed sessions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Retried {
    /// Number of sessions.
    pub queued: usize,
}

/// How to clear the derived layers.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct ClearParams {
    /// Also delete the checkpoints that would undo it.
    #[arg(long)]
    pub purge: bool,
}

/// The result of clearing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cleared {
    /// The deleted files.
    pub files: Vec<ClearedFile>,
    /// Generated files that stay because a person edited them.
    pub kept: Vec<String>,
}

/// A deleted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClearedFile {
    /// Its path.
    pub path: String,
    /// Checkpoint that restores it; absent after a purge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// A question to the chat model of `[chat]`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskParams {
    /// The question.
    pub question: String,
    /// What was asked and answered before, oldest first; the last three count.
    #[serde(default)]
    pub history: Vec<AskedBefore>,
}

/// A question that was answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct AskedBefore {
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
}

/// The passages from which a question is answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AskPassages {
    /// In the order of their numbers, from 1.
    pub passages: Vec<AskPassage>,
    /// The model, and where it is.
    pub model: String,
    /// Whether private notes were searched, too: else the model is on another machine, and does not get them.
    pub with_private: bool,
}

/// A passage as the model gets it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AskPassage {
    /// Path and lines.
    pub citation: String,
    /// The note's path.
    pub path: String,
    /// The note's title.
    pub title: String,
    /// Its first line.
    pub line_start: u32,
    /// Its last line.
    pub line_end: u32,
    /// Its text, cut if it is long.
    pub text: String,
}
