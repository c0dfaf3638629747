//! Entries: `entry_list`, `entry_propose`.

use serde::Deserialize;
use utoipa::ToSchema;

use super::search::DATA;
use super::tool::{About, Effect, Told, ToolEntry, count};
use crate::config::MemoryKind;
use crate::entries;
use crate::request::Viewer;
use crate::wire::{EntriesParams, EntriesView, EntryAddParams, EntryAdded};

/// Which entries.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct EntriesMeant {
    /// What they are.
    #[serde(default)]
    #[schema(inline)]
    kind: Option<MemoryKind>,
    /// A tag of theirs.
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
struct EntryProposed {
    /// One sentence.
    #[schema(min_length = 1)]
    text: String,
    /// What it is; else a fact.
    #[serde(default)]
    #[schema(inline)]
    kind: Option<MemoryKind>,
    /// How sure it is.
    #[serde(default)]
    #[schema(minimum = 0.0, maximum = 1.0)]
    confidence: Option<f64>,
    /// Where it was learned: conversations/2026-03-02.md#L12-L14.
    #[serde(default)]
    sources: Option<Vec<String>>,
}

impl Told for EntriesView {
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

impl Told for EntryAdded {
    fn text(&self) -> String {
        match self.status.as_str() {
            "pending" => "Proposed. It counts once the person accepts it.\n".to_owned(),
            "duplicate" => format!("{} says it already.\n", self.id),
            _ => format!("Added as {}.\n", self.id),
        }
    }
}

pub(super) fn tools() -> Vec<ToolEntry> {
    vec![
        ToolEntry::new(
            About {
                name: "entry_list",
                title: "List what is known",
                description: "Lists entries of memory: preferences, decisions, commitments and facts that the person has accepted, each with \
                    its place. Yours come first.",
                effect: Effect::Reads,
            },
            |_, viewer: &Viewer, meant: EntriesMeant| {
                let EntriesMeant { kind, tag, limit } = meant;
                entries::entries(viewer, &EntriesParams { kind, tag, limit, ..EntriesParams::default() })
            },
        ),
        ToolEntry::new(
            About {
                name: "entry_propose",
                title: "Propose an entry",
                description: "Proposes one thing for your memory, in one sentence. It waits until the person accepts it.",
                effect: Effect::Replaces,
            },
            |_, viewer: &Viewer, proposed: EntryProposed| {
                let EntryProposed { text, kind, confidence, sources } = proposed;
                entries::add(viewer, &EntryAddParams { kind, text, confidence, sources, ..EntryAddParams::default() })
            },
        ),
    ]
}
