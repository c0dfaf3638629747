//! The memory that an agent keeps for itself: `memory_search`, `memory_get`, `memory_save`, `memory_delete`, `memory_forget` and
//! `checkpoint_restore`.

use super::search::{DATA, Hits};
use super::tool::{About, Effect, Told, ToolEntry, count};
use crate::memory;
use crate::request::{MemoryWriter, RequestError};
use crate::wire::{
    MemoryChange, MemoryDeleteParams, MemoryForgetParams, MemoryForgotten, MemoryGetParams, MemoryRestoreParams,
    MemorySaveParams, MemorySearchParams, MemoryText,
};

impl Told for MemoryText {
    fn text(&self) -> String {
        let more = if self.cut { "\n(There is more: ask on from the next line.)\n" } else { "" };
        format!("[{}] {DATA}\n\n{}\n{more}", self.citation, self.text.trim_end())
    }
}

impl Told for MemoryChange {
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
        text + &format!(" To undo it: checkpoint_restore {}\n", self.checkpoint_id)
    }
}

impl Told for MemoryForgotten {
    fn text(&self) -> String {
        let mut text = match (self.deleted.len(), self.candidates.len()) {
            (0, 0) => "Nothing in your memory is like that.\n".to_owned(),
            (0, _) if self.needs_confirmation => {
                "Nothing was deleted: it is not clear which of these is meant. Ask again with \
                the hash of one.\n"
                    .to_owned()
            }
            (0, _) => "Nothing was deleted. This would go:\n".to_owned(),
            _ => format!("Deleted. To undo it: checkpoint_restore {}\n", self.checkpoint_ids.join(", ")),
        };
        for candidate in self.deleted.iter().chain(&self.candidates) {
            text += &format!("\n[{}] hash {}\n{}\n", candidate.citation, candidate.hash, candidate.text.trim_end());
        }
        text
    }
}

pub(super) fn tools() -> Vec<ToolEntry> {
    vec![
        ToolEntry::new(
            About {
                name: "memory_search",
                title: "Search your own memory",
                description: "Finds what you kept in your own memory (MEMORY.md and memory/*.md), by words and meaning. Use it \
                    before you save, so that nothing stands there twice, and whenever you may have noted something before.",
                effect: Effect::Reads,
            },
            |_, writer: &MemoryWriter, params: MemorySearchParams| {
                if params.query.trim().is_empty() {
                    return Err(RequestError::invalid("`query` is empty"));
                }
                let citations = writer.workspace().config().search.citations;
                memory::search(writer, &params).map(|found| Hits::of(found, citations))
            },
        ),
        ToolEntry::new(
            About {
                name: "memory_get",
                title: "Read your own memory",
                description: "Reads a file of your own memory (`MEMORY.md`, `memory/notes.md`), some lines of it, or a passage by \
                    the hash that `memory_search` gave. Read the file before you replace or delete text in it.",
                effect: Effect::Reads,
            },
            |_, writer: &MemoryWriter, params: MemoryGetParams| memory::get(writer, &params),
        ),
        ToolEntry::new(
            About {
                name: "memory_save",
                title: "Remember",
                description: "Keeps a text in your own memory: appends it to a file, or with `append` false replaces the file's \
                    text. Use it for what will matter in later conversations: decisions, preferences, names, how something \
                    is done. Write whole sentences with names and absolute dates, no secrets. `checkpoint_id` undoes it.",
                effect: Effect::Replaces,
            },
            |_, writer: &MemoryWriter, params: MemorySaveParams| memory::save(writer, &params),
        ),
        ToolEntry::new(
            About {
                name: "memory_delete",
                title: "Delete from your own memory",
                description: "Deletes a text from a file of your own memory, or the whole file. Use it when something \
                    there is wrong or out of date; read it with `memory_get` first. `checkpoint_id` undoes it.",
                effect: Effect::Removes,
            },
            |_, writer: &MemoryWriter, params: MemoryDeleteParams| memory::delete(writer, &params),
        ),
        ToolEntry::new(
            About {
                name: "memory_forget",
                title: "Forget",
                description: "Forgets what your own memory says about something: finds the paragraph, list item or table row that \
                    is meant, and deletes it if only one can be. Else nothing is deleted, and `candidates` shows what may be \
                    meant: ask the person, then call it again with the hash of one.",
                effect: Effect::Replaces,
            },
            |_, writer: &MemoryWriter, params: MemoryForgetParams| memory::forget(writer, &params),
        ),
        ToolEntry::new(
            About {
                name: "checkpoint_restore",
                title: "Undo a change of your own memory",
                description: "Undoes a change of your own memory: the file is again as it was before, by the `checkpoint_id` that \
                    `memory_save`, `memory_delete` or `memory_forget` gave. Refused when the file was changed since.",
                effect: Effect::Replaces,
            },
            |_, writer: &MemoryWriter, params: MemoryRestoreParams| memory::restore(writer, &params),
        ),
    ]
}
