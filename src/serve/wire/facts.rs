//! Facts, entries and the queue of proposals: what is asked and answered.

use clap::{ArgAction, Args};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::suggestions::SuggestionView;
use crate::base::config::MemoryKind;
pub use crate::text::derive::facts::FactState;

/// Reads a kind on a command line.
fn kind(text: &str) -> Result<MemoryKind, String> {
    let known: Vec<&str> = MemoryKind::ALL.into_iter().map(MemoryKind::word).collect();
    MemoryKind::of(text).ok_or_else(|| format!("use one of {}", known.join(", ")))
}

/// Reads a status on a command line.
fn state(text: &str) -> Result<EntryState, &'static str> {
    serde_json::from_value(text.into()).map_err(|_| "use one of active, superseded, pending, rejected, archived")
}

/// Which facts to return, and for which time.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FactsParams {
    /// Memory scopes, separated by commas: `user`, `system`, `orchestrator`, `project:mech`, `agent-type:coding`, `agent:ada`; `*` means all
    /// visible ones. Default `user`, for an agent its own first; with a `tag` all.
    #[arg(long, conflicts_with = "resolve")]
    pub scope: Option<String>,
    /// Memory scopes, the most specific first: for each key only the fact of the first scope that has it.
    #[arg(long, value_name = "SCOPES")]
    pub resolve: Option<String>,
    /// The headings above the fact, in lower case, joined by `/`; empty for none.
    pub namespace: Option<String>,
    /// Its key.
    #[arg(long)]
    pub key: Option<String>,
    /// Prefix of `namespace/key`.
    #[arg(long)]
    pub prefix: Option<String>,
    /// A tag of the fact itself, or one below it.
    #[arg(long)]
    pub tag: Option<String>,
    /// Facts that were true then: a date (its end), a time, or how long ago (`7d`).
    #[arg(long, value_name = "TIME")]
    pub as_of: Option<String>,
    /// Facts as known then; without `as_of` also those true then by that knowledge.
    #[arg(long, value_name = "TIME")]
    pub known_at: Option<String>,
    /// Facts that have changed since: a date, a time, or how long ago (`7d`).
    #[arg(long, value_name = "TIME")]
    pub changed_since: Option<String>,
    /// Include the changes and periods of each fact, and removed facts.
    #[arg(skip)]
    pub history: Option<bool>,
    /// Include past and future facts.
    #[arg(long, action = ArgAction::SetTrue)]
    pub expired: Option<bool>,
    /// Maximum facts, 1 to 1,000; default 200, or 10 for a `tag` in all scopes.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
}

/// Facts, by scope, namespace and key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactsView {
    /// The facts.
    pub facts: Vec<FactView>,
    /// Whether there are more than were returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// With `scope=*`, the memory scopes that have or had facts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// If a `key` was not found: facts with this key in other places, or at another time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<FactNear>,
    /// Problems in the files; only for the owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FactProblem>,
}

/// A fact with the same key elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactNear {
    /// Its memory scope.
    pub scope: String,
    /// The headings above it.
    pub namespace: String,
    /// Its key.
    pub key: String,
    /// Its citation.
    pub citation: String,
}

/// A fact.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactView {
    /// Its memory scope.
    pub scope: String,
    /// The headings above it, in lower case, joined by `/`.
    pub namespace: String,
    /// Its key.
    pub key: String,
    /// Its value: a text, a list or a map of texts, as written (`3.10` stays `3.10`); null if there is none.
    pub value: Value,
    /// Its state at the requested time.
    pub state: FactState,
    /// From when it is true, if known.
    pub valid_from: Option<String>,
    /// Until when, exclusive; absent: until further notice.
    pub valid_to: Option<String>,
    /// When it was learned.
    pub learned: Option<String>,
    /// Who wrote it: `owner`, `agent ada`, `edit` for the file itself, `git` for a commit.
    pub by: Option<String>,
    /// Where it was learned: `notes/api.md#L12`.
    pub source: Option<String>,
    /// Its own tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The file that it is in.
    pub path: String,
    /// Citation: `facts.md#L12`; only the file if it is no longer there.
    pub citation: String,
    /// The next value in the file, if that is still in the future.
    pub next: Option<FactWindowView>,
    /// Its changes, in the order in which they were learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<FactChangeView>,
    /// Its values and when each was true.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<FactWindowView>,
}

