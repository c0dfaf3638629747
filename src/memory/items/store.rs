//! Files of items, as they were read, and changed one at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::text::derive::ItemEditError;
use crate::vault::disk::{Act, CheckpointId, Files, NoteEdit, ReadError, Source, WriteError, read};

/// Files of items of one kind.
#[derive(Debug)]
pub(super) struct ItemStore<S> {
    /// The vault's folder.
    pub(super) root: PathBuf,
    /// Maximum size of a file.
    pub(super) max_file_bytes: u64,
    /// Each file as it was read last: what has not changed since is not parsed again.
    known: Mutex<HashMap<VaultPath, Arc<S>>>,
    changing: Mutex<()>,
}

impl<S> ItemStore<S> {
    /// The files of the vault at `root`.
    pub(super) fn new(root: PathBuf, max_file_bytes: u64) -> Self {
        Self { root, max_file_bytes, known: Mutex::default(), changing: Mutex::default() }
    }

    /// A file as it is on disk now; `read` reads it, and takes from what is known of it what has not changed.
    pub(super) fn get(
        &self,
        path: &VaultPath,
        read: impl FnOnce(Option<&S>) -> Result<S, ItemError>,
    ) -> Result<Arc<S>, ItemError> {
        let known = self.known().get(path).cloned();
        let now = Arc::new(read(known.as_deref())?);
        self.known().insert(path.clone(), Arc::clone(&now));
        Ok(now)
    }

    /// Nothing of a file is known any more.
    pub(super) fn forget(&self, path: &VaultPath) {
        self.known().remove(path);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<VaultPath, Arc<S>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn to change a file, from the look at what is there until it is written.
    pub(super) fn one_change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Works out what a file of items says after a change, and writes that over what it said, as often as somebody else was faster. A file that is
/// no text is refused.
pub(super) fn edit(
    files: &Files,
    path: &VaultPath,
    act: Act<'_>,
    mut edit: impl FnMut(Option<&str>) -> Result<NoteEdit, ItemError>,
) -> Result<Option<CheckpointId>, ItemError> {
    files.edit(
        path,
        |_| act,
        |bytes| {
            let text = bytes.map(std::str::from_utf8).transpose();
            edit(text.map_err(|_| ItemError::edit(path, ItemEditError::Unreadable))?)
        },
    )
}

/// The names of what is in a folder of the vault, but for hidden ones.
pub(super) fn names_in(root: &Path, folder: &str) -> Vec<String> {
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !name.starts_with('.')).collect()
}

/// A file, where there is one.
pub(super) fn source(root: &Path, path: &VaultPath, max: u64) -> Result<Option<Source>, ItemError> {
    if_there(path, read(root, path, max))
}

/// What was read of a file, where there is one.
pub(super) fn if_there<T>(path: &VaultPath, read: Result<T, ReadError>) -> Result<Option<T>, ItemError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(ReadError::Gone) => Ok(None),
        Err(source) => Err(ItemError::Read { path: path.clone(), source }),
    }
}

/// Facts or entries cannot be read or changed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ItemError {
    /// A memory has no folder.
    #[error("the memory `{0}` has no folder")]
    Scope(MemoryScope),
    /// A file cannot be read.
    #[error("{path}: {source}")]
    Read {
        /// Which.
        path: VaultPath,
        /// Why.
        #[source]
        source: ReadError,
    },
    /// The file would not say what it is to say.
    #[error("{path}: {source}")]
    Edit {
        /// Which.
        path: VaultPath,
        /// Why.
        #[source]
        source: ItemEditError,
    },
    /// The value is another than the one who sets it believes.
    #[error("{path}: `{key}` is {now} now; nothing was written")]
    Other {
        /// Which file.
        path: VaultPath,
        /// Which fact.
        key: String,
        /// What it is.
        now: String,
    },
    /// A program would drop more than a quarter of the entries.
    #[error("{path}: this would drop {} of {of} entries, more than a quarter; nothing was written", lost.len())]
    Loss {
        /// Which.
        path: VaultPath,
        /// What would be lost, as texts.
        lost: Vec<String>,
        /// How many there are.
        of: usize,
    },
    /// A file cannot be written.
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl ItemError {
    /// A file cannot be changed so.
    pub(super) fn edit(path: &VaultPath, source: ItemEditError) -> Self {
        Self::Edit { path: path.clone(), source }
    }
}
