//! The one writer of the index.

use std::collections::{HashMap, VecDeque};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::catalog::{Catalog, CatalogReader, FileRow, NewFile};
use super::damage::IndexError;
use super::diff::{Diff, as_json, chunk_row, document};
use super::embeddings::Added;
use super::keyword::{FORMAT, KeywordError, KeywordSearcher, KeywordWriter, Payload};
use super::recovery::Marker;
use super::snapshot::Snapshot;
use super::vector_sets::VectorSets;
use crate::base::config::StemmerLanguage;
use crate::base::fs::{FsError, crash, create_dir, create_private_dir};
use crate::base::path::VaultPath;
use crate::index::engine::{
    ChangeBatch, ChunkEntry, ContentHash, EngineError, FileEntry, FileSet, FileTable, FileUpdate, Statistics,
};
use crate::vault::disk::{Globs, Identity, Stamp};

/// What shapes the index besides the files.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Names the machine and the vault's folder.
    pub place: String,
    /// The language of the stems.
    pub stemmer: StemmerLanguage,
    /// Embedded chunks above which a graph is used.
    pub graph_threshold: usize,
    /// Notes that are private whatever they say themselves, by `[access] private`.
    pub private: Globs,
}

/// The one writer of the index, and what it knows of every file.
pub struct Store {
    pub(super) folder: PathBuf,
    pub(super) settings: Settings,
    pub(super) marker: Marker,
    pub(super) catalog: Catalog,
    pub(super) keyword: KeywordWriter,
    /// What was opened last of the words, and the number of the state that it is of.
    pub(super) searcher: Option<(u64, KeywordSearcher)>,
    pub(super) files: FileTable,
    by_path: HashMap<VaultPath, u32>,
    pub(super) sets: VectorSets,
    /// Chunks that have something to embed, and those of them that are in private notes.
    embeddable: usize,
    private_embeddable: usize,
    pub(super) spare: Arc<Mutex<Vec<CatalogReader>>>,
    /// The last snapshot, while anybody holds it.
    pub(super) published: Weak<Snapshot>,
    foreign: bool,
    /// The catalog's file, by which the stores are told from others.
    identity: Option<Identity>,
    /// What was found wrong and mended, and not yet said.
    pub(super) notices: Vec<String>,
}

impl Store {
    /// Opens the stores in a folder, or makes new ones, and brings them to one state. With `distrust`, SQLite checks all its
    /// pages first; what tells otherwise is checked always.
    ///
    /// # Errors
    /// When they are damaged or of another format, so that [`Store::clear_damage`] has to be called; or the disk refuses.
    pub fn open(folder: &Path, settings: Settings, distrust: bool) -> Result<Self, IndexError> {
        create_private_dir(folder)?;
        let mut notices = Self::remove_misplaced(folder)?;
        let marker = Marker::read(folder);
        let (database, words) = (folder.join("catalog.db"), folder.join("tantivy"));
        if words.exists() && fs::metadata(&database).map_or(0, |found| found.len()) == 0 {
            notices.push("the catalog was missing, and is rebuilt from the notes".into());
        }
        let catalog = Catalog::open(&database, &settings.place)?;
        let foreign = catalog.place() != settings.place;
        if distrust || foreign || marker.machine_stopped() {
            catalog.check()?;
        }
        if foreign {
            notices.push("the index was made for another folder or machine, so every note is checked".into());
        }
        create_dir(&words)?;
        let (keyword, files) = std::thread::scope(|scope| {
            let keyword = scope.spawn(|| KeywordWriter::open(&words));
            let files = catalog.files();
            let keyword = keyword.join().unwrap_or_else(|_| Err(KeywordError::damaged("it cannot be opened")));
            (keyword, files)
        });
        let (files, keyword) = (files?, keyword?);
        let mut store = Self {
            folder: folder.to_owned(),
            settings,
            catalog,
            keyword,
            marker,
            searcher: None,
            embeddable: 0,
            private_embeddable: 0,
            files: FileTable::default(),
            by_path: HashMap::new(),
            sets: VectorSets::default(),
            spare: Arc::default(),
            published: Weak::new(),
            foreign,
            identity: Identity::of(&database).ok(),
            notices,
        };
        files.into_iter().for_each(|file| store.enter(file));
        store.catch_up()?;
        Ok(store)
    }

