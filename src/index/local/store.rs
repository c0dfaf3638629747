//! The one writer of the index.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use super::catalog::{Catalog, CatalogReader};
use super::diff::{Diff, document};
use super::embeddings::{Added, Embeddings};
use super::engine::{WORDS, erase, remove, remove_misplaced};
use super::keyword::{self, FORMAT, KeywordSearcher, KeywordWriter, Payload};
use super::recovery::{MERGES_END_WITHIN, Marker};
use super::snapshot::Snapshot;
use super::vector_sets::VectorSets;
use crate::base::config::StemmerLanguage;
use crate::base::fs::{FsError, crash, create_dir, create_private_dir};
use crate::base::path::VaultPath;
use crate::index::engine::{
    ChangeBatch, ChunkEntry, ContentHash, EngineError, FileEntry, FileTable, FileUpdate, PendingText, Reader, Writer,
};
use crate::models::{EmbeddedText, EmbeddingSpace, Fingerprint};
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
    pub(super) sets: VectorSets,
    /// Chunks that have something to embed, and those of them that are in private notes.
    embeddable: usize,
    private_embeddable: usize,
    pub(super) spare: Arc<Mutex<Vec<CatalogReader>>>,
    /// The last snapshot, while anybody holds it.
    pub(super) published: Weak<Snapshot>,
    pub(super) foreign: bool,
    /// The catalog's file, by which the stores are told from others.
    pub(super) identity: Option<Identity>,
    /// What was found wrong and mended, and not yet said.
    pub(super) notices: Vec<String>,
}

