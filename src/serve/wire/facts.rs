//! Facts, entries and the queue of proposals: what is asked and answered.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use crate::base::config::MemoryKind;

/// Which facts, and of when.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct FactsParams {
    /// Memory scopes, separated by commas: `user`, `system`, `orchestrator`, `project:mech`, `agent-type:coding`, `agent:ada`; `*` is all
    /// that are seen. Else `user`, and for an agent its own before it; with a `tag` all.
    pub scope: Option<String>,
    /// Memory scopes, the most specific first: of each key only the fact of the first scope that has it.
    pub resolve: Option<String>,
    /// The headings above the fact, in lower case, joined by `/`; empty for none.
    pub namespace: Option<String>,
    /// Its key.
    pub key: Option<String>,
    /// What namespace and key, joined by `/`, begin with.
    pub prefix: Option<String>,
    /// A tag of the fact itself, or one below it.
    pub tag: Option<String>,
    /// What was true then: a date (its end), a time, or how long ago (`7d`).
    pub as_of: Option<String>,
    /// What was known then; without `as_of` also what was true then by that knowledge.
    pub known_at: Option<String>,
    /// Facts that have changed since.
    pub changed_since: Option<String>,
    /// With each fact its changes and its windows, and the facts that are no more.
    pub history: Option<bool>,
    /// Also facts whose time is over or has not come.
    pub expired: Option<bool>,
    /// Facts at most, 1 to 1,000; when it is not said 200, or 10 of a `tag` in all scopes.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// Facts, by scope, namespace and key.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactsView {
    /// The facts.
    pub facts: Vec<FactView>,
    /// Whether there are more than are given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// With `scope=*`, the memory scopes that have facts, or had some.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scopes: Vec<String>,
    /// Where nothing was found by a `key`: facts that are called so elsewhere, or at another time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<FactNear>,
    /// What of the files asked cannot be read as it was meant; the person's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<FactProblem>,
}

/// A fact that may have been meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactNear {
    /// The memory scope that it is of.
    pub scope: String,
    /// The headings above it.
    pub namespace: String,
    /// Its key.
    pub key: String,
    /// Where it stands.
    pub citation: String,
}

/// A fact.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactView {
    /// The memory scope that it is of.
    pub scope: String,
    /// The headings above it, in lower case, joined by `/`.
    pub namespace: String,
    /// Its key.
    pub key: String,
    /// Its value: a text, a list or a map of texts, as written (`3.10` stays `3.10`); null where there is none.
    pub value: Value,
    /// Where it stands with the moment that is asked about.
    pub state: FactState,
    /// From when it is true, if that is said or known.
    pub valid_from: Option<String>,
    /// Until when, not included; until further notice where it is missing.
    pub valid_to: Option<String>,
    /// When it was learned.
    pub learned: Option<String>,
    /// Who said so: `owner`, `agent ada`, `edit` for the file itself, `git` for a commit.
    pub by: Option<String>,
    /// Where it was learned: `notes/api.md#L12`.
    pub source: Option<String>,
    /// Its own tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// The file that it is in.
    pub path: String,
    /// Where it stands: `facts.md#L12`; the file where it stands in it no more.
    pub citation: String,
    /// What the file says instead, where that is still to begin.
    pub next: Option<FactWindowView>,
    /// Its changes, in the order in which they were learned.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub history: Vec<FactChangeView>,
    /// What was true when, by what is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub windows: Vec<FactWindowView>,
}

/// Where a fact stands with a moment.
#[derive(Debug, Clone, Default, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FactState {
    /// It is true.
    #[default]
    Current,
    /// It was.
    Expired,
    /// It is to be.
    Future,
    /// It was never true.
    Retracted,
    /// It has no value any more.
    Unset,
}

/// A change of a fact.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactChangeView {
    /// When it was noticed.
    pub learned: String,
    /// What became of it: `set`, `corrected`, `was` (a span of the past), `unset`, `retracted`, or `was-not` (never true in such a span).
    pub change: String,
    /// The value before.
    pub old: Value,
    /// The value after.
    pub new: Value,
    /// From when it is true, as it was said.
    pub from: Option<String>,
    /// Until when, as it was said.
    pub until: Option<String>,
    /// Who did it.
    pub by: String,
    /// Where it was learned.
    pub source: Option<String>,
    /// The change's name.
    pub id: String,
}

/// A value, and when it was true.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FactWindowView {
    /// The value.
    pub value: Value,
    /// The first moment; always where it is missing.
    pub valid_from: Option<String>,
    /// The first moment after it; until further notice where it is missing.
    pub valid_to: Option<String>,
    /// Whether it was never true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retracted: bool,
}

/// Something in a file of facts that cannot be read as it was meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FactProblem {
    /// The file.
    pub path: String,
    /// The line, from 1, where it is of one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
    /// Whether nothing of the file is in the answer.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_unread: bool,
}

