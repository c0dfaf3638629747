//! `status`: what there is, as far as the caller sees it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use super::tool::{About, Effect, Render, ToolAction, ToolEntry, count};
use crate::app::App;
use crate::notes;
use crate::request::Viewer;

/// Nothing is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct StatusArgs {}

/// What there is.
#[derive(Debug, Serialize)]
struct SeenStatus {
    /// Notes that can be found.
    notes: usize,
    /// Passages that can be found.
    passages: usize,
    /// Passages of each collection.
    collections: BTreeMap<String, usize>,
    /// How the vault and its index are; for the person alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    vault: Option<Value>,
}

impl Render for SeenStatus {
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
    let about = About {
        name: "status",
        title: "What there is",
        description: "Says how many notes you can see, and in which collections (folders). With none, the person has given you no access.",
    };
    let run = |app: &App, viewer: &Viewer, StatusArgs {}: StatusArgs| {
        let stats = notes::stats(viewer)?;
        let vault = match viewer.owner() {
            Some(owner) => serde_json::to_value(app.status(&owner)?).ok(),
            None => None,
        };
        Ok(SeenStatus { notes: stats.files, passages: stats.total, collections: stats.collections, vault })
    };
    ToolEntry::new(about, vec![ToolAction::only(Effect::Reads, run)])
}
