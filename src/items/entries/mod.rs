//! Entries: the files of each memory.

mod book;
mod cap;
mod propose;
#[cfg(test)]
mod tests;
mod write;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use book::{EntryBook, entries_path};
pub(crate) use propose::{Acceptance, EntryProposal, Evidence, ProposeRules, Proposed};
pub(crate) use write::{EntryEdit, LayerWriter};

use super::ItemError;
use super::store::ItemStore;
use crate::derive::entries::{EntryShelf, MemoryHolder};

/// The entries of a vault.
#[derive(Debug)]
pub(crate) struct Layers {
    store: ItemStore<EntryBook>,
    /// One proposal at a time, from the look for what is the same until it waits.
    proposing: Mutex<()>,
}

impl Layers {
    /// The entries of the vault at `root`.
    pub(crate) fn new(root: PathBuf, max_file_bytes: u64) -> Self {
        Self { store: ItemStore::new(root, max_file_bytes), proposing: Mutex::default() }
    }

    /// What a memory knows: active entries and superseded ones; none where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn entries(&self, holder: &MemoryHolder) -> Result<Arc<EntryBook>, ItemError> {
        self.book(holder, EntryShelf::Known)
    }

    /// What was proposed for it.
    ///
    /// # Errors
    /// As [`Layers::entries`].
    pub(crate) fn pending(&self, holder: &MemoryHolder) -> Result<Arc<EntryBook>, ItemError> {
        self.book(holder, EntryShelf::Pending)
    }

    /// What was set aside or rejected.
    ///
    /// # Errors
    /// As [`Layers::entries`].
    pub(crate) fn archive(&self, holder: &MemoryHolder) -> Result<Arc<EntryBook>, ItemError> {
        self.book(holder, EntryShelf::Archive)
    }

    /// One file of a memory, as it is on disk now.
    ///
    /// # Errors
    /// As [`Layers::entries`].
    pub(crate) fn book(&self, holder: &MemoryHolder, shelf: EntryShelf) -> Result<Arc<EntryBook>, ItemError> {
        let path = entries_path(holder, shelf)?;
        let ItemStore { root, max_file_bytes, .. } = &self.store;
        self.store.get(&path, |known| EntryBook::read(root, &path, shelf, *max_file_bytes, known))
    }

    fn one_proposes(&self) -> MutexGuard<'_, ()> {
        self.proposing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memories that have a file of entries.
    pub(crate) fn holders(&self) -> Vec<MemoryHolder> {
        let entries = std::fs::read_dir(self.store.root.join("agents")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut slugs: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        slugs.sort_unstable();
        let holders = std::iter::once(MemoryHolder::Person).chain(slugs.into_iter().map(MemoryHolder::Agent));
        let has_any = |holder: &MemoryHolder| {
            [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive]
                .into_iter()
                .any(|shelf| entries_path(holder, shelf).is_ok_and(|path| path.on_disk(&self.store.root).is_file()))
        };
        holders.filter(has_any).collect()
    }
}
