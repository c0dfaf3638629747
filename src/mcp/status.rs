//! `status`: what there is, as far as the caller sees it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::tool::{About, Effect, Told, ToolEntry, count};
use crate::notes;
use crate::request::Viewer;

/// Nothing is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StatusParams {}

/// What there is.
#[derive(Debug, Serialize, ToSchema)]
struct SeenStatus {
    /// Notes that can be found.
    notes: usize,
    /// Passages that can be found.
    passages: usize,
    /// Passages of each collection.
    collections: BTreeMap<String, usize>,
    /// How the vault and its index are; for the person alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    vault: Option<Value>,
}

impl Told for SeenStatus {
    fn text(&self) -> String {
        let mut text = format!("{}, {}.\n", count(self.notes, "note"), count(self.passages, "passage"));
        for (name, passages) in &self.collections {
            text += &format!("- {name}: {}\n", count(*passages, "passage"));
        }
        if let Some(vault) = &self.vault {
            text += &format!("\n{vault:#}\n");
        }
        text
    }
}

pub(super) fn tool() -> ToolEntry {
    ToolEntry::new(
        About {
            name: "status",
            title: "What there is",
            description: "Says how many notes and passages you can see, and in which collections (top-level folders) they are. \
                Use it once to learn what this memory holds, or when searches find nothing: with no notes in sight, the \
                person has not given you access.",
            effect: Effect::Reads,
        },
        |app, viewer: &Viewer, StatusParams {}| {
            let stats = notes::stats(viewer)?;
            let vault = match viewer.owner() {
                Some(owner) => serde_json::to_value(app.status(&owner)?).ok(),
                None => None,
            };
            Ok(SeenStatus { notes: stats.files, passages: stats.total, collections: stats.collections, vault })
        },
    )
}
