//! Entries, the working memory: list items `[kind] text (details) #tag ^name` in a file. Pure, and without a model.
//!
//! ```text
//! memories/user.md ─▶ file (items · details) ─▶ entries ─▶ verify: the same, near, or new
//!        │                                                     │
//!        └──────────── edit: one line comes, goes, or becomes another
//! ```

mod edit;
mod entry;
mod evidence;
mod file;
mod item;
mod verify;

pub(crate) use edit::{lost_entries, with_changed, with_entries, with_sources, without_entries, without_source};
pub(crate) use entry::{
    EntryShelf, EntryStatus, MemoryEntry, MemoryHolder, TrustLevel, entry_key, entry_key_of, one_line, shelf_name,
    shelf_of, source_path,
};
pub(crate) use evidence::{is_trace_of, trace_source, traced, traces_of};
pub(crate) use file::{EntriesFile, MAX_ENTRY_BYTES, made_id};
pub(crate) use verify::{Likeness, Verdict, VerifyRules, is_denial, verify};