    /// Where the stores are.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Whether the folder has the stores that were opened: they may have been deleted or replaced.
    pub(super) fn is_in_place(&self) -> bool {
        self.identity.is_some() && Identity::of(&self.folder.join("catalog.db")).ok() == self.identity
    }

    /// Whether the stores were made for another vault's place: then no stamp of a file is to be believed.
    pub fn is_foreign(&self) -> bool {
        self.foreign
    }

    /// Says that every note has been compared, so that the stores are of this place from now on.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn settle(&mut self) -> Result<(), IndexError> {
        if std::mem::take(&mut self.foreign) || !self.catalog.is_settled() {
            self.mark()?;
            self.catalog.settle(&self.settings.place)?;
        }
        Ok(())
    }

    /// Takes what was found wrong and mended since the last call, as sentences.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// The language of the stems.
    pub fn stemmer(&self) -> StemmerLanguage {
        self.settings.stemmer
    }

    /// The file at a path.
    pub fn file(&self, path: &VaultPath) -> Option<&Arc<FileEntry>> {
        self.files.get(*self.by_path.get(path)?)
    }

    /// All files.
    pub fn files(&self) -> &FileTable {
        &self.files
    }

    /// The catalog keeps what a note says of itself; what the configuration says is added here, so that a change of it needs
    /// no reading.
    fn enter(&mut self, mut file: FileEntry) {
        file.info.private = self.is_private(&file);
        let file = Arc::new(file);
        let embeddable = file.chunks.iter().filter(|chunk| chunk.content.is_some()).count();
        self.embeddable += embeddable;
        self.private_embeddable += if file.private { embeddable } else { 0 };
        self.by_path.insert(file.path.clone(), file.id);
        self.files.insert(file);
    }

    /// Whether a note is private by what it says or by the configuration.
    fn is_private(&self, file: &FileEntry) -> bool {
        file.private || self.settings.private.is_match(file.path.as_str())
    }

    /// How many chunks the model is to embed.
    pub(super) fn embeddable(&self) -> usize {
        self.embeddable_by(!self.withholds_private())
    }

    /// How many a model is to embed that is given private notes, or is not.
    pub(super) fn embeddable_by(&self, takes_private: bool) -> usize {
        self.embeddable - if takes_private { 0 } else { self.private_embeddable }
    }

    fn leave(&mut self, path: &VaultPath) -> Option<Arc<FileEntry>> {
        let file = Arc::clone(self.files.get(self.by_path.remove(path)?)?);
        let embeddable = file.chunks.iter().filter(|chunk| chunk.content.is_some()).count();
        self.embeddable -= embeddable;
        self.private_embeddable -= if file.private { embeddable } else { 0 };
        self.files.remove(file.id);
        Some(file)
    }

    /// The number of the batch that was brought in last.
    pub fn generation(&self) -> u64 {
        self.catalog.seq()
    }

    /// Brings a batch of changes into all stores. Only chunks that are new are written, and those whose neighbours or title
    /// changed are given new words.
    ///
    /// # Errors
    /// When the batch was made for another state. When a store refuses: what the catalog has is then caught up with at the next start.
    pub fn apply(&mut self, batch: ChangeBatch) -> Result<(), EngineError> {
        let ChangeBatch { generation, updates, removed } = batch;
        if generation != self.generation() + 1 {
            return Err(EngineError::stale(self.generation(), generation));
        }
        if let Some(stale) = updates.iter().find(|update| !update.follows(self.file(&update.path).map(Arc::as_ref))) {
            return Err(EngineError::stale_part(&stale.path));
        }
        Ok(self.apply_updates(&updates, &removed)?)
    }

    fn apply_updates(&mut self, updates: &[FileUpdate], removed: &[VaultPath]) -> Result<(), IndexError> {
        if updates.is_empty() && removed.is_empty() {
            return Ok(());
        }
        self.mark()?;
        let removed: Vec<Arc<FileEntry>> = removed.iter().filter_map(|path| self.file(path).cloned()).collect();
        let before: Vec<Option<Arc<FileEntry>>> =
            updates.iter().map(|update| self.file(&update.path).cloned()).collect();
        let changes: Vec<Diff> =
            updates.iter().zip(&before).map(|(update, old)| self.diff(update, old.as_deref())).collect();

        let json: Vec<(String, Vec<String>)> = updates.iter().map(as_json).collect();
        let new_files: Vec<NewFile<'_>> = updates
            .iter()
            .zip(&changes)
            .zip(&json)
            .map(|((update, change), (problems, headings))| {
                let first = update.first_written();
                let written = (first..update.end()).zip(headings);
                NewFile {
                    file: FileRow { entry: &change.entry, metadata: &update.metadata, problems },
                    first,
                    chunks: written.map(|(at, heading)| chunk_row(update.chunk(at), heading)).collect(),
                    gone: change.gone.clone(),
                }
            })
            .collect();
        let removed_refs: Vec<&FileEntry> = removed.iter().map(Arc::as_ref).collect();
        let seq = self.catalog.apply(&new_files, &removed_refs)?;
        crash::point("catalog-committed");
        drop(new_files);
        drop(json);

        removed.iter().for_each(|file| self.keyword.remove_file(file.id));
        for ((update, change), old) in updates.iter().zip(&changes).zip(&before) {
            // One word for all of them: each by itself is looked for in every segment.
            match old.as_ref().filter(|old| !change.gone.is_empty() && change.gone.len() == old.chunks.len()) {
                Some(old) => self.keyword.remove_file(old.id),
                None => change.gone.iter().for_each(|row| self.keyword.remove(*row)),
            }
            for at in (update.first_written()..update.end()).filter(|at| change.reword[*at]) {
                if !change.new[at] {
                    self.keyword.remove(change.entry.chunks[at].row);
                }
                self.keyword.add(&document(&change.entry, at, |at| {
                    let new = update.chunk(at);
                    (&new.own, &new.heading, new.speakers.as_slice())
                }))?;
            }
        }
        self.keyword.commit(&self.payload(seq))?;
        crash::point("words-committed");
        self.catalog.forget_deletions(seq)?;
        crash::point("deletions-forgotten");

        self.give_to_sets(updates, &removed, &before, &changes)?;
        for file in &removed {
            self.leave(&file.path);
        }
        for change in changes {
            self.leave(&change.entry.path);
            self.enter(change.entry);
        }
        Ok(())
    }

    /// Tells the open sets of vectors which chunks are gone, and which are new or have another content.
    fn give_to_sets(
        &mut self,
        updates: &[FileUpdate],
        removed: &[Arc<FileEntry>],
        before: &[Option<Arc<FileEntry>>],
        changes: &[Diff],
    ) -> Result<(), IndexError> {
        let is_private: Vec<bool> = changes.iter().map(|change| self.is_private(&change.entry)).collect();
        let contents = |chunks: &[ChunkEntry]| -> HashMap<u64, Option<ContentHash>> {
            chunks.iter().map(|chunk| (chunk.row, chunk.content)).collect()
        };
        for set in self.sets.open_mut() {
            let takes_private = set.space.takes_private;
            let mut gone: Vec<ChunkEntry> = removed.iter().flat_map(|file| file.chunks.iter().copied()).collect();
            let mut added = Vec::new();
            for (((update, old), change), is_private) in updates.iter().zip(before).zip(changes).zip(&is_private) {
                let kept = update.part.kept;
                let old_chunks = old.as_ref().map_or(&[][..], |old| &old.chunks[kept..]);
                let chunks = &change.entry.chunks[kept..];
                let (had, has) = (contents(old_chunks), contents(chunks));
                // A model that is not to have private notes has none of them, and all of one that no longer is private.
                let withheld = !takes_private && *is_private;
                let was_withheld = !takes_private && old.as_ref().is_some_and(|old| old.private);
                let turned = withheld != was_withheld;
                gone.extend(old_chunks.iter().filter(|chunk| turned || has.get(&chunk.row) != Some(&chunk.content)));
                let is_new = |chunk: &&ChunkEntry| !withheld && (turned || had.get(&chunk.row) != Some(&chunk.content));
                added.push(Added {
                    file: change.entry.id,
                    mtime_ns: update.stamp.mtime_ns,
                    chunks: chunks.iter().filter(is_new).copied().collect(),
                });
            }
            set.change(&self.catalog, &gone, &added)?;
        }
        Ok(())
    }

    /// What a commit of the keyword index carries.
    pub(super) fn payload(&self, seq: u64) -> Payload {
        Payload { format: FORMAT, stemmer: self.stemmer(), store: self.catalog.store().to_owned(), seq }
    }

    /// Notes that files were looked at and are unchanged.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn touch(&mut self, files: &[(VaultPath, Stamp, i64)]) -> Result<(), IndexError> {
        let mut rows = Vec::with_capacity(files.len());
        for (path, stamp, read_ns) in files {
            let Some(file) = self.file(path) else { continue };
            let mut touched = FileEntry::clone(file);
            (touched.info.stamp, touched.info.read_ns) = (*stamp, *read_ns);
            rows.push((touched.id, *stamp, *read_ns));
            self.files.insert(Arc::new(touched));
        }
        self.mark()?;
        Ok(self.catalog.touch(&rows)?)
    }

    /// Replaces what is known to be skipped at or below `places` (everywhere when `None`), and says whether that is news.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn set_skipped(
        &mut self,
        places: Option<&[VaultPath]>,
        skipped: &[(String, String)],
    ) -> Result<bool, IndexError> {
        let changed = self.catalog.set_skipped(places, skipped)?;
        if changed {
            self.mark()?;
        }
        Ok(changed)
    }

    /// Says on disk that the stores are being written, before the first write.
    pub(super) fn mark(&mut self) -> Result<(), FsError> {
        self.marker.set(&self.folder)
    }
}

