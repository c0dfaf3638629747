//! The one writer of the index; how a file's chunks changed, and what that means for each store; and how the folder of the stores is made fit
//! to be opened again.
//!
//! Damage in one store costs that store alone. The keyword index is built again from the catalog. The catalog is built again
//! from the notes, embeddings and all. An embedding is computed again.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};

use super::catalog::Catalog;
use super::embeddings::{Embeddings, VectorSets};
use super::keyword::{self, FORMAT, KeywordSearcher, KeywordWriter, Payload, WordDocument};
use super::recovery::{MARKER, MERGES_END_WITHIN, Marker};
use super::snapshot::Snapshot;
use crate::access::rules::PRIVATE_TO;
use crate::base::config::StemmerLanguage;
use crate::base::fs::{Context, FsError, crash, create_dir, create_private_dir};
use crate::base::path::VaultPath;
use crate::index::engine::{
    ChunkEntry, ContentHash, Damage, Engine, EngineError, FileEntry, FileTable, FileUpdate, PendingText, Reader,
    Writer, neighbours,
};
use crate::models::{EmbeddedText, EmbeddingSpace, Fingerprint};
use crate::text::derive::words::Words;
use crate::text::derive::{CONVERSATIONS, TextLanguage, goes_on_and_begins};
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
    /// The last snapshot, while anybody holds it.
    pub(super) published: Weak<Snapshot>,
    /// The catalog's file, by which the stores are told from others.
    pub(super) identity: Option<Identity>,
    /// What was found wrong and mended, and not yet said.
    pub(super) notices: Vec<String>,
}

impl Store {
    /// Opens the stores in a folder, or makes new ones, and brings them to one state.
    ///
    /// # Errors
    /// When they are damaged or of another format, so that they have to be made fit to be opened; or the disk refuses.
    pub fn open(folder: &Path, settings: Settings) -> Result<Self, EngineError> {
        create_private_dir(folder)?;
        let mut notices = remove_misplaced(folder)?;
        let marker = Marker::read(folder);
        let (database, words) = (folder.join("catalog.db"), folder.join(WORDS));
        if words.exists() && fs::metadata(&database).map_or(0, |found| found.len()) == 0 {
            notices.push("the catalog was missing, and is rebuilt from the notes".into());
        }
        let catalog = Catalog::open(&database, &settings.place)?;
        if catalog.meta.place != settings.place {
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
            files: FileTable::default(),
            sets: VectorSets::default(),
            published: Weak::new(),
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
        if self.settings.private.is_match(file.path.as_str()) {
            file.info.private = true;
            file.info.doubtful.retain(|mark| !mark.starts_with(PRIVATE_TO));
        }
        self.files.insert(Arc::new(file));
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
        let of = |scope| self.files.embeddable(scope);
        of(None) - if takes_private { 0 } else { of(Some(self.files.facets().private())) }
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
            for (Diff { old, entry, .. }, is_private) in changes.iter().zip(&is_private) {
                let old_chunks = old.as_ref().map_or(&[][..], |old| &old.chunks);
                let chunks = &entry.chunks;
                let (had, has) = (contents(old_chunks), contents(chunks));
                // A model that is not to have private notes has none of them, and all of one that no longer is private.
                let withheld = !takes_private && *is_private;
                let was_withheld = !takes_private && old.as_ref().is_some_and(|old| old.private);
                let turned = withheld != was_withheld;
                gone.extend(old_chunks.iter().filter(|chunk| turned || has.get(&chunk.row) != Some(&chunk.content)));
                let is_new = |chunk: &&ChunkEntry| !withheld && (turned || had.get(&chunk.row) != Some(&chunk.content));
                added.push((entry, chunks.iter().filter(is_new).copied().collect()));
            }
            set.change(&self.catalog, &gone, &added)?;
        }
        Ok(())
    }

