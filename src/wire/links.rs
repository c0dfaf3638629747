//! The links of a note, there and back.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

/// Which note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LinksParams {
    /// Its path in the vault.
    pub path: String,
    /// Links of each kind at most, 1 to 1,000; 200 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The links of a note. What the caller does not see is not there: a link to it leads nowhere.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinksView {
    /// The note's path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its links that lead to a note, in the order of the text.
    pub outgoing: Vec<LinkView>,
    /// The links of other notes that lead to it, in the order of their paths.
    pub incoming: Vec<Backlink>,
    /// Its links that lead to no note.
    pub unresolved: Vec<LinkView>,
    /// Whether there are more of a kind than are given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A link of a note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LinkView {
    /// The path of the note that it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// That note's title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// What is written: a name or a path, without heading and block.
    pub target: String,
    /// The heading that it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// The block that it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// What is shown in its place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alias: Option<String>,
    /// Whether the note is shown where the link stands (`![[…]]`).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub embeds: bool,
    /// Its line, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
}

/// A link from another note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Backlink {
    /// The path of the note that has it.
    pub path: String,
    /// That note's title.
    pub title: String,
    /// The heading that it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
    /// The block that it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub block: Option<String>,
    /// Its line, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// Where it stands: `notes/plan.md#L3`.
    pub citation: String,
}

/// How many links that lead nowhere.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct UnresolvedParams {
    /// Links at most, 1 to 1,000; 200 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The links of a whole vault that lead to no note, in the order of the notes' paths.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnresolvedView {
    /// The first of them.
    pub links: Vec<UnresolvedLink>,
    /// How many there are.
    pub total: usize,
}

/// A link that leads to no note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct UnresolvedLink {
    /// What is written: a name or a path, without heading and block.
    pub target: String,
    /// The path of the note that has it.
    pub path: String,
    /// Its line, from 1.
    pub line: usize,
    /// The text of that line.
    pub text: String,
    /// Where it stands: `notes/plan.md#L3`.
    pub citation: String,
}
