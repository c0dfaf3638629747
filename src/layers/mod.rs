//! Entries on disk: the files of each memory, read when they are asked for, and changed line by line.
//!
//! Nothing is derived and stored: the files are read when their stamps are others than they were, so that what is answered is what is
//! there, with a daemon and without one.

mod book;
mod cap;
mod error;
mod paths;
mod propose;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

pub(crate) use book::EntryBook;
pub(crate) use error::LayersError;
pub(crate) use paths::entries_path;
pub(crate) use propose::{Acceptance, EntryProposal, Evidence, ProposeRules, Proposed};
pub(crate) use write::{EntryEdit, LayerWriter};

use crate::derive::entries::{EntryShelf, MemoryHolder};
use crate::path::VaultPath;

/// The entries of a vault.
#[derive(Debug)]
pub(crate) struct Layers {
    root: PathBuf,
    max_file_bytes: u64,
    books: Mutex<HashMap<VaultPath, Arc<EntryBook>>>,
    /// One change at a time, from the look at what is there until it is written.
    changing: Mutex<()>,
    /// One proposal at a time, from the look for what is the same until it waits.
    proposing: Mutex<()>,
}

impl Layers {
    /// The entries of the vault at `root`.
    pub(crate) fn new(root: PathBuf, max_file_bytes: u64) -> Self {
        Self { root, max_file_bytes, books: Mutex::default(), changing: Mutex::default(), proposing: Mutex::default() }
    }

    /// What a memory knows: active entries and superseded ones; none where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn entries(&self, holder: &MemoryHolder) -> Result<Arc<EntryBook>, LayersError> {
        self.book(holder, EntryShelf::Known)
    }

    /// What was proposed for it.
    ///
    /// # Errors
    /// As [`Layers::entries`].
    pub(crate) fn pending(&self, holder: &MemoryHolder) -> Result<Arc<EntryBook>, LayersError> {
        self.book(holder, EntryShelf::Pending)
    }

    /// What was set aside or rejected.
    ///
    /// # Errors
    /// As [`Layers::entries`].
    pub(crate) fn archive(&self, holder: &MemoryHolder) -> Result<Arc<EntryBook>, LayersError> {
        self.book(holder, EntryShelf::Archive)
    }

    /// One file of a memory, as it is on disk now.
    ///
    /// # Errors
    /// As [`Layers::entries`].
    pub(crate) fn book(&self, holder: &MemoryHolder, shelf: EntryShelf) -> Result<Arc<EntryBook>, LayersError> {
        let path = entries_path(holder, shelf)?;
        let books = || self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let known = books().get(&path).cloned();
        if let Some(book) = known.as_ref().filter(|book| book.is_as_on_disk(&self.root)) {
            return Ok(Arc::clone(book));
        }
        let book = Arc::new(EntryBook::read(&self.root, &path, shelf, self.max_file_bytes, known.as_deref())?);
        books().insert(path, Arc::clone(&book));
        Ok(book)
    }

    fn one_proposes(&self) -> MutexGuard<'_, ()> {
        self.proposing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The memories that have a file of entries.
    pub(crate) fn holders(&self) -> Vec<MemoryHolder> {
        let entries = std::fs::read_dir(self.root.join("agents")).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        let mut slugs: Vec<String> = names.filter(|name| !name.starts_with('.')).collect();
        slugs.sort_unstable();
        let holders = std::iter::once(MemoryHolder::Person).chain(slugs.into_iter().map(MemoryHolder::Agent));
        let has_any = |holder: &MemoryHolder| {
            [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive]
                .into_iter()
                .any(|shelf| entries_path(holder, shelf).is_ok_and(|path| path.on_disk(&self.root).is_file()))
        };
        holders.filter(has_any).collect()
    }
}