impl Store {
    /// Opens the stores in a folder, or makes new ones, and brings them to one state. With `distrust`, SQLite checks all its
    /// pages first; what tells otherwise is checked always.
    ///
    /// # Errors
    /// When they are damaged or of another format, so that they have to be made fit to be opened; or the disk refuses.
    pub fn open(folder: &Path, settings: Settings, distrust: bool) -> Result<Self, EngineError> {
        create_private_dir(folder)?;
        let mut notices = remove_misplaced(folder)?;
        // Versions before saved the graph there, and nothing reads it any more.
        remove(&folder.join("graph"))?;
        let marker = Marker::read(folder);
        let (database, words) = (folder.join("catalog.db"), folder.join(WORDS));
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
            let keyword = keyword.join().unwrap_or_else(|_| Err(keyword::damaged("it cannot be opened")));
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

    /// The catalog keeps what a note says of itself; what the configuration says is added here, so that a change of it needs
    /// no reading.
    fn enter(&mut self, mut file: FileEntry) {
        file.info.private = self.is_private(&file);
        let file = Arc::new(file);
        let embeddable = file.chunks.iter().filter(|chunk| chunk.content.is_some()).count();
        self.embeddable += embeddable;
        self.private_embeddable += if file.private { embeddable } else { 0 };
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
        let file = Arc::clone(self.files.at(path.as_str())?);
        let embeddable = file.chunks.iter().filter(|chunk| chunk.content.is_some()).count();
        self.embeddable -= embeddable;
        self.private_embeddable -= if file.private { embeddable } else { 0 };
        self.files.remove(file.id);
        Some(file)
    }

    fn apply_updates(&mut self, updates: &[FileUpdate], removed: &[VaultPath]) -> Result<(), EngineError> {
        if updates.is_empty() && removed.is_empty() {
            return Ok(());
        }
        self.mark()?;
        let removed: Vec<Arc<FileEntry>> = removed.iter().filter_map(|path| self.file(path).cloned()).collect();
        let changes: Vec<Diff<'_>> = updates.iter().map(|update| self.diff(update)).collect();
        let seq = self.catalog.apply(&changes, &removed)?;
        crash::point("catalog-committed");

        removed.iter().for_each(|file| self.keyword.remove_file(file.id));
        for change in &changes {
            // One word for all of them: each by itself is looked for in every segment.
            match change.old.as_ref().filter(|old| !change.gone.is_empty() && change.gone.len() == old.chunks.len()) {
                Some(old) => self.keyword.remove_file(old.id),
                None => change.gone.iter().for_each(|row| self.keyword.remove(*row)),
            }
            for at in (0..change.reword.len()).filter(|at| change.reword[*at]) {
                if !change.new[at] {
                    self.keyword.remove(change.entry.chunks[at].row);
                }
                self.keyword.add(&document(&change.entry, at, |at| {
                    let new = &change.update.chunks[at];
                    (&new.own, &new.heading, new.speakers.as_slice())
                }))?;
            }
        }
        self.keyword.commit(&self.payload(seq))?;
        crash::point("words-committed");
        self.catalog.forget_deletions(seq)?;
        crash::point("deletions-forgotten");

        self.give_to_sets(&removed, &changes)?;
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
    fn give_to_sets(&mut self, removed: &[Arc<FileEntry>], changes: &[Diff<'_>]) -> Result<(), EngineError> {
        let is_private: Vec<bool> = changes.iter().map(|change| self.is_private(&change.entry)).collect();
        let contents = |chunks: &[ChunkEntry]| -> HashMap<u64, Option<ContentHash>> {
            chunks.iter().map(|chunk| (chunk.row, chunk.content)).collect()
        };
        for set in self.sets.open_mut() {
            let takes_private = set.space.takes_private;
            let mut gone: Vec<ChunkEntry> = removed.iter().flat_map(|file| file.chunks.iter().copied()).collect();
            let mut added = Vec::new();
            for (Diff { update, old, entry, .. }, is_private) in changes.iter().zip(&is_private) {
                let old_chunks = old.as_ref().map_or(&[][..], |old| &old.chunks);
                let chunks = &entry.chunks;
                let (had, has) = (contents(old_chunks), contents(chunks));
                // A model that is not to have private notes has none of them, and all of one that no longer is private.
                let withheld = !takes_private && *is_private;
                let was_withheld = !takes_private && old.as_ref().is_some_and(|old| old.private);
                let turned = withheld != was_withheld;
                gone.extend(old_chunks.iter().filter(|chunk| turned || has.get(&chunk.row) != Some(&chunk.content)));
                let is_new = |chunk: &&ChunkEntry| !withheld && (turned || had.get(&chunk.row) != Some(&chunk.content));
                added.push(Added {
                    file: entry.id,
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

    /// Says on disk that the stores are being written, before the first write.
    pub(super) fn mark(&mut self) -> Result<(), FsError> {
        self.marker.set(&self.folder)
    }
}

impl Writer for Store {
    fn stemmer(&self) -> StemmerLanguage {
        self.settings.stemmer
    }

    fn files(&self) -> &FileTable {
        &self.files
    }

    fn generation(&self) -> u64 {
        self.catalog.seq()
    }

    /// Only chunks that are new are written, and those whose neighbours or title changed are given new words.
    fn apply(&mut self, batch: ChangeBatch) -> Result<(), EngineError> {
        batch.check(self)?;
        let ChangeBatch { updates, removed, .. } = batch;
        self.apply_updates(&updates, &removed)
    }

    fn touch(&mut self, files: &[(VaultPath, Stamp, i64)]) -> Result<(), EngineError> {
        let mut rows = Vec::with_capacity(files.len());
        for (path, stamp, read_ns) in files {
            let Some(file) = self.file(path) else { continue };
            let mut touched = FileEntry::clone(file);
            (touched.info.stamp, touched.info.read_ns) = (*stamp, *read_ns);
            rows.push((touched.id, *stamp, *read_ns));
            self.files.insert(Arc::new(touched));
        }
        self.mark()?;
        self.catalog.touch(&rows)
    }

    fn set_skipped(&mut self, places: Option<&[VaultPath]>, skipped: &[(String, String)]) -> Result<bool, EngineError> {
        let changed = self.catalog.set_skipped(places, skipped)?;
        if changed {
            self.mark()?;
        }
        Ok(changed)
    }

    fn open_vectors(&mut self, space: &EmbeddingSpace) -> Result<(), EngineError> {
        let damaged = self.load_vectors(space)?;
        if damaged > 0 {
            self.notices.push(format!("{damaged} stored embeddings were damaged, and are made again"));
        }
        Ok(())
    }

    fn serve_vectors(&mut self, model: &Fingerprint) -> Result<(), EngineError> {
        let next = self.sets.next.take();
        if let Some(next) = next.filter(|next| next.space.fingerprint == *model) {
            self.sets.serving = Some(next);
        }
        Ok(())
    }

    fn coverage(&self, model: &Fingerprint) -> (usize, usize) {
        let Some(set) = self.sets.of(model) else { return (0, 0) };
        (set.vectors.len(), self.embeddable_by(set.space.takes_private))
    }

    fn pending(&self, model: &Fingerprint) -> usize {
        self.sets.of(model).map_or(0, Embeddings::waiting)
    }

    fn pending_among(&self, model: &Fingerprint, contents: &HashSet<ContentHash>) -> usize {
        self.sets.of(model).map_or(0, |set| set.waiting_among(contents))
    }

    fn take_bulk(&mut self, model: &Fingerprint, newest: usize, limit: usize) -> Result<Vec<PendingText>, EngineError> {
        let taken = self.sets.of_mut(model).map(|set| set.take(newest, limit)).unwrap_or_default();
        self.texts_of(taken)
    }

    fn embedded(
        &mut self,
        model: &Fingerprint,
        embeddings: Vec<(ContentHash, EmbeddedText)>,
    ) -> Result<(), EngineError> {
        self.mark()?;
        match self.sets.of_mut(model) {
            Some(set) => set.keep(&mut self.catalog, embeddings),
            None => Ok(()),
        }
    }

    fn requeue(&mut self, model: &Fingerprint, contents: &[ContentHash]) {
        if let Some(set) = self.sets.of_mut(model) {
            set.requeue(contents);
        }
    }

    fn publish(&mut self) -> Result<Arc<dyn Reader>, EngineError> {
        Ok(self.snapshot()?)
    }

    fn publish_without_words(&mut self) -> Result<Arc<dyn Reader>, EngineError> {
        Ok(self.snapshot_without_words()?)
    }

    fn close(self: Box<Self>) -> Result<(), EngineError> {
        // A reader of another process may need the log; it then stays, and nothing is lost.
        crash::point("closing");
        let _ = self.catalog.checkpoint();
        crash::point("closing-checkpointed");
        let Self { folder, keyword, catalog, marker, .. } = *self;
        keyword.close(MERGES_END_WITHIN);
        drop(catalog);
        crash::point("closing-dropped");
        marker.clear(&folder)?;
        crash::point("closed");
        Ok(())
    }

    fn discard(self: Box<Self>) -> Result<(), EngineError> {
        let folder = self.folder.clone();
        drop(self);
        Ok(erase(&folder)?)
    }
}