/// A fact to set.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactSetParams {
    /// The memory scope; `user` when it is not said, and for an agent its own, which is the only one that it writes.
    pub scope: Option<String>,
    /// The headings above it, in lower case, joined by `/`; those that are missing are made.
    pub namespace: Option<String>,
    /// Letters, digits, `_`, `-` and `.`, a letter or `_` first.
    pub key: String,
    /// A text, a number, a list or a map.
    pub value: Value,
    /// From when it is true: a date or a time; `0` for always. From now on when it is not said.
    pub from: Option<String>,
    /// Until when, not included. A span that is over is noted in the history, and changes nothing about now.
    pub until: Option<String>,
    /// Tags of the fact in place of those that it has.
    pub tags: Option<Vec<String>>,
    /// Where it was learned: `notes/api.md#L12`.
    pub source: Option<String>,
    /// The value that was there was never true.
    pub correct: Option<bool>,
    /// The value that it has to have now, as written or as JSON; empty for none. Else nothing is written.
    pub if_value: Option<String>,
}

/// A fact that is meant.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactNameParams {
    /// The memory scope, as for setting one.
    pub scope: Option<String>,
    /// The headings above it.
    pub namespace: Option<String>,
    /// Its key.
    pub key: String,
}

/// A fact that was never true.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct FactRetractParams {
    /// The memory scope, as for setting one.
    pub scope: Option<String>,
    /// The headings above it.
    pub namespace: Option<String>,
    /// Its key.
    pub key: String,
    /// With `until`, from when what is known of that span was not true: a date or a time; `0` for always. The value of now stays.
    pub from: Option<String>,
    /// Until when, not included; it is over.
    pub until: Option<String>,
}

/// What became of a fact.
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
    /// Undoes it; missing where the file said so already.
    pub checkpoint_id: Option<String>,
    /// Whether secrets were taken out of the value.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Whether it was forgotten for good before; the person's alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forgotten_before: bool,
}

/// Which entries.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EntriesParams {
    /// The agent whose memory it is, by its folder; else the person's, and for an agent its own before that.
    pub agent: Option<String>,
    /// What became of them; those that count when it is not said. What waits or was set aside is the person's alone.
    #[param(inline)]
    pub status: Option<EntryState>,
    /// What they are.
    #[param(inline)]
    pub kind: Option<MemoryKind>,
    /// A tag of the entry itself, or one below it.
    pub tag: Option<String>,
    /// Entries at most, 1 to 1,000; 200 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// What became of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EntryState {
    /// It was proposed, and nobody has accepted it.
    Pending,
    /// It counts.
    Active,
    /// Another says what is so now.
    Superseded,
    /// It was proposed and refused.
    Rejected,
    /// It was set aside.
    Archived,
}

/// Entries of a memory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EntriesView {
    /// The entries.
    pub entries: Vec<EntryView>,
    /// Whether there are more than are given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
    /// The agents that have a memory of entries; the person's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub agents: Vec<String>,
    /// What of the files asked cannot be read as it was meant: path, line, message; the person's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub problems: Vec<String>,
}

/// An entry.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EntryView {
    /// Its name, which lasts: the block id of its line.
    pub id: String,
    /// What it is.
    pub kind: MemoryKind,
    /// What it says.
    pub text: String,
    /// How sure it is, 0 to 1.
    pub confidence: f64,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// From when it is so, as it was written.
    pub from: Option<String>,
    /// Until when, not included.
    pub until: Option<String>,
    /// Where it was learned: `conversations/2026-03-02.md#L12-L14`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<String>,
    /// The events of the agent's traces that it was learned from, by their ids.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence: Vec<String>,
    /// What became of it.
    pub status: EntryState,
    /// The name of the entry that took its place.
    pub superseded_by: Option<String>,
    /// Why it was rejected.
    pub reason: Option<String>,
    /// By whose word it is known: `person`, `agent`, `tool`, `web`.
    pub trust: String,
    /// The agent whose memory it is; the person's where it is missing.
    pub agent: Option<String>,
    /// Where it stands: `memories/user.md#L12`.
    pub citation: String,
}

/// An entry to add; of an agent, to propose.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryAddParams {
    /// The agent whose memory it is for; else the person's. An agent proposes for its own.
    pub agent: Option<String>,
    /// What it is; a fact when it is not said.
    pub kind: Option<MemoryKind>,
    /// What it says, on one line.
    pub text: String,
    /// How sure it is, 0 to 1; 1 when it is not said, and 0.8 of what an agent proposes.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub confidence: Option<f64>,
    /// Its tags.
    pub tags: Option<Vec<String>>,
    /// From when it is so: a date, a time, or 0.
    pub from: Option<String>,
    /// Until when, not included.
    pub until: Option<String>,
    /// Where it was learned: `notes/api.md#L12`.
    pub sources: Option<Vec<String>>,
}

