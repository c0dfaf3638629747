//! An agent's own memory, and what is made of notes: the profile, summaries, what chat models do for it.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::search::whole;

/// A search of an agent's own memory.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemorySearchParams {
    /// Words, `"phrases"` and `-exclusions`, or a question.
    pub query: String,
    /// Hits at most; 1 to 1,000, `[search] limit` when it is not said, and never more than the agent may have.
    #[serde(default, deserialize_with = "whole", skip_serializing_if = "Option::is_none")]
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
    #[serde(default, alias = "chunk_id")]
    pub hash: Option<String>,
    /// `MEMORY.md`, `memory/notes.md`, or a path that a search gives; also a citation, or `PATH:42` for its line 42.
    pub path: Option<String>,
    /// A line of it; the passage at it, or `lines` from there.
    #[schema(minimum = 1)]
    #[serde(default, deserialize_with = "whole")]
    pub line: Option<u32>,
    /// How many lines; all of the file's when `line` is not said either.
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
    #[serde(default, alias = "delete_file")]
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

/// The whole profile.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProfileView {
    /// What `profile/overrides.md` says: the person's alone, given in any case.
    pub overrides: Option<String>,
    /// What `USER.md` says.
    pub user: Option<UserView>,
    /// What `profile/profile.md` says, each sentence with its sources.
    pub profile: Option<String>,
    /// How that was made.
    pub state: ProfileState,
    /// New contributions after which it is made anew.
    pub regenerate_after: usize,
}

/// What `USER.md` says of the person.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UserView {
    /// What they are called.
    pub name: Option<String>,
    /// As IANA names it.
    pub timezone: Option<String>,
    /// Degrees north.
    pub latitude: Option<f64>,
    /// Degrees east.
    pub longitude: Option<f64>,
    /// The place in words.
    pub location_place: Option<String>,
    /// When the place was written.
    pub location_updated_at: Option<String>,
    /// What stands below.
    pub text: String,
}

/// How the profile was made, and whether it is to be made anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileState {
    /// The page.
    pub path: String,
    /// How often it was made; 0 where it never was.
    pub version: u64,
    /// What it was made of.
    pub contributions: usize,
    /// What has come since.
    pub new: usize,
    /// Whether something that it was made of is gone, or says something else.
    pub outdated: bool,
    /// Whether a person wrote or edited it, so that it is never written over.
    pub is_persons: bool,
}

/// A profile that was made anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProfileMade {
    /// Always true.
    pub ok: bool,
    /// How it is now.
    pub state: ProfileState,
    /// Undoes it; missing where it said so already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// What is to stand in `USER.md`; what is not said stays, and an empty text takes a field away.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UserSetParams {
    /// What they are called.
    pub name: Option<String>,
    /// As IANA names it: `Europe/Vienna`.
    pub timezone: Option<String>,
    /// Degrees north; rounded to a tenth, which is a town, unless `exact` is true.
    #[schema(minimum = -90, maximum = 90)]
    pub latitude: Option<f64>,
    /// Degrees east, likewise.
    #[schema(minimum = -180, maximum = 180)]
    pub longitude: Option<f64>,
    /// The place in words.
    pub location_place: Option<String>,
    /// Whether the degrees are written as they are.
    pub exact: Option<bool>,
}

/// A change of `USER.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UserSet {
    /// Always true.
    pub ok: bool,
    /// The page.
    pub path: String,
    /// Undoes it; missing where it said so already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// Which summaries.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct SummariesParams {
    /// That of one conversation: its path.
    pub of: Option<String>,
    /// Also those that are older than `memory.summary_retention_days`.
    pub all: Option<bool>,
    /// Summaries at most, 1 to 1,000; 50 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// Summaries of conversations, the newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummariesView {
    /// The summaries.
    pub summaries: Vec<SummaryView>,
    /// Whether there are more than are given.
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
    /// When the last turn was that it covers, as RFC 3339.
    pub at: String,
    /// The last line of the conversation that it covers.
    pub through: String,
    /// How many turns it covers.
    pub turns: u64,
    /// What made it: `rules`, or the name of a model.
    pub made_by: String,
    /// Whether the person has edited it; then it is not made anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub edited: bool,
    /// Whether the conversation is not what it was when this was made.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub old: bool,
    /// What it says.
    pub sections: Vec<DigestSection>,
}

/// A part of a summary or a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DigestSection {
    /// Its heading.
    pub heading: String,
    /// Its lines.
    pub lines: Vec<SummaryLineView>,
}

/// A line of a summary or a digest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummaryLineView {
    /// What it says.
    pub text: String,
    /// What it was made of: `conversations/x.md#L3-L4`.
    pub citations: Vec<String>,
}

/// Which summaries are made now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct SummaryMakeParams {
    /// That of one conversation: its path. Else all whose turns are others than they were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
}

/// What became of summaries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummariesMade {
    /// The files that were written.
    pub made: Vec<String>,
    /// How many are as they should be.
    pub same: usize,
    /// How many conversations say nothing to be summarised.
    pub nothing: usize,
    /// Those that stay as they are, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<EditedFile>,
}

