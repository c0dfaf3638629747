//! Facts: what is asked and answered.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

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