/// A change of a fact.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactChangeView {
    /// When it was noticed.
    pub learned: String,
    /// The kind of change: `set`, `corrected`, `was` (a past period), `unset`, `retracted`, or `was-not` (not true in a past period).
    pub change: String,
    /// The value before.
    pub old: Value,
    /// The value after.
    pub new: Value,
    /// From when it is true, as written.
    pub from: Option<String>,
    /// Until when, as written.
    pub until: Option<String>,
    /// Who did it.
    pub by: String,
    /// Where it was learned.
    pub source: Option<String>,
    /// The change's id.
    pub id: String,
}

/// A value, and when it was true.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactWindowView {
    /// The value.
    pub value: Value,
    /// Its start; absent: always.
    pub valid_from: Option<String>,
    /// Its end, exclusive; absent: until further notice.
    pub valid_to: Option<String>,
    /// Whether it was never true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retracted: bool,
}

/// A problem in a file of facts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactProblem {
    /// The file.
    pub path: String,
    /// The line, from 1, if the problem is in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// Whether the answer has nothing from the file.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unread: bool,
}

/// A fact to set.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct FactSetParams {
    /// The memory scope: `user`, `project:mech`, `agent-type:coding`, `system`, …; default `user`, for an agent its own, the only one that it may
    /// write.
    #[arg(long)]
    pub scope: Option<String>,
    /// The headings above it, in lower case, joined by `/`; missing ones are created.
    #[arg(skip)]
    pub namespace: Option<String>,
    /// The key: letters, digits, `_`, `-` and `.`, starting with a letter or `_`.
    #[arg(skip)]
    pub key: String,
    /// A text, a number, a list or a map.
    #[arg(skip)]
    pub value: Value,
    /// From when it is true: a date or a time; `0` for always; default now.
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Until when, exclusive. A past period is recorded in the history only, and does not change the present value.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Tags of the fact, replacing its present ones.
    #[arg(long = "tag", value_name = "TAG", help = "A tag; may be given more than once")]
    pub tags: Option<Vec<String>>,
    /// Where it was learned: `notes/api.md#L12`.
    #[arg(long, value_name = "PLACE")]
    pub source: Option<String>,
    /// The old value was never true.
    #[arg(long, action = ArgAction::SetTrue)]
    pub correct: Option<bool>,
    /// The expected present value, as written or as JSON; empty for none. If it differs, nothing is written.
    #[arg(long, value_name = "VALUE")]
    pub if_value: Option<String>,
}

/// A fact by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct FactNameParams {
    /// The memory scope, as for setting one.
    #[arg(long)]
    pub scope: Option<String>,
    /// The headings above it.
    #[arg(skip)]
    pub namespace: Option<String>,
    /// Its key.
    #[arg(skip)]
    pub key: String,
}

/// A fact that was never true.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct FactRetractParams {
    /// The memory scope, as for setting one.
    #[arg(long)]
    pub scope: Option<String>,
    /// The headings above it.
    #[arg(skip)]
    pub namespace: Option<String>,
    /// Its key.
    #[arg(skip)]
    pub key: String,
    /// With `until`: start of the past period in which the fact was not true, a date or a time; `0` for always. The present value stays.
    #[arg(long, value_name = "TIME", requires = "until")]
    pub from: Option<String>,
    /// Until when, exclusive; it must be in the past.
    #[arg(long, value_name = "TIME", requires = "from")]
    pub until: Option<String>,
}

/// The result of a change to a fact.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactWrittenView {
    /// Always true.
    pub ok: bool,
    /// The memory scope.
    pub scope: String,
    /// The headings above it.
    pub namespace: String,
    /// Its key.
    pub key: String,
    /// The value before, as written.
    pub before: Option<String>,
    /// The file.
    pub path: String,
    /// Checkpoint that undoes it; absent if nothing changed.
    pub checkpoint_id: Option<String>,
    /// Whether secrets were removed from the value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Whether it was purged before; only for the owner.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten_before: bool,
}

/// Which entries to return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EntriesParams {
    /// The agent whose memory it is, by its folder; default the owner's, for an agent its own first.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Filter by status: active (the default), superseded, pending, rejected, archived. Only the owner sees `pending` and `archived`.
    #[param(inline)]
    #[arg(long, value_parser = state)]
    pub status: Option<EntryState>,
    /// Filter by kind: fact, preference, decision, correction, commitment, relationship, skill.
    #[param(inline)]
    #[arg(long, value_parser = kind)]
    pub kind: Option<MemoryKind>,
    /// A tag of the entry itself, or one below it.
    #[arg(long)]
    pub tag: Option<String>,
    /// Maximum entries, 1 to 1,000; default 200.
    #[arg(short = 'n', long, value_name = "N")]
    pub limit: Option<usize>,
}

/// The status of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryState {
    /// Proposed, and not accepted yet.
    Pending,
    /// In effect.
    Active,
    /// Replaced by another entry.
    Superseded,
    /// Proposed and rejected.
    Rejected,
    /// Archived.
    Archived,
}

