//! Facts and entries on disk: keyed lines of Markdown, read when they are asked for, and changed line by line.
//!
//! Nothing is derived and stored: the files are read when their stamps are others than they were, so that what is answered is what is
//! there, with a daemon and without one.

mod entries;
mod facts;
mod store;

pub(crate) use entries::{
    Acceptance, EntriesSnapshot, EntryStore, EntryWriter, ProposeRules, REMOVED, due_of, entries_path,
};
pub(crate) use facts::{FactStore, FactWriter, FactsSnapshot};
pub(crate) use store::ItemError;
