//! The layers of a memory, by the notes that are in each.

use serde::{Deserialize, Serialize};

/// One of the layers in which notes are searched. Each note is in one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryLayer {
    /// What is remembered line by line: `memories/`, and each agent's `entries.md`.
    Entries,
    /// Conversations.
    Conversations,
    /// Summaries, as long as `[memory] summary_retention_days` says.
    Summaries,
    /// Notes of persons, companies, places, projects, tools, concepts and events, and those that say by a name how they are related.
    Graph,
    /// All others.
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
