//! One file of entries, as it was read.

use std::path::Path;

use blake3::Hash;

use crate::derive::entries::{EntriesFile, EntryShelf, MemoryEntry, MemoryHolder, shelf_name};
use crate::items::ItemError;
use crate::items::store::{ItemSnapshot, ReadAt, source};
use crate::path::VaultPath;
use crate::vault::Stamp;

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
    read_at: ReadAt,
}

impl EntryBook {
    /// Reads a file; what has not changed since `known` is taken from there.
    pub(super) fn read(
        root: &Path,
        path: &VaultPath,
        shelf: EntryShelf,
        max: u64,
        known: Option<&Self>,
    ) -> Result<Self, ItemError> {
        let read_at = ReadAt::now();
        let source = source(root, path, max)?;
        let hash = source.as_ref().map(|source| source.hash);
        let file = match known.filter(|known| known.hash == hash) {
            Some(known) => known.file.clone(),
            None => source.as_ref().map(|source| EntriesFile::read(&source.text, shelf)).unwrap_or_default(),
        };
        let stamp = source.map(|source| source.stamp);
        Ok(Self { path: Some(path.clone()), file, stamp, hash, read_at })
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

impl ItemSnapshot for EntryBook {
    fn is_as_on_disk(&self, root: &Path) -> bool {
        self.path.as_ref().is_some_and(|path| self.read_at.is_same(root, path, self.stamp))
    }
}

/// The file of a memory's entries.
///
/// # Errors
/// When an agent's folder is none.
pub(crate) fn entries_path(holder: &MemoryHolder, shelf: EntryShelf) -> Result<VaultPath, ItemError> {
    let name = shelf_name(holder, shelf);
    let (path, slug) = match holder {
        MemoryHolder::Person => (name.to_owned(), "the person"),
        MemoryHolder::Agent(slug) if slug.contains('/') => return Err(ItemError::Holder(slug.clone())),
        MemoryHolder::Agent(slug) => (format!("agents/{slug}/{name}"), slug.as_str()),
    };
    VaultPath::new(path).map_err(|_| ItemError::Holder(slug.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::entries::shelf_of;

    #[test]
    fn each_memory_has_three_files() {
        for holder in [MemoryHolder::Person, MemoryHolder::Agent("ada".into())] {
            for shelf in [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive] {
                let path = entries_path(&holder, shelf).unwrap();
                assert_eq!(shelf_of(&path), Some((holder.clone(), shelf)), "{path}");
            }
        }
        assert!(entries_path(&MemoryHolder::Agent("../x".into()), EntryShelf::Known).is_err());
        assert_eq!(shelf_of(&VaultPath::new("agents/ada/memory/entries.md").unwrap()), None);
    }
}