    /// What a commit of the keyword index carries.
    pub(super) fn payload(&self, seq: u64) -> Payload {
        Payload { format: FORMAT, stemmer: self.stemmer(), store: self.catalog.meta.store.clone(), seq }
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

    /// Only chunks that are new are written, and those whose neighbours or title changed are given new words.
    fn apply(&mut self, updates: Vec<FileUpdate>, removed: Vec<VaultPath>) -> Result<(), EngineError> {
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
        removed.iter().for_each(|file| self.files.remove(file.id));
        changes.into_iter().for_each(|change| self.enter(change.entry));
        Ok(())
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

    fn take_pending(&mut self, model: &Fingerprint, limit: usize) -> Result<Vec<PendingText>, EngineError> {
        let taken = self.sets.of_mut(model).map(|set| set.take(limit)).unwrap_or_default();
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

/// How a file's chunks changed.
pub(super) struct Diff<'a> {
    pub(super) update: &'a FileUpdate,
    /// The file as it was, and as it is.
    pub(super) old: Option<Arc<FileEntry>>,
    pub(super) entry: FileEntry,
    /// Rows of chunks that are gone.
    pub(super) gone: Vec<u64>,
    /// Which chunks were not there before.
    pub(super) new: Vec<bool>,
    /// Which chunks the keyword index must take anew.
    pub(super) reword: Vec<bool>,
}

impl Store {
    /// Matches the chunks of a file with those it had, so that what stays keeps its row.
    pub(super) fn diff<'a>(&mut self, update: &'a FileUpdate) -> Diff<'a> {
        let old = self.file(&update.path).cloned();
        let mut rows: HashMap<_, _> =
            old.iter().flat_map(|old| &old.chunks).map(|chunk| (chunk.id, chunk.row)).collect();
        let (mut new, mut chunks) = (Vec::new(), Vec::with_capacity(update.chunks.len()));
        for (at, chunk) in update.chunks.iter().enumerate() {
            let near = update.chunks[neighbours(at, update.chunks.len())].iter().map(|near| near.own.count).sum();
            let row = rows.remove(&chunk.chunk.id);
            new.push(row.is_none());
            chunks.push(ChunkEntry {
                row: row.unwrap_or_else(|| self.catalog.new_chunk_id()),
                id: chunk.chunk.id,
                line: chunk.chunk.lines.0 as u32,
                content: chunk.content,
                words: [near, chunk.heading.count, chunk.own.count],
            });
        }
        let reword = reworded(old.as_deref(), update, &chunks, &new);
        let id = old.as_ref().map_or_else(|| self.catalog.new_file_id(), |old| old.id);
        let entry = FileEntry { id, info: update.info.clone(), chunks };
        Diff { update, gone: rows.into_values().collect(), old, entry, new, reword }
    }
}

/// Which chunks need new words: the new ones, those whose neighbours changed, the first when what else names the note did, and all
/// when the title or the language did.
fn reworded(old: Option<&FileEntry>, update: &FileUpdate, chunks: &[ChunkEntry], new: &[bool]) -> Vec<bool> {
    let is_same =
        |old: &&FileEntry| old.title == update.title && old.language() == TextLanguage::of_labels(&update.labels);
    let Some(old) = old.filter(is_same) else { return vec![true; chunks.len()] };
    let around = |chunks: &[ChunkEntry], at: usize| -> [Option<u64>; 2] {
        let row = |at: Option<usize>| at.and_then(|at| chunks.get(at)).map(|chunk| chunk.row);
        [row(at.checked_sub(1)), row(at.checked_add(1))]
    };
    let before: HashMap<u64, [Option<u64>; 2]> =
        (0..old.chunks.len()).map(|at| (old.chunks[at].row, around(&old.chunks, at))).collect();
    let renamed = old.labels != update.labels || old.tags != update.tags;
    let mut reword: Vec<bool> = (0..chunks.len())
        .map(|at| new[at] || (at == 0 && renamed) || before.get(&chunks[at].row) != Some(&around(chunks, at)))
        .collect();
    if update.path.collection() == CONVERSATIONS {
        // Whether another may have spoken last before the chunk: who speaks is said where the turn begins.
        let mut other_before = false;
        for at in 0..chunks.len() {
            let (goes_on, begins) = goes_on_and_begins(update.chunks[at].chunk.body());
            other_before |= reword[at];
            reword[at] |= other_before && goes_on;
            other_before = new[at] || (other_before && !begins);
        }
    }
    reword
}

/// What the keyword index takes of the chunk `at` of a file.
pub(super) fn document<'a>(
    file: &FileEntry,
    at: usize,
    words: impl Fn(usize) -> (&'a Words, &'a Words, &'a [String]),
) -> WordDocument {
    let (own, heading, speakers) = words(at);
    let near: Vec<&str> = neighbours(at, file.chunks.len())
        .map(|near| words(near).0.stemmed.as_str())
        .filter(|words| !words.is_empty())
        .collect();
    WordDocument {
        chunk: file.chunks[at].row,
        file: file.id,
        body: near.join(" "),
        heading: heading.stemmed.clone(),
        own: own.plain.clone(),
        speakers: speakers.to_vec(),
    }
}

/// The stores in a folder.
#[derive(Debug)]
pub(crate) struct LocalEngine {
    folder: PathBuf,
    settings: Settings,
}

impl LocalEngine {
    /// Those in `folder`, which need not be there.
    pub(crate) fn new(folder: PathBuf, settings: Settings) -> Self {
        Self { folder, settings }
    }
}

impl Engine for LocalEngine {
    fn location(&self) -> String {
        self.folder.display().to_string()
    }

