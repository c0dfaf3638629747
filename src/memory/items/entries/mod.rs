//! Entries: the files of each memory.

mod propose;
#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blake3::Hash;
pub(crate) use propose::{Acceptance, EntryProposal, Evidence, ProposeRules, Proposed, REMOVED};
pub(crate) use write::EntryWriter;

use super::ItemError;
use super::store::{ItemSnapshot, ItemStore, ReadStamps, source};
use crate::base::path::VaultPath;
use crate::base::state::UsageTable;
use crate::text::derive::chunk;
use crate::text::derive::entries::{
    EntriesFile, EntryFileKind, EntryStatus, MemoryEntry, MemoryHolder, entry_key, shelf_name,
};
use crate::text::note::Note;
use crate::vault::disk::{Action, CheckpointId, Files, Stamp, read};

/// The entries of a vault.
#[derive(Debug)]
pub(crate) struct EntryStore {
    store: ItemStore<EntriesSnapshot>,
    /// One proposal at a time, from the look for what is the same until it waits.
    proposing: Mutex<()>,
}

impl EntryStore {
    /// The entries of the vault at `root`.
    pub(crate) fn new(root: PathBuf, max_file_bytes: u64) -> Self {
        Self { store: ItemStore::new(root, max_file_bytes), proposing: Mutex::default() }
    }

    /// What a memory knows: active entries and superseded ones; none where there is no file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub(crate) fn entries(&self, holder: &MemoryHolder) -> Result<Arc<EntriesSnapshot>, ItemError> {
        self.book(holder, EntryFileKind::Known)
    }

    /// What was proposed for it.
    ///
    /// # Errors
    /// As [`EntryStore::entries`].
    pub(crate) fn pending(&self, holder: &MemoryHolder) -> Result<Arc<EntriesSnapshot>, ItemError> {
        self.book(holder, EntryFileKind::Pending)
    }

    /// What was set aside or rejected.
    ///
    /// # Errors
    /// As [`EntryStore::entries`].
    pub(crate) fn archive(&self, holder: &MemoryHolder) -> Result<Arc<EntriesSnapshot>, ItemError> {
        self.book(holder, EntryFileKind::Archive)
    }

    /// One file of a memory, as it is on disk now.
    ///
    /// # Errors
    /// As [`EntryStore::entries`].
    pub(crate) fn book(&self, holder: &MemoryHolder, shelf: EntryFileKind) -> Result<Arc<EntriesSnapshot>, ItemError> {
        let path = entries_path(holder, shelf)?;
        let ItemStore { root, max_file_bytes, .. } = &self.store;
        self.store.get(&path, |known| EntriesSnapshot::read(root, &path, shelf, *max_file_bytes, known))
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
            [EntryFileKind::Known, EntryFileKind::Pending, EntryFileKind::Archive]
                .into_iter()
                .any(|shelf| entries_path(holder, shelf).is_ok_and(|path| path.on_disk(&self.store.root).is_file()))
        };
        holders.filter(has_any).collect()
    }
}

/// The entries of one file.
#[derive(Debug, Default)]
pub(crate) struct EntriesSnapshot {
    /// The file; `None` in a book that was put together.
    pub(crate) path: Option<VaultPath>,
    /// What it says.
    pub(crate) file: EntriesFile,
    /// The stamp of the file that was read; `None` where there is none.
    pub(crate) stamp: Option<Stamp>,
    /// BLAKE3 of the file.
    pub(crate) hash: Option<Hash>,
    stamps: ReadStamps,
}

impl EntriesSnapshot {
    /// Reads a file; what has not changed since `known` is taken from there.
    fn read(
        root: &Path,
        path: &VaultPath,
        shelf: EntryFileKind,
        max: u64,
        known: Option<&Self>,
    ) -> Result<Self, ItemError> {
        let mut stamps = ReadStamps::now();
        let source = source(root, path, max)?;
        let hash = source.as_ref().map(|source| source.hash);
        let file = match known.filter(|known| known.hash == hash) {
            Some(known) => known.file.clone(),
            None => source.as_ref().map(|source| EntriesFile::read(&source.text, shelf)).unwrap_or_default(),
        };
        let stamp = source.map(|source| source.stamp);
        stamps.add(path.on_disk(root), stamp);
        Ok(Self { path: Some(path.clone()), file, stamp, hash, stamps })
    }