/// Entries of a memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EntriesView {
    /// The entries.
    pub entries: Vec<EntryView>,
    /// Whether there are more than were returned.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The agents that have a memory of entries; only for the owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// Problems in the files: path, line, message; only for the owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// An entry.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EntryView {
    /// Its permanent id: the block id of its line.
    pub id: String,
    /// Its kind.
    pub kind: MemoryKind,
    /// Its text.
    pub text: String,
    /// Its confidence, 0 to 1.
    pub confidence: f64,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// From when it is true, as written.
    pub from: Option<String>,
    /// Until when, exclusive.
    pub until: Option<String>,
    /// Where it was learned: `conversations/2026-03-02.md#L12-L14`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The events of the agent's traces that it was learned from, by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// Its status.
    pub status: EntryState,
    /// The id of the entry that replaced it.
    pub superseded_by: Option<String>,
    /// Why it was rejected.
    pub reason: Option<String>,
    /// Its origin: `person`, `agent`, `tool`, `web`.
    pub trust: String,
    /// The agent whose memory it is; absent: the owner's.
    pub agent: Option<String>,
    /// Citation: `memories/user.md#L12`.
    pub citation: String,
}

/// An entry to add; an agent proposes it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct EntryAddParams {
    /// The agent whose memory it is for; default the owner's. An agent proposes for its own.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Its kind, default fact: fact, preference, decision, correction, commitment, relationship, skill.
    #[arg(long, value_parser = kind)]
    pub kind: Option<MemoryKind>,
    /// Its text, on one line.
    pub text: String,
    /// Its confidence, 0 to 1; default 1, for a proposal of an agent 0.8.
    #[arg(long, value_name = "N")]
    pub confidence: Option<f64>,
    /// Its tags.
    #[arg(long = "tag", value_name = "TAG", help = "A tag; may be given more than once")]
    pub tags: Option<Vec<String>>,
    /// From when it is true: a date, a time, or 0.
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Until when, exclusive.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
    /// Where it was learned: `notes/api.md#L12`.
    #[arg(
        long = "source",
        value_name = "PLACE",
        help = "Where it was learned: notes/api.md#L12; may be given more than once"
    )]
    pub sources: Option<Vec<String>>,
}

/// The result of adding an entry.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EntryAdded {
    /// Always true.
    pub ok: bool,
    /// Its id, or that of the entry that already says it.
    pub id: String,
    /// `active`; `pending` until the owner accepts it; `duplicate` if another entry already says it.
    pub status: String,
    /// The entry that it contradicts; only for the owner.
    pub contradicts: Option<String>,
    /// The entry that it replaces; only for the owner.
    pub supersedes: Option<String>,
    /// Whether secrets were removed from it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Entries that were archived, as there are more than 500.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archived: Vec<String>,
    /// Checkpoints that undo it, in this order; only for the owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_ids: Vec<String>,
    /// Why it was compared with known entries only by words, although a model should compare the meaning; only for the owner.
    pub degraded: Option<String>,
}

/// A change to an entry.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct EntryEditParams {
    /// Its id: `e-7f3a2b9c`.
    pub id: String,
    /// The agent whose memory it is in; default the owner's.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Its new text.
    pub text: Option<String>,
    /// Its kind.
    #[arg(long, value_parser = kind)]
    pub kind: Option<MemoryKind>,
    /// Its confidence, 0 to 1.
    #[arg(long, value_name = "N")]
    pub confidence: Option<f64>,
    /// Its tags; an empty list removes all.
    #[arg(skip)]
    pub tags: Option<Vec<String>>,
    /// From when it is true; empty removes it.
    #[arg(long, value_name = "TIME")]
    pub from: Option<String>,
    /// Until when; empty removes it.
    #[arg(long, value_name = "TIME")]
    pub until: Option<String>,
}

/// Which entry to remove.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct EntryRemoveParams {
    /// Its id: `e-7f3a2b9c`.
    pub id: String,
    /// The agent whose memory it is in; default the owner's.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Archive it, with the entries that it replaced; otherwise it is deleted, and they are active again.
    #[arg(long, action = ArgAction::SetTrue)]
    pub archive: Option<bool>,
}

/// A new text for a file of entries.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntriesRewriteParams {
    /// The agent whose memory it is; default the owner's.
    pub agent: Option<String>,
    /// The whole text of the file.
    pub content: String,
    /// Whether it may drop more than a quarter of the entries.
    pub allow_loss: Option<bool>,
}

