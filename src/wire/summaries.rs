//! Summaries and digests: what is asked and answered.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

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
    pub kept: Vec<KeptAsEdited>,
}

/// A file that stays as it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct KeptAsEdited {
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
    pub kept: Vec<KeptAsEdited>,
}