/// What became of an entry that was added.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EntryAdded {
    /// Always.
    pub ok: bool,
    /// Its name, or that of the entry that says it already.
    pub id: String,
    /// `active`; `pending` until the person accepts it; `duplicate` where another says it already.
    pub status: String,
    /// The entry that says something else of the same; the person's alone.
    pub contradicts: Option<String>,
    /// The entry whose place it takes; the person's alone.
    pub supersedes: Option<String>,
    /// Whether secrets were taken out of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// Entries that went to the archive, as there are more than `max_entries`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archived: Vec<String>,
    /// Undo it with these, in this order; the person's alone.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_ids: Vec<String>,
    /// Why it was compared with what is known by its words alone, where a model is to compare the meaning; the person's alone.
    pub degraded: Option<String>,
}

/// What an entry is to say instead.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryEditParams {
    /// Its name.
    pub id: String,
    /// The agent whose memory it is of; else the person's.
    pub agent: Option<String>,
    /// What it says from now on.
    pub text: Option<String>,
    /// What it is.
    pub kind: Option<MemoryKind>,
    /// How sure it is, 0 to 1.
    #[schema(minimum = 0.0, maximum = 1.0)]
    pub confidence: Option<f64>,
    /// Its tags; none take away those there are.
    pub tags: Option<Vec<String>>,
    /// From when it is so; empty takes it away.
    pub from: Option<String>,
    /// Until when; empty takes it away.
    pub until: Option<String>,
}

/// Which entry goes.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntryRemoveParams {
    /// Its name.
    pub id: String,
    /// The agent whose memory it is of; else the person's.
    pub agent: Option<String>,
    /// Whether it goes to the archive, with those that it took the place of; else it is gone, and they count again.
    pub archive: Option<bool>,
}

/// What a file of entries is to say from now on.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct EntriesRewriteParams {
    /// The agent whose memory it is; else the person's.
    pub agent: Option<String>,
    /// All of the file.
    pub content: String,
    /// Whether it may drop more than a quarter of the entries.
    pub allow_loss: Option<bool>,
}

/// A file of entries was written anew.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntriesRewritten {
    /// Always.
    pub ok: bool,
    /// How many entries there are now.
    pub entries: usize,
    /// Undoes it; missing where the file says what it said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// An entry was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntryChanged {
    /// Always.
    pub ok: bool,
    /// Its name.
    pub id: String,
    /// Undo it with these, in this order; none where the file says what it said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_ids: Vec<String>,
}

/// Which proposals.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ReviewParams {
    /// Those for this agent's memory; else all, the person's first.
    pub agent: Option<String>,
    /// Those that were learned from this note.
    pub source: Option<String>,
    /// Proposals at most, 1 to 1,000; 100 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The proposals that wait.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReviewView {
    /// In the order in which they were made, the person's first.
    pub proposals: Vec<ProposalView>,
    /// How many more wait.
    pub more: usize,
    /// Why they were compared with what is known by their words alone, where a model is to compare the meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub degraded: Option<String>,
}

/// A proposal, beside what is known.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProposalView {
    /// What is proposed.
    pub entry: EntryView,
    /// What it is to what is known: `new`, `duplicate`, `contradicts` or `supersedes`.
    pub verdict: String,
    /// The entry that it says the same, something else or more than.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub known: Option<EntryView>,
    /// What is known (`-`) and what would be (`+`), line by line.
    pub diff: Vec<String>,
    /// What its sources say.
    pub quotes: Vec<SourceQuote>,
}

/// What a source says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SourceQuote {
    /// Where: `conversations/2026-03-02.md#L12-L14`.
    pub citation: String,
    /// Its lines; missing where they are not there any more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

/// What is decided about proposals: all of it, or nothing where something makes no sense.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewDecisions {
    /// Each decision.
    pub decisions: Vec<ReviewDecision>,
}

/// What is decided about a proposal, or about all of a note.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ReviewDecision {
    /// The name of the proposal.
    pub id: Option<String>,
    /// All proposals that were learned from this note, as of a conversation.
    pub all_of: Option<String>,
    /// The agent whose memory it is for; else the person's.
    pub agent: Option<String>,
    /// Whether it is accepted; else it is rejected.
    pub accept: bool,
    /// Why it is rejected.
    pub reason: Option<String>,
    /// What it is to say instead, where it is accepted.
    pub text: Option<String>,
    /// The entry whose place it takes, where it is accepted; else the one that it refines or corrects.
    pub supersedes: Option<String>,
}

/// What became of the proposals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Reviewed {
    /// Always.
    pub ok: bool,
    /// The names of those that count from now on.
    pub accepted: Vec<String>,
    /// The names of those that were rejected.
    pub rejected: Vec<String>,
    /// Names under which nothing waits.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub absent: Vec<String>,
    /// Entries that went to the archive, as there are more than `max_entries`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub archived: Vec<String>,
    /// Undo it with these, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checkpoint_ids: Vec<String>,
}
