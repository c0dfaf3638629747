//! Files of items, as they were read: by their stamps, and changed one at a time.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use jiff::Timestamp;

use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::text::derive::ItemEditError;
use crate::vault::disk::{Act, CheckpointId, Files, NoteEdit, ReadError, Source, Stamp, WriteError, read};

/// A file that changed so short before it was read may change again without another stamp.
const CLOCK_STEP_NS: i64 = 50_000_000;

/// Files of items of one kind.
#[derive(Debug)]
pub(super) struct ItemStore<S> {
    /// The vault's folder.
    pub(super) root: PathBuf,
    /// Maximum size of a file.
    pub(super) max_file_bytes: u64,
    known: Mutex<HashMap<VaultPath, Known<S>>>,
    changing: Mutex<()>,
}

/// What was read of files that had these stamps.
#[derive(Debug)]
struct Known<S> {
    read: Arc<S>,
    stamps: Vec<Option<Stamp>>,
    /// When their stamps were taken, in nanoseconds since 1970.
    at: i64,
}

impl<S> ItemStore<S> {
    /// The files of the vault at `root`.
    pub(super) fn new(root: PathBuf, max_file_bytes: u64) -> Self {
        Self { root, max_file_bytes, known: Mutex::default(), changing: Mutex::default() }
    }

    /// A file as it is on disk now, with others `beside` it; `read` reads them where one has changed, and takes from what is known what has not.
    pub(super) fn get(
        &self,
        path: &VaultPath,
        beside: &[VaultPath],
        read: impl FnOnce(Option<&S>) -> Result<S, ItemError>,
    ) -> Result<Arc<S>, ItemError> {
        let at = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
        let paths = std::iter::once(path).chain(beside);
        let stamps: Vec<Option<Stamp>> = paths.map(|path| stamp_of(&path.on_disk(&self.root))).collect();
        let known = self.known().get(path).map(|known| (Arc::clone(&known.read), known.is_of(&stamps)));
        if let Some((read, true)) = known {
            return Ok(read);
        }
        let read = Arc::new(read(known.as_ref().map(|(read, _)| &**read))?);
        self.known().insert(path.clone(), Known { read: Arc::clone(&read), stamps, at });
        Ok(read)
    }

    /// Nothing of a file is known any more.
    pub(super) fn forget(&self, path: &VaultPath) {
        self.known().remove(path);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<VaultPath, Known<S>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes the turn to change a file, from the look at what is there until it is written.
    pub(super) fn one_change(&self) -> MutexGuard<'_, ()> {
        self.changing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Known<S> {
    /// Whether nothing has changed where these are the stamps now.
    fn is_of(&self, stamps: &[Option<Stamp>]) -> bool {
        let is_settled = |stamp: &Stamp| stamp.mtime_ns.max(stamp.ctime_ns) < self.at - CLOCK_STEP_NS;
        self.stamps == stamps && stamps.iter().flatten().all(is_settled)
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

/// The stamp of what is at a place.
pub(super) fn stamp_of(on_disk: &Path) -> Option<Stamp> {
    on_disk.symlink_metadata().ok().map(|meta| Stamp::of(&meta))
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