/// A rewritten file of entries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntriesRewritten {
    /// Always true.
    pub ok: bool,
    /// Number of entries now.
    pub entries: usize,
    /// Checkpoint that undoes it; absent if nothing changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// A changed entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntryChanged {
    /// Always true.
    pub ok: bool,
    /// Its id.
    pub id: String,
    /// Checkpoints that undo it, in this order; none if nothing changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_ids: Vec<String>,
}

/// Which proposals to return.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReviewParams {
    /// Only for this agent's memory; default all, the owner's first.
    #[arg(long, value_name = "NAME")]
    pub agent: Option<String>,
    /// Only those learned from this note.
    #[arg(long, value_name = "PATH")]
    pub source: Option<String>,
    /// Maximum proposals, 1 to 1,000; default 100.
    #[arg(skip)]
    pub limit: Option<usize>,
}

/// The waiting proposals.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReviewView {
    /// In order of creation, the owner's first.
    pub proposals: Vec<ProposalView>,
    /// The edits of notes that agents suggest, the oldest first.
    #[serde(default)]
    pub suggestions: Vec<SuggestionView>,
    /// The entries and facts of which it is to be said whether they are still true, at most 100, the longest due first.
    #[serde(default)]
    pub checks: Vec<CheckView>,
    /// Number of further waiting proposals.
    pub more: usize,
    /// Why they were compared with known entries only by words, although a model should compare the meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// An entry or a fact of which it is to be said whether it is still true.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckView {
    /// The id of an entry, or `namespace/key` of a fact.
    pub id: String,
    /// The memory scope: `user`, `agent:ada`, `project:mech`, ….
    pub scope: String,
    /// The kind of the entry; `fact` for a fact.
    pub kind: MemoryKind,
    /// What it says; of a fact its value as written.
    pub text: String,
    /// Where.
    pub citation: String,
    /// The day on which it was due.
    pub due: String,
    /// The day on which it was last known: confirmed, begun or learned.
    pub since: Option<String>,
    /// When it was last confirmed.
    pub confirmed: Option<String>,
}

/// Whether something is still true.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckAnswer {
    /// It is.
    #[default]
    Yes,
    /// Something else is; what was true stays as history.
    Changed,
    /// It is not, and nothing has taken its place; what was true stays as history.
    Gone,
}

/// Says whether an entry or a fact is still true.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckAnswerParams {
    /// The id of an entry, or `namespace/key` of a fact.
    pub id: String,
    /// The memory scope; default `user`.
    pub scope: Option<String>,
    /// The answer.
    pub answer: CheckAnswer,
    /// What is true now; for `changed` alone.
    pub text: Option<String>,
}

/// The result of an answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CheckAnswered {
    /// Always true.
    pub ok: bool,
    /// Checkpoints that undo it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_ids: Vec<String>,
}

/// A proposal, and the known entry that it affects.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProposalView {
    /// The proposed entry.
    pub entry: EntryView,
    /// Its relation to known entries: `new`, `duplicate`, `contradicts` or `supersedes`.
    pub verdict: String,
    /// The entry that it duplicates, contradicts or supersedes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<EntryView>,
    /// The difference: known (`-`) and proposed (`+`), line by line.
    pub diff: Vec<String>,
    /// Quotes of its sources.
    pub quotes: Vec<SourceQuote>,
}

/// A quote of a source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceQuote {
    /// Where: `conversations/2026-03-02.md#L12-L14`.
    pub citation: String,
    /// Its lines; absent if they no longer exist.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// Decisions on proposals: if one is invalid, none takes effect.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewDecisions {
    /// The decisions.
    pub decisions: Vec<ReviewDecision>,
}

/// A decision on a proposal, or on all from a note.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewDecision {
    /// The id of the proposal.
    pub id: Option<String>,
    /// All proposals learned from this note, such as a conversation.
    pub all_of: Option<String>,
    /// The agent whose memory it is in; default the owner's.
    pub agent: Option<String>,
    /// `true` accepts, `false` rejects.
    pub accept: bool,
    /// Why it is rejected.
    pub reason: Option<String>,
    /// A new text, if it is accepted.
    pub text: Option<String>,
    /// The entry that it replaces, if it is accepted; default the one that it refines or corrects.
    pub supersedes: Option<String>,
}

/// The result of the decisions.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reviewed {
    /// Always true.
    pub ok: bool,
    /// Ids of accepted proposals.
    pub accepted: Vec<String>,
    /// Ids of rejected proposals.
    pub rejected: Vec<String>,
    /// Ids without a waiting proposal.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// Entries that were archived, as there are more than 500.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archived: Vec<String>,
    /// Checkpoints that undo it, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_ids: Vec<String>,
}
