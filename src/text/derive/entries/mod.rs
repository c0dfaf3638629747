//! Entries, the working memory: list items `[kind] text (details) #tag ^name` in a file. Pure, and without a model.
//!
//! ```text
//! memories/user.md ─▶ file (items · details) ─▶ entries ─▶ verify: the same, near, or new
//!        │                                                     │
//!        └──────────── edit: one line comes, goes, or becomes another
//! ```

mod entry;
mod file;
mod verify;

pub(crate) use entry::{
    EntryFileKind, EntryStatus, MemoryEntry, TrustLevel, is_trace_of, one_line, shelf_of, source_path, trace_source,
    traced, traces_of,
};
pub(crate) use file::{EntriesFile, EntryEdit, MAX_ENTRY_BYTES, edited, lost_entries, made_id, with_sources};
pub(crate) use verify::{Likeness, Verdict, verify};
