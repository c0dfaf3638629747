//! One file of entries, as it was read.

use std::path::Path;

use blake3::Hash;
use jiff::Timestamp;

use super::LayersError;
use crate::derive::entries::{EntriesFile, EntryShelf, MemoryEntry};
use crate::path::VaultPath;
use crate::vault::{ReadError, Stamp, read};

/// A file that changed so short before it was read may change again without another stamp.
const CLOCK_STEP_NS: i64 = 50_000_000;

/// The entries of one file.
#[derive(Debug, Default)]
pub(crate) struct EntryBook {
    /// The file; `None` in a book that was put together.
    pub(crate) path: Option<VaultPath>,
    /// What it says.
    pub(crate) file: EntriesFile,
    /// The stamp of the file that was read; `None` where there is none.
    pub(crate) stamp: Option<Stamp>,
    /// BLAKE3 of the file.
    pub(crate) hash: Option<Hash>,
    /// In nanoseconds since 1970.
    read_at: i64,
}

impl EntryBook {
    /// Reads a file; what has not changed since `known` is taken from there.
    pub(super) fn read(
        root: &Path,
        path: &VaultPath,
        shelf: EntryShelf,
        max: u64,
        known: Option<&Self>,
    ) -> Result<Self, LayersError> {
        let read_at = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
        let source = match read(root, path, max) {
            Ok(source) => Some(source),
            Err(ReadError::Gone) => None,
            Err(source) => return Err(LayersError::Read { path: path.clone(), source }),
        };
        let hash = source.as_ref().map(|source| source.hash);
        let file = match known.filter(|known| known.hash == hash) {
            Some(known) => known.file.clone(),
            None => source.as_ref().map(|source| EntriesFile::read(&source.text, shelf)).unwrap_or_default(),
        };
        let stamp = source.map(|source| source.stamp);
        Ok(Self { path: Some(path.clone()), file, stamp, hash, read_at })
    }

    /// Whether the file is still as it was read.
    pub(super) fn is_as_on_disk(&self, root: &Path) -> bool {
        let Some(path) = &self.path else { return false };
        let now = path.on_disk(root).symlink_metadata().ok().map(|meta| Stamp::of(&meta));
        now == self.stamp && now.is_none_or(|now| now.mtime_ns.max(now.ctime_ns) < self.read_at - CLOCK_STEP_NS)
    }

    /// Its entries, in the order of the file.
    pub(crate) fn entries(&self) -> &[MemoryEntry] {
        &self.file.entries
    }

    /// Whether a name is none for another entry, as [`EntriesFile::is_taken`] says.
    pub(crate) fn is_taken(&self, id: &str) -> bool {
        self.file.is_taken(id)
    }

    /// The entry of a name.
    pub(crate) fn get(&self, id: &str) -> Option<&MemoryEntry> {
        self.file.get(id)
    }
}