/// A file that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EditedFile {
    /// The file.
    pub path: String,
    /// Why.
    pub reason: String,
}

/// Which day or week.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, ToSchema)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct DigestParams {
    /// A day, `2026-11-21`; today when nothing is said.
    pub day: Option<String>,
    /// A week, `2026-W47`, a day of it, or `now`.
    pub week: Option<String>,
}

/// What a day or a week was.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DigestView {
    /// `2026-11-21`, or `2026-W47`.
    pub name: String,
    /// Its first day.
    pub first_day: String,
    /// Its last day.
    pub last_day: String,
    /// What it was; empty where there was nothing.
    pub sections: Vec<DigestSection>,
    /// Whether there is more than is given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The file of it, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
}

/// What became of the file of a day or a week.
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

/// How the summaries are.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SummariesState {
    /// Summaries of conversations that there are.
    pub summaries: usize,
    /// Conversations that wait to be quiet.
    pub waiting: usize,
    /// Files that are old, or could not be made, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kept: Vec<EditedFile>,
}

/// How the model of the memory works, and what it has cost.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Processing)]
pub struct ProcessingView {
    /// How it is now.
    #[serde(flatten)]
    pub now: ProcessingState,
    /// The last 24 hours, against their limits.
    pub day: ProcessingDay,
    /// Tokens that it read, by the provider's own count.
    pub prompt_tokens: u64,
    /// Tokens that it wrote, likewise.
    pub answer_tokens: u64,
    /// The share of calls that were answered; absent where there was none.
    pub success: Option<f64>,
    /// Half of the calls that were answered took no longer, in milliseconds.
    pub p50_ms: Option<u64>,
    /// 95 of 100 took no longer.
    pub p95_ms: Option<u64>,
    /// How calls ended, the most common first.
    pub outcomes: Vec<ProcessingOutcome>,
    /// Sessions that were put aside.
    pub dead_letters: Vec<DeadLetter>,
    /// The newest calls, newest first.
    pub recent: Vec<ProcessingCall>,
    /// How large the stores are.
    pub stores: StoreSizes,
}

/// How the model of the memory is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingState {
    /// The model; absent where `[memory]` names none.
    pub model: Option<String>,
    /// `off`, `idle`, `waiting`, `working` or `stopped`.
    pub state: String,
    /// Why it waits, or does not work.
    pub reason: Option<String>,
    /// Sessions that wait.
    pub queued: usize,
    /// Sessions that were put aside; `vault status` and the page say why.
    pub dead: usize,
    /// Private conversations that are not sent to another machine.
    pub withheld: usize,
    /// Calls since the vault was made.
    pub calls: u64,
    /// Bytes of text that were sent since.
    pub bytes_sent: u64,
    /// When the first call was; absent where there was none.
    pub since: Option<String>,
}

/// Calls and tokens of 24 hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingDay {
    /// Calls.
    pub calls: u64,
    /// And no more than these.
    pub calls_limit: u64,
    /// Tokens, by the provider's count; an estimate for calls where it gives none.
    pub tokens: u64,
    /// And no more than these.
    pub tokens_limit: u64,
}

/// So many calls ended so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingOutcome {
    /// `answered`, `unreadable`, `failed`, `refused`, `stopped`, `cut off` or `under way`.
    pub outcome: String,
    /// Calls.
    pub calls: u64,
}

/// A session that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetter {
    /// Its name, for a retry.
    pub id: String,
    /// The conversation, where it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingCall {
    /// When.
    pub at: String,
    /// For what: `extraction`.
    pub kind: String,
    /// The model.
    pub model: String,
    /// How it ended.
    pub outcome: String,
    /// Tokens that it read, by the provider's count.
    pub prompt_tokens: u64,
    /// Tokens that it wrote.
    pub answer_tokens: u64,
    /// How long it took.
    pub ms: u64,
    /// Bytes of text that were sent.
    pub bytes: u64,
    /// Entries and lines of a summary that its answer brought.
    pub kept: u64,
    /// Those that the conversation does not say, and which were dropped.
    pub dropped: u64,
}

/// How large the stores are, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreSizes {
    /// The indexed notes.
    pub notes: u64,
    /// Of these, entries, summaries and the profile.
    pub layers: u64,
    /// The index.
    pub index: u64,
    /// What is not derived: tokens, logs, jobs, checkpoints.
    pub state: u64,
}

/// What is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryParams {
    /// The session that was put aside; all of them, when it is absent.
    #[schema(max_length = 32, pattern = "^[0-9a-f]{32}$")]
    pub id: Option<String>,
}

/// What is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Retried {
    /// Sessions.
    pub queued: usize,
}

/// How the derived layers are cleared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClearParams {
    /// Also removes what would undo it.
    pub purge: bool,
}

/// What was cleared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cleared {
    /// The files that went.
    pub files: Vec<ClearedFile>,
    /// Generated files that a person has edited, and which stay.
    pub kept: Vec<String>,
}

/// A file that went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClearedFile {
    /// Its place.
    pub path: String,
    /// What brings it back; absent after a purge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}
