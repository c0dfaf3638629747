//! `entry`: lists and proposes entries.

use serde::Deserialize;
use utoipa::ToSchema;

use super::tool::{About, DATA, Effect, Render, ToolAction, ToolEntry, count};
use crate::app::App;
use crate::config::MemoryKind;
use crate::entries;
use crate::request::Viewer;
use crate::wire::{EntriesParams, EntriesView, EntryAddParams, EntryAdded};

/// Which entries.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EntryListArgs {
    /// What they are.
    #[serde(default)]
    #[schema(inline)]
    kind: Option<MemoryKind>,
    /// Tag.
    #[serde(default)]
    tag: Option<String>,
    /// Else 200.
    #[serde(default)]
    #[schema(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

/// What to remember.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EntryProposeArgs {
    /// One sentence.
    #[schema(min_length = 1)]
    text: String,
    /// What it is; else a fact.
    #[serde(default)]
    #[schema(inline)]
    kind: Option<MemoryKind>,
    /// How sure.
    #[serde(default)]
    #[schema(minimum = 0.0, maximum = 1.0)]
    confidence: Option<f64>,
    /// notes/api.md#L12.
    #[serde(default)]
    sources: Option<Vec<String>>,
}

impl Render for EntriesView {
    fn text(&self) -> String {
        if self.entries.is_empty() {
            return "There are no such entries.\n".to_owned();
        }
        let mut text = format!("{}. {DATA}\n", count(self.entries.len(), "entry").replace("entrys", "entries"));
        for entry in &self.entries {
            let trust = if entry.trust == "person" { String::new() } else { format!(", by {}", entry.trust) };
            text += &format!("- [{}] {} [{}{trust}]\n", entry.kind.word(), entry.text, entry.citation);
        }
        if self.cut {
            text += "There are more: ask for a kind or a tag.\n";
        }
        text
    }
}

impl Render for EntryAdded {
    fn text(&self) -> String {
        match self.status.as_str() {
            "pending" => "Proposed. It counts once the person accepts it.\n".to_owned(),
            "duplicate" => format!("{} says it already.\n", self.id),
            _ => format!("Added as {}.\n", self.id),
        }
    }
}

pub(super) fn tool() -> ToolEntry {
    let about = About {
        name: "entry",
        title: "What is known",
        description: "`list`: what is known of the person and accepted by them, a line each: preferences, decisions, commitments. `propose`: one \
            sentence to be known from now on; it waits until they accept it.",
    };
    let list = |_: &App, viewer: &Viewer, args: EntryListArgs| {
        let EntryListArgs { kind, tag, limit } = args;
        entries::entries(viewer, &EntriesParams { kind, tag, limit, ..EntriesParams::default() })
    };
    let propose = |_: &App, viewer: &Viewer, args: EntryProposeArgs| {
        let EntryProposeArgs { text, kind, confidence, sources } = args;
        entries::add(viewer, &EntryAddParams { kind, text, confidence, sources, ..EntryAddParams::default() })
    };
    let actions =
        vec![ToolAction::new("list", Effect::Reads, list), ToolAction::new("propose", Effect::Changes, propose)];
    ToolEntry::new(about, actions)
}