    /// Those of its entries that count.
    pub(crate) fn active(&self) -> impl Iterator<Item = &MemoryEntry> {
        self.file.entries.iter().filter(|entry| entry.status == EntryStatus::Active)
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

impl ItemSnapshot for EntriesSnapshot {
    fn stamps(&self) -> &ReadStamps {
        &self.stamps
    }
}

/// The file of a memory's entries.
///
/// # Errors
/// When an agent's folder is none.
pub(crate) fn entries_path(holder: &MemoryHolder, shelf: EntryFileKind) -> Result<VaultPath, ItemError> {
    let name = shelf_name(holder, shelf);
    let (path, slug) = match holder {
        MemoryHolder::Person => (name.to_owned(), "the person"),
        MemoryHolder::Agent(slug) if slug.contains('/') => return Err(ItemError::Holder(slug.clone())),
        MemoryHolder::Agent(slug) => (format!("agents/{slug}/{name}"), slug.as_str()),
    };
    VaultPath::new(path).map_err(|_| ItemError::Holder(slug.to_owned()))
}

/// How an entry was given to anybody so far: what was of less use goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum EntryUse {
    Never,
    /// In a passage that a search found.
    InPassage,
    /// In a context: itself, or a line of the profile that was made of it.
    Itself,
}

impl EntryStore {
    /// Archives active entries beyond `max`, where 0 means no limit; gives their names, and what undoes it. Those that were `added` now could
    /// not be given yet, and go no sooner than what was.
    ///
    /// # Errors
    /// When a file cannot be read or changed.
    pub(crate) fn keep_to_cap(
        &self,
        files: &Files,
        holder: &MemoryHolder,
        added: &[String],
        max: usize,
        usage: &UsageTable,
    ) -> Result<(Vec<String>, Vec<CheckpointId>), ItemError> {
        let book = self.entries(holder)?;
        let active: Vec<&MemoryEntry> = book.active().collect();
        if max == 0 || active.len() <= max {
            return Ok((Vec::new(), Vec::new()));
        }
        let uses = book.path.as_ref().and_then(|path| self.uses(path, &active, usage));
        // What stands first is oldest, unless it says since when it is so.
        let key = |at: &usize| {
            let entry = active[*at];
            let used = match &uses {
                _ if added.contains(&entry.id) => EntryUse::Itself,
                Some(uses) => uses[*at],
                None => EntryUse::Never,
            };
            let since = entry.window.from.as_ref().and_then(|from| from.ms).unwrap_or(0);
            (used, (entry.confidence * 1000.0) as i64, since, *at)
        };
        let mut order: Vec<usize> = (0..active.len()).collect();
        order.sort_by_cached_key(key);
        let goes: Vec<String> = order[..active.len() - max].iter().map(|at| active[*at].id.clone()).collect();
        // What they took the place of goes with them: else that would count again, and there would be as many.
        let mut all = goes.clone();
        for at in 0.. {
            let Some(id) = all.get(at).cloned() else { break };
            let is_loser = |entry: &&MemoryEntry| entry.status == EntryStatus::Superseded(id.clone());
            all.extend(book.entries().iter().filter(is_loser).map(|entry| entry.id.clone()));
        }
        let writer = EntryWriter { files, act: Action::Edit.done_by("max_entries"), is_program: true };
        let done = self.set_aside(&writer, holder, EntryFileKind::Known, &all, None)?;
        Ok((goes, done))
    }

    /// How each of these entries of a file was given so far; `None` where that cannot be read, which keeps no entry from being added.
    fn uses(&self, path: &VaultPath, entries: &[&MemoryEntry], usage: &UsageTable) -> Option<Vec<EntryUse>> {
        let keys: Vec<u64> = entries.iter().map(|entry| entry_key(path, &entry.id)).collect();
        let given = usage.given_to_anybody(&keys).ok()?;
        let passages = self.passages_given(path, usage).unwrap_or_default();
        let in_passage = |entry: &MemoryEntry| {
            passages.iter().any(|(first, last)| *first <= entry.line_end && entry.line_start <= *last)
        };
        let how = |(entry, given): (&&MemoryEntry, bool)| match given {
            true => EntryUse::Itself,
            false if in_passage(entry) => EntryUse::InPassage,
            false => EntryUse::Never,
        };
        Some(entries.iter().zip(given).map(how).collect())
    }

    /// The lines of the passages of a file that were ever given.
    fn passages_given(&self, path: &VaultPath, usage: &UsageTable) -> Option<Vec<(usize, usize)>> {
        let text = read(&self.store.root, path, self.store.max_file_bytes).ok()?.text;
        let chunks = chunk(path, &Note::parse(&text, path.stem()), &text);
        let names: Vec<u64> = chunks.iter().map(|chunk| chunk.id.to_bits()).collect();
        let given = usage.given_to_anybody(&names).ok()?;
        Some(chunks.iter().zip(given).filter(|(_, given)| *given).map(|(chunk, _)| chunk.lines).collect())
    }
}

#[cfg(test)]
mod tests_of_paths {
    use super::*;
    use crate::text::derive::entries::shelf_of;

    #[test]
    fn each_memory_has_three_files() {
        for holder in [MemoryHolder::Person, MemoryHolder::Agent("ada".into())] {
            for shelf in [EntryFileKind::Known, EntryFileKind::Pending, EntryFileKind::Archive] {
                let path = entries_path(&holder, shelf).unwrap();
                assert_eq!(shelf_of(&path), Some((holder.clone(), shelf)), "{path}");
            }
        }
        assert!(entries_path(&MemoryHolder::Agent("../x".into()), EntryFileKind::Known).is_err());
        assert_eq!(shelf_of(&VaultPath::new("agents/ada/memory/entries.md").unwrap()), None);
    }
}
