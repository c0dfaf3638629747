//! `context`: what is worth knowing for a question.

use serde::Deserialize;
use utoipa::ToSchema;

use super::tool::{About, Effect, Render, ToolAction, ToolEntry};
use crate::app::App;
use crate::request::Viewer;
use crate::wire::{ContextMode, ContextParams, ContextView};

/// What it is for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ContextArgs {
    /// The question; without it what is worth knowing in any case.
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

impl Render for ContextView {
    fn text(&self) -> String {
        if self.text.is_empty() {
            return format!("Nothing is worth knowing for this: {}.\n", self.receipt.why);
        }
        self.text.clone()
    }
}

pub(super) fn tool() -> ToolEntry {
    let about = About {
        name: "context",
        title: "What to know for this",
        description: "Gives the few lines of memory worth knowing for a question or task, each with its source, or nothing. \
            Use it first, at the start of a task; `search` looks further.",
    };
    let run = |app: &App, viewer: &Viewer, ContextArgs { query, mode, budget }: ContextArgs| {
        app.context(viewer, &ContextParams { query, mode, budget, ..ContextParams::default() })
    };
    ToolEntry::new(about, vec![ToolAction::only(Effect::Reads, run)])
}
