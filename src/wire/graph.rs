//! The graph of notes: what is asked and answered.

use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use super::facts::FactState;

/// What of the graph; with nothing said, the notes that have a `type`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct GraphParams {
    /// The note from which to look around: its title, its file's name, an alias, or its path. Where none is called so, what names begin with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Only relations of this name; case and accents do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,
    /// Only notes with this `type`: person, company, place, project, tool, concept, event, or any other.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    #[param(rename = "type")]
    pub kind: Option<String>,
    /// How many steps away from the note, 1 to 5; 2 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 5)]
    pub depth: Option<usize>,
    /// What was true then: a date (its end), a time, or how long ago (`7d`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub as_of: Option<String>,
    /// Also relations whose time is over or has not come.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expired: Option<bool>,
    /// Relations at most, and notes where there are no relations, 1 to 1,000; 200 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// A part of the graph. What the caller does not see is not there, and nothing is reached through it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GraphView {
    /// The notes: those that were asked for first, the others by how many steps away they are.
    pub entities: Vec<EntityView>,
    /// How they are related: the nearest first, those with a name before those without, then the newest.
    pub edges: Vec<EdgeView>,
    /// Where no note is called so: those whose names begin so.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub near: Vec<EntityView>,
    /// Whether there is more than is given.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cut: bool,
}

/// A note of the graph.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EntityView {
    /// The note's path.
    pub path: String,
    /// Its title.
    pub title: String,
    /// What it is, as its property `type` says.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub types: Vec<String>,
    /// Its other names.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub aliases: Vec<String>,
    /// How many steps away it is from those that were asked for; 0 is one of them.
    pub distance: usize,
}

/// One line of a note that relates it to another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EdgeView {
    /// The path of the note that says so.
    pub from: String,
    /// Its title.
    pub from_title: String,
    /// The name of the relation; a plain link has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub relation: Option<String>,
    /// The path of the note that it leads to; there may be none of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// That note's title; where there is none, what is written.
    pub to_title: String,
    /// How many steps away from what was asked for it ends.
    pub distance: usize,
    /// Where its time stands with the moment that is asked about.
    pub state: FactState,
    /// From when it is true, as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_from: Option<String>,
    /// Until when, not included, as it is written.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub valid_to: Option<String>,
    /// How sure it is, 0 to 1, where that is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// The text of the line.
    pub text: String,
    /// Where it stands: `people/ann.md#L3`.
    pub citation: String,
}

impl EdgeView {
    /// What it says, in a line: `Ann —manages→ Bob (from 2026-03-09)`.
    pub fn line(&self) -> String {
        let name = self.relation.as_ref().map_or("→".to_owned(), |relation| format!("—{relation}→"));
        let part = |word: &str, at: &Option<String>| at.as_ref().map(|at| format!("{word} {at}"));
        let parts = [part("from", &self.valid_from), part("until", &self.valid_to)];
        let window = parts.into_iter().flatten().collect::<Vec<_>>().join(", ");
        let window = if window.is_empty() { window } else { format!(" ({window})") };
        format!("{} {name} {}{window}", self.from_title, self.to_title)
    }
}