/// Maximum number of scopes that are remembered: agents that ask at the same time, each with a filter or two.
const MAX_SCOPES: usize = 8;

/// What is counted in a scope. Nothing of it changes for as long as the snapshot lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ScopeCount {
    /// Chunks and words.
    pub(super) statistics: Statistics,
    /// Chunks that are embedded, of those that are to be.
    pub(super) embedded: (usize, usize),
}

/// The counts of the last scopes: each search of an agent asks for them three times, and going through 20,000 files each time took three
/// quarters of its 10 ms (`docs/performance.md`).
///
/// They are shared by all who ask: who sees exactly the same files as another may tell by the time that somebody has asked since the index
/// changed last. It learns neither who nor what, and whoever asks without a filter and sees everything, as the person does, is not counted.
#[derive(Default)]
pub(super) struct ScopeCounts(Mutex<VecDeque<(FileSet, ScopeCount)>>);

impl ScopeCounts {
    /// What was counted in a scope, or is now.
    pub(super) fn of(&self, scope: &FileSet, count: impl FnOnce() -> ScopeCount) -> ScopeCount {
        if let Some(known) = self.known(scope) {
            return known;
        }
        // Nobody waits for this: two who ask at once both count.
        let counted = count();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.truncate(MAX_SCOPES - 1);
        last.push_front((scope.clone(), counted));
        counted
    }

    fn known(&self, scope: &FileSet) -> Option<ScopeCount> {
        let last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        last.iter().find(|(known, _)| known == scope).map(|(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(embedded: usize) -> ScopeCount {
        ScopeCount { statistics: Statistics::default(), embedded: (embedded, embedded) }
    }

    #[test]
    fn a_scope_is_counted_once_until_others_have_taken_its_place() {
        let counts = ScopeCounts::default();
        let scope = |files: u32| -> FileSet { (0..files).collect() };
        assert_eq!(counts.of(&scope(3), || count(1)), count(1));
        assert_eq!(counts.of(&scope(3), || unreachable!()), count(1));
        for files in 4..4 + MAX_SCOPES as u32 {
            assert_eq!(counts.of(&scope(files), || count(files as usize)), count(files as usize));
        }
        assert_eq!(counts.of(&scope(3), || count(2)), count(2), "it was forgotten");
    }
}
