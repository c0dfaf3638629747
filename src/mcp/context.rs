//! `context`: what is worth knowing for a question.

use serde::Deserialize;
use utoipa::ToSchema;

use super::tool::{About, Effect, Told, ToolEntry};
use crate::request::Viewer;
use crate::wire::{ContextMode, ContextParams, ContextView};

/// What it is for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ContextWanted {
    /// What the user asked; without it what is worth knowing in any case.
    #[serde(default)]
    query: Option<String>,
    /// `full` for all layers.
    #[serde(default)]
    mode: Option<ContextMode>,
    /// Tokens at most.
    #[serde(default)]
    #[schema(minimum = 50, maximum = 100_000)]
    budget: Option<usize>,
}

impl Told for ContextView {
    fn text(&self) -> String {
        if self.text.is_empty() {
            return format!("Nothing is worth knowing for this: {}.\n", self.receipt.why);
        }
        self.text.clone()
    }

    fn line(&self) -> String {
        format!("{} tokens of memory ({}).", self.receipt.tokens, self.receipt.gate)
    }
}

pub(super) fn tool() -> ToolEntry {
    ToolEntry::new(
        About {
            name: "context",
            title: "What to know for this",
            description: "Gives the few lines of memory that a question is worth, each with its source: profile, earlier decisions, what \
                was said, passages; or nothing. Use it first, at the start of a task; `search` looks further.",
            effect: Effect::Reads,
        },
        |app, viewer: &Viewer, ContextWanted { query, mode, budget }| {
            app.context(viewer, &ContextParams { query, mode, budget, ..ContextParams::default() })
        },
    )
}
