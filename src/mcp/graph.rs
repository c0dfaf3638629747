//! `graph`: how notes are related.

use serde::Deserialize;
use utoipa::ToSchema;

use super::tool::{About, DATA, Effect, Render, ToolAction, ToolEntry, count};
use crate::app::App;
use crate::graph;
use crate::request::Viewer;
use crate::wire::{EntityView, FactState, GraphParams, GraphView};

/// Relations when nobody says how many.
const EDGES: usize = 30;

/// What of the graph.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct GraphArgs {
    /// Title, alias or path.
    #[serde(default)]
    name: Option<String>,
    /// `manages`.
    #[serde(default)]
    relation: Option<String>,
    /// `person`.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// Steps; else 2.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 5)]
    depth: Option<usize>,
    /// True on this day.
    #[serde(default)]
    as_of: Option<String>,
    /// Else 30.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

fn named(entity: &EntityView) -> String {
    let what = if entity.types.is_empty() { String::new() } else { format!(" ({})", entity.types.join(", ")) };
    format!("{}{what} [{}]", entity.title, entity.path)
}

impl Render for GraphView {
    fn text(&self) -> String {
        if self.entities.is_empty() {
            let near: Vec<String> = self.near.iter().map(named).collect();
            let near = if near.is_empty() { String::new() } else { format!(" These begin so: {}.", near.join(", ")) };
            return format!("There is nothing of the kind.{near}\n");
        }
        let (notes, edges) = (count(self.entities.len(), "note"), count(self.edges.len(), "relation"));
        let mut text = format!("{notes} and {edges}. {DATA}\n");
        let listed = self.entities.iter().filter(|entity| entity.distance == 0 || !entity.types.is_empty());
        listed.for_each(|entity| text += &format!("{}\n", named(entity)));
        for edge in &self.edges {
            let state = match edge.state {
                FactState::Expired => " (no longer)",
                FactState::Future => " (not yet)",
                FactState::Current | FactState::Retracted | FactState::Unset => "",
            };
            let sure = edge.confidence.map_or(String::new(), |share| format!(", confidence {share}"));
            text += &format!("{}{state}{sure} [{}]\n", edge.line(), edge.citation);
        }
        if self.cut {
            text += "There is more.\n";
        }
        text
    }
}

pub(super) fn tool() -> ToolEntry {
    let about = About {
        name: "graph",
        title: "Who is related",
        description: "Shows how a person, project or other note is related to others (who manages whom, who works where), each relation with its \
            line. Without `name`: all relations of a kind, or notes of a type.",
    };
    let run = |_: &App, viewer: &Viewer, args: GraphArgs| {
        let GraphArgs { name, relation, kind, depth, as_of, limit } = args;
        let limit = Some(limit.unwrap_or(EDGES));
        graph::graph(viewer, &GraphParams { name, relation, kind, depth, as_of, expired: None, limit })
    };
    ToolEntry::new(about, vec![ToolAction::only(Effect::Reads, run)])
}
