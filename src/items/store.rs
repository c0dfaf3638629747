//! Files of items, as they were read: by their stamps, and changed one at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use super::ItemError;
use crate::path::VaultPath;
use crate::vault::{ReadError, Source, Stamp, read};

/// A file that changed so short before it was read may change again without another stamp.
pub(super) const CLOCK_STEP_NS: i64 = 50_000_000;

/// A file of items, as it was read.
pub(super) trait ItemSnapshot {
    /// Whether all of it is still as it was read.
    fn is_as_on_disk(&self, root: &Path) -> bool;
}

/// Files of items of one kind.
#[derive(Debug)]
pub(super) struct ItemStore<S> {
    /// The vault's folder.
    pub(super) root: PathBuf,
    /// Maximum size of a file.
    pub(super) max_file_bytes: u64,
    known: Mutex<HashMap<VaultPath, Arc<S>>>,
    changing: Mutex<()>,
}

impl<S: ItemSnapshot> ItemStore<S> {
    /// The files of the vault at `root`.
    pub(super) fn new(root: PathBuf, max_file_bytes: u64) -> Self {
        Self { root, max_file_bytes, known: Mutex::default(), changing: Mutex::default() }
    }

    /// A file as it is on disk now; `read` reads it where it is another than is known, and takes from that what has not changed.
    pub(super) fn get(
        &self,
        path: &VaultPath,
        read: impl FnOnce(Option<&S>) -> Result<S, ItemError>,
    ) -> Result<Arc<S>, ItemError> {
        let known = self.known().get(path).cloned();
        if let Some(known) = known.as_ref().filter(|known| known.is_as_on_disk(&self.root)) {
            return Ok(Arc::clone(known));
        }
        let now = Arc::new(read(known.as_deref())?);
        self.known().insert(path.clone(), Arc::clone(&now));
        Ok(now)
    }

    /// What was read so far.
    pub(super) fn known(&self) -> MutexGuard<'_, HashMap<VaultPath, Arc<S>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn to change a file, from the look at what is there until it is written.
    pub(super) fn one_change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// When files were read, in nanoseconds since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ReadAt(i64);

impl ReadAt {
    /// Of files that are read from now on.
    pub(super) fn now() -> Self {
        Self(i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX))
    }

    /// Whether a file that had a stamp then, or was not there, is still so.
    pub(super) fn is_same(self, root: &Path, path: &VaultPath, known: Option<Stamp>) -> bool {
        let now = path.on_disk(root).symlink_metadata().ok().map(|meta| Stamp::of(&meta));
        now == known && known.is_none_or(|known| known.mtime_ns.max(known.ctime_ns) < self.0 - CLOCK_STEP_NS)
    }
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