    fn open(&self) -> Result<Box<dyn Writer>, EngineError> {
        Ok(Box::new(Store::open(&self.folder, self.settings.clone())?))
    }

    fn clear(&self, damage: &Damage) -> Result<(), EngineError> {
        match damage {
            Damage::Catalog(_) => {
                let mut built_anew = STORES.iter().filter(|(name, _)| *name != MARKER);
                built_anew.try_for_each(|(name, _)| remove(&self.folder.join(name)))?;
            }
            Damage::Words(_) => remove(&self.folder.join(WORDS))?,
            // Mended while the stores are open.
            Damage::Embeddings(_) => {}
        }
        Ok(())
    }
}

/// The folder of the keyword index.
const WORDS: &str = "tantivy";

/// What the stores are in their folder, and whether it is a folder itself.
const STORES: [(&str, bool); 5] =
    [("catalog.db", false), ("catalog.db-wal", false), ("catalog.db-shm", false), (WORDS, true), (MARKER, false)];

/// Removes the stores in a folder, so that they are built from nothing. Only what is ours is touched.
///
/// # Errors
/// When the disk refuses.
pub(super) fn erase(folder: &Path) -> Result<(), FsError> {
    STORES.iter().try_for_each(|(name, _)| {
        crash::point("erasing");
        remove(&folder.join(name))
    })
}

/// Removes folders that stand where files should, and the reverse; gives those whose loss says nothing by itself.
pub(super) fn remove_misplaced(folder: &Path) -> Result<Vec<String>, FsError> {
    let mut misplaced = Vec::new();
    for (name, is_folder) in STORES {
        let path = folder.join(name);
        if fs::metadata(&path).is_ok_and(|found| found.is_dir() != is_folder) {
            remove(&path)?;
            if !["catalog.db", WORDS].contains(&name) {
                let (is, not) = if is_folder { ("a file", "a folder") } else { ("a folder", "a file") };
                misplaced.push(format!("{} was {is}, not {not}, and is made again", path.display()));
            }
        }
    }
    Ok(misplaced)
}

/// Removes a file or a folder, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), FsError> {
    let removed = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).on("remove", path),
        _ => Ok(()),
    }
}
