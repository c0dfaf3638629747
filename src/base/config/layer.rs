//! The layers of a memory, by the notes that are in each.

use serde::{Deserialize, Serialize};

/// A layer of the memory. Each note is in exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryLayer {
    /// Memory entries: `memories/`, and each agent's `entries.md`.
    Entries,
    /// Conversations.
    Conversations,
    /// Summaries, not older than `[memory] summary_retention_days`.
    Summaries,
    /// Notes about persons, companies, places, projects, tools, concepts and events, and notes with named relations.
    Graph,
    /// All other notes.
    Notes,
}

impl MemoryLayer {
    /// The layer with a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Some(match name.to_lowercase().as_str() {
            "entries" => Self::Entries,
            "conversations" => Self::Conversations,
            "summaries" => Self::Summaries,
            "graph" => Self::Graph,
            "notes" => Self::Notes,
            _ => return None,
        })
    }
}
