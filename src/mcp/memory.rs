//! `memory`: what an agent keeps for itself.

use serde::Deserialize;
use utoipa::ToSchema;

use super::search::Hits;
use super::tool::{About, DATA, Effect, Render, ToolAction, ToolEntry, count};
use crate::app::App;
use crate::memory;
use crate::request::{MemoryWriter, RequestError};
use crate::wire::{
    MemoryChange, MemoryDeleteParams, MemoryFiles, MemoryForgetParams, MemoryForgotten, MemoryGetParams,
    MemoryRestoreParams, MemorySaveParams, MemorySearchParams, MemoryText,
};

impl Render for MemoryText {
    fn text(&self) -> String {
        let more = if self.cut { "\n(There is more: ask on from the next line.)\n" } else { "" };
        format!("[{}] {DATA}\n\n{}\n{more}", self.citation, self.text.trim_end())
    }
}

impl Render for MemoryChange {
    fn text(&self) -> String {
        let mut text = match (self.matches_removed, self.file_deleted) {
            (_, true) => format!("{} is gone.", self.path),
            (Some(1), false) => format!("Deleted from {}.", self.path),
            (Some(times), false) => format!("Deleted from {}, {}.", self.path, count(times, "time")),
            (None, false) => format!("{} is saved.", self.path),
        };
        if self.redacted {
            text += " Secrets were taken out of the text.";
        }
        if !self.searchable {
            text += " Searches find it as it is now in a moment.";
        }
        text + &format!(" Checkpoint {} undoes it.\n", self.checkpoint_id)
    }
}

impl Render for MemoryForgotten {
    fn text(&self) -> String {
        let mut text = match (self.deleted.len(), self.candidates.len()) {
            (0, 0) => "Nothing in your memory is like that.\n".to_owned(),
            (0, _) if self.needs_confirmation => {
                "Nothing was deleted: it is not clear which of these is meant. Ask again with \
                the hash of one.\n"
                    .to_owned()
            }
            (0, _) => "Nothing was deleted. This would go:\n".to_owned(),
            _ => format!("Deleted. Checkpoint {} undoes it.\n", self.checkpoint_ids.join(", ")),
        };
        for candidate in self.deleted.iter().chain(&self.candidates) {
            text += &format!("\n[{}] hash {}\n{}\n", candidate.citation, candidate.hash, candidate.text.trim_end());
        }
        text
    }
}

impl Render for MemoryFiles {
    fn text(&self) -> String {
        format!("{}.\n{}\n", count(self.files.len(), "file"), self.files.join("\n"))
    }
}

/// Nothing is asked.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct MemoryListArgs {}

pub(super) fn tool() -> ToolEntry {
    let about = About {
        name: "memory",
        title: "Your own memory",
        description: "Your own notes, kept for later conversations. `search` before you `save`: what matters later (preferences, names, how something \
            is done), in whole sentences with absolute dates, no secrets. `list` files, `get` one, `delete` an exact `text`, `forget` what \
            `query` is about (or get candidates: ask, then pass a hash), `undo` a change by `checkpoint_id`.",
    };
    let search = |_: &App, writer: &MemoryWriter, params: MemorySearchParams| {
        if params.query.trim().is_empty() {
            return Err(RequestError::invalid("`query` is empty"));
        }
        memory::search(writer, &params).map(|found| Hits::of(found, &writer.workspace().config().search))
    };
    let actions = vec![
        ToolAction::new("search", Effect::Reads, search),
        ToolAction::new("list", Effect::Reads, |_, writer: &MemoryWriter, MemoryListArgs {}| memory::list(writer)),
        ToolAction::new("get", Effect::Reads, |_, writer: &MemoryWriter, params: MemoryGetParams| {
            memory::get(writer, &params)
        }),
        ToolAction::new("save", Effect::Changes, |_, writer: &MemoryWriter, params: MemorySaveParams| {
            memory::save(writer, &params)
        }),
        ToolAction::new("delete", Effect::Changes, |_, writer: &MemoryWriter, params: MemoryDeleteParams| {
            memory::delete(writer, &params)
        }),
        ToolAction::new("forget", Effect::Changes, |_, writer: &MemoryWriter, params: MemoryForgetParams| {
            memory::forget(writer, &params)
        }),
        ToolAction::new("undo", Effect::Changes, |_, writer: &MemoryWriter, params: MemoryRestoreParams| {
            memory::restore(writer, &params)
        }),
    ];
    ToolEntry::new(about, actions)
}
