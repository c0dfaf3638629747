//! The one writer of the index.

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::ContentHash;
use super::catalog::{Catalog, CatalogError, CatalogReader, ChunkRow, FileRow, NewFile};
use super::embeddings::Embeddings;
use super::entry::{ChunkEntry, FileEntry, Files};
use super::keyword::{Document, KeywordError, KeywordSearcher, KeywordWriter, Payload, Words};
use super::recovery;
use super::snapshot::Snapshot;
use super::update::{FileUpdate, NewChunk};
use super::vectors::VectorError;
use crate::vault::Globs;

use crate::config::StemmerLanguage;
use crate::fs::{Context, FsError, crash, create_dir, create_private_dir};
use crate::path::VaultPath;
use crate::vault::Stamp;

/// Readers of the catalog that a snapshot holds: as many searches read texts at the same time.
pub(super) const READERS: usize = 2;

/// The index failed.
#[derive(Debug, thiserror::Error)]
pub enum IndexError {
    /// The catalog did.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The keyword index did.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// The vectors did.
    #[error(transparent)]
    Vector(#[from] VectorError),
    /// A file operation did.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The words were stemmed for another language.
    #[error("{0}")]
    Stale(String),
    /// There is none yet, and only its writer makes one.
    #[error("there is no index in {} yet; the process that writes it has just begun. Try again in a moment", .0.display())]
    Absent(PathBuf),
}

/// What shapes the index besides the files.
#[derive(Debug, Clone)]
pub struct Settings {
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
    marker: recovery::Marker,
    pub(super) catalog: Catalog,
    pub(super) keyword: KeywordWriter,
    searcher: Option<KeywordSearcher>,
    files: Files,
    by_path: HashMap<VaultPath, u32>,
    pub(super) embeddings: Option<Embeddings>,
    embeddable: usize,
    spare: Arc<Mutex<Vec<CatalogReader>>>,
}

impl Store {
    /// Opens the stores in a folder, or makes new ones, and brings them to one state.
    ///
    /// # Errors
    /// When they are damaged, of another format or foreign, so that they must be rebuilt; or the disk refuses.
    pub fn open(folder: &Path, settings: Settings) -> Result<Self, IndexError> {
        create_private_dir(folder)?;
        let marker = recovery::Marker::read(folder, &settings)?;
        let catalog = Catalog::open(&folder.join("catalog.db"))?;
        create_dir(&folder.join("tantivy"))?;
        let keyword = KeywordWriter::open(&folder.join("tantivy"), marker.machine_stopped())?;
        let files = catalog.files()?;
        let mut store = Self {
            folder: folder.to_owned(),
            settings,
            catalog,
            keyword,
            marker,
            searcher: None,
            embeddable: 0,
            files: Files::default(),
            by_path: HashMap::new(),
            embeddings: None,
            spare: Arc::default(),
        };
        files.into_iter().for_each(|file| store.enter(file));
        if store.marker.machine_stopped() {
            store.catalog.check()?;
        }
        store.catch_up()?;
        Ok(store)
    }

    /// Removes the stores in a folder, so that they are built from nothing. Only what is ours is touched.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn erase(folder: &Path) -> Result<(), FsError> {
        const OURS: [&str; 7] =
            ["catalog.db", "catalog.db-wal", "catalog.db-shm", "tantivy", "graph", "stemmer", recovery::MARKER];
        for name in OURS {
            crash::point("erasing");
            let path = folder.join(name);
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            match removed {
                Err(error) if error.kind() != ErrorKind::NotFound => return Err(error).on("remove", &path),
                _ => {}
            }
        }
        Ok(())
    }

    /// Removes the keyword index in a folder; it is built anew from the catalog.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn erase_words(folder: &Path) -> Result<(), FsError> {
        let path = folder.join("tantivy");
        match fs::remove_dir_all(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error).on("remove", &path),
            _ => Ok(()),
        }
    }

    /// Closes the stores and removes them.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn discard(self) -> Result<(), IndexError> {
        let Self { folder, keyword, catalog, .. } = self;
        // Merges go on in the background, and would put new files into a folder that is being removed. What they came to
        // does not matter.
        let _ = keyword.finish();
        drop(catalog);
        Ok(Self::erase(&folder)?)
    }

    /// Makes what was written safe against a power loss, and says that this was a clean stop.
    ///
    /// # Errors
    /// When the disk refuses; the next start then checks everything.
    pub fn close(self) -> Result<(), IndexError> {
        // A reader of another process may need the log; it then stays, and nothing is lost.
        crash::point("closing");
        let _ = self.catalog.checkpoint();
        crash::point("closing-checkpointed");
        let Self { folder, keyword, catalog, marker, .. } = self;
        drop((keyword, catalog));
        crash::point("closing-dropped");
        marker.clear(&folder)?;
        crash::point("closed");
        Ok(())
    }

    /// Where the stores are.
    pub fn folder(&self) -> &Path {
        &self.folder
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
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// The catalog keeps what a note says of itself; what the configuration says is added here, so that a change of it needs
    /// no reading.
    fn enter(&mut self, mut file: FileEntry) {
        file.private |= self.settings.private.is_match(file.path.as_str());
        let file = Arc::new(file);
        self.embeddable += file.chunks.iter().filter(|chunk| chunk.content.is_some()).count();
        self.by_path.insert(file.path.clone(), file.id);
        self.files.insert(file);
    }

    fn leave(&mut self, path: &VaultPath) -> Option<Arc<FileEntry>> {
        let file = Arc::clone(self.files.get(self.by_path.remove(path)?)?);
        self.embeddable -= file.chunks.iter().filter(|chunk| chunk.content.is_some()).count();
        self.files.remove(file.id);
        Some(file)
    }

    /// Brings a batch of changes into all stores. Only chunks that are new are written, and those whose neighbours or title
    /// changed are given new words.
    ///
    /// # Errors
    /// When a store refuses. What the catalog has is then caught up with at the next start.
    pub fn apply(&mut self, updates: Vec<FileUpdate>, removed: &[VaultPath]) -> Result<(), IndexError> {
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
            .map(|((update, change), (problems, headings))| NewFile {
                file: FileRow { entry: &change.entry, metadata: &update.metadata, problems },
                chunks: update.chunks.iter().zip(headings).map(|(chunk, heading)| chunk_row(chunk, heading)).collect(),
                gone: change.gone.clone(),
            })
            .collect();
        let removed_refs: Vec<&FileEntry> = removed.iter().map(Arc::as_ref).collect();
        let seq = self.catalog.apply(&new_files, &removed_refs)?;
        crash::point("catalog-committed");
        drop(new_files);

        removed.iter().for_each(|file| self.keyword.remove_file(file.id));
        for (update, change) in updates.iter().zip(&changes) {
            change.gone.iter().for_each(|row| self.keyword.remove(*row));
            for at in 0..update.chunks.len() {
                let row = change.entry.chunks[at].row;
                if change.reword[at] {
                    if !change.new[at] {
                        self.keyword.remove(row);
                    }
                    self.keyword
                        .add(&document(&change.entry, at, |at| (&update.chunks[at].own, &update.chunks[at].heading)))?;
                }
            }
        }
        self.keyword.commit(&Payload { store: self.catalog.store().to_owned(), seq })?;
        crash::point("words-committed");
        self.catalog.forget_deletions(seq)?;
        crash::point("deletions-forgotten");

        let mut gone: Vec<ChunkEntry> = removed.iter().flat_map(|file| file.chunks.iter().copied()).collect();
        let mut added = Vec::new();
        for (old, change) in before.iter().zip(&changes) {
            let old_chunks = old.as_ref().map_or(&[][..], |old| &old.chunks);
            let contents = |chunks: &[ChunkEntry]| -> HashMap<u64, Option<ContentHash>> {
                chunks.iter().map(|chunk| (chunk.row, chunk.content)).collect()
            };
            let (had, has) = (contents(old_chunks), contents(&change.entry.chunks));
            gone.extend(old_chunks.iter().filter(|chunk| has.get(&chunk.row) != Some(&chunk.content)));
            let is_new = |chunk: &&ChunkEntry| had.get(&chunk.row) != Some(&chunk.content);
            added.extend(
                change
                    .entry
                    .chunks
                    .iter()
                    .filter(is_new)
                    .map(|chunk| (*chunk, change.entry.id, change.entry.stamp.mtime_ns)),
            );
        }
        if let Some(embeddings) = &mut self.embeddings {
            embeddings.change(&self.catalog, &gone, &added)?;
        }
        for file in &removed {
            self.leave(&file.path);
        }
        for change in changes {
            self.leave(&change.entry.path);
            self.enter(change.entry);
        }
        Ok(())
    }

    /// Matches the chunks of a file with those it had, so that what stays keeps its row.
    fn diff(&mut self, update: &FileUpdate, old: Option<&FileEntry>) -> Diff {
        let mut rows: HashMap<_, _> =
            old.iter().flat_map(|old| &old.chunks).map(|chunk| (chunk.id, chunk.row)).collect();
        let mut new = Vec::with_capacity(update.chunks.len());
        let mut chunks: Vec<ChunkEntry> = Vec::with_capacity(update.chunks.len());
        for chunk in &update.chunks {
            let row = rows.remove(&chunk.chunk.id);
            new.push(row.is_none());
            chunks.push(ChunkEntry {
                row: row.unwrap_or_else(|| self.catalog.new_chunk_id()),
                id: chunk.chunk.id,
                line: chunk.chunk.lines.0 as u32,
                content: chunk.content,
                words: [0, chunk.heading.count, chunk.own.count],
            });
        }
        for at in 0..chunks.len() {
            chunks[at].words[0] = neighbours(at, chunks.len()).map(|near| update.chunks[near].own.count).sum();
        }
        let reword = reworded(old, &update.title, &chunks, &new);
        let entry = FileEntry {
            id: old.map_or_else(|| self.catalog.new_file_id(), |old| old.id),
            path: update.path.clone(),
            stamp: update.stamp,
            hash: update.hash,
            read_ns: update.read_ns,
            title: update.title.clone(),
            tags: update.tags.clone(),
            private: update.private,
            created_ms: update.created_ms,
            updated_ms: update.updated_ms,
            chunks,
        };
        Diff { gone: rows.into_values().collect(), entry, new, reword }
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
            (touched.stamp, touched.read_ns) = (*stamp, *read_ns);
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

    /// Empties the catalog's log when it is longer than `max_bytes`. `published` is the snapshot of the state of now: its readers hold on
    /// to the log, and let go for a moment in which nothing can change.
    ///
    /// # Errors
    /// When the catalog refuses.
    pub fn trim_log(&self, published: &Snapshot, max_bytes: u64) -> Result<(), IndexError> {
        if self.catalog.log_bytes() <= max_bytes || published.seq != self.catalog.seq() {
            return Ok(());
        }
        let readers: Vec<_> =
            published.readers.iter().map(|reader| reader.lock().unwrap_or_else(PoisonError::into_inner)).collect();
        readers.iter().try_for_each(|reader| reader.release())?;
        crash::point("log-released");
        let trimmed = self.catalog.checkpoint();
        crash::point("log-trimmed");
        readers.iter().try_for_each(|reader| reader.renew())?;
        Ok(trimmed?)
    }

    /// Publishes the state of now.
    ///
    /// # Errors
    /// When a store cannot be read.
    pub fn snapshot(&mut self) -> Result<Arc<Snapshot>, IndexError> {
        let keyword = self.keyword.searcher(self.searcher.as_ref())?;
        self.searcher = Some(keyword.clone());
        let mut readers = Vec::with_capacity(READERS);
        for _ in 0..READERS {
            let spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner).pop();
            readers.push(Mutex::new(match spare {
                Some(reader) => {
                    reader.renew()?;
                    reader
                }
                None => self.catalog.reader()?,
            }));
        }
        Ok(Arc::new(Snapshot {
            seq: self.catalog.seq(),
            files: self.files.clone(),
            keyword,
            vectors: self.embeddings.as_ref().map(|embeddings| embeddings.vectors.clone()),
            embeddable: self.embeddable,
            statistics: OnceLock::new(),
            readers,
            spare: Arc::clone(&self.spare),
        }))
    }
}

/// How a file's chunks changed.
struct Diff {
    entry: FileEntry,
    /// Rows of chunks that are gone.
    gone: Vec<u64>,
    /// Which chunks were not there before.
    new: Vec<bool>,
    /// Which chunks the keyword index must take anew.
    reword: Vec<bool>,
}

/// Which chunks need new words: the new ones, those whose neighbours changed, and all when the title did.
fn reworded(old: Option<&FileEntry>, title: &str, chunks: &[ChunkEntry], new: &[bool]) -> Vec<bool> {
    let Some(old) = old.filter(|old| old.title == title) else { return vec![true; chunks.len()] };
    let around = |chunks: &[ChunkEntry], at: usize| -> [Option<u64>; 2] {
        let row = |at: Option<usize>| at.and_then(|at| chunks.get(at)).map(|chunk| chunk.row);
        [row(at.checked_sub(1)), row(at.checked_add(1))]
    };
    let before: HashMap<u64, [Option<u64>; 2]> =
        (0..old.chunks.len()).map(|at| (old.chunks[at].row, around(&old.chunks, at))).collect();
    (0..chunks.len()).map(|at| new[at] || before.get(&chunks[at].row) != Some(&around(chunks, at))).collect()
}

/// A chunk and its neighbours on either side.
fn neighbours(at: usize, count: usize) -> std::ops::Range<usize> {
    at.saturating_sub(1)..(at + 2).min(count)
}

/// What the keyword index takes of the chunk `at` of a file.
pub(super) fn document<'a>(file: &FileEntry, at: usize, words: impl Fn(usize) -> (&'a Words, &'a Words)) -> Document {
    let (own, heading) = words(at);
    let near: Vec<&str> = neighbours(at, file.chunks.len())
        .map(|near| words(near).0.stemmed.as_str())
        .filter(|words| !words.is_empty())
        .collect();
    Document {
        chunk: file.chunks[at].row,
        file: file.id,
        body: near.join(" "),
        heading: heading.stemmed.clone(),
        own: own.plain.clone(),
    }
}

fn as_json(update: &FileUpdate) -> (String, Vec<String>) {
    let list = |texts: &[String]| serde_json::to_string(texts).expect("a list of texts is JSON");
    (list(&update.problems), update.chunks.iter().map(|chunk| list(&chunk.chunk.heading_path)).collect())
}

fn chunk_row<'a>(chunk: &'a NewChunk, heading_path: &'a str) -> ChunkRow<'a> {
    let NewChunk { chunk, .. } = chunk;
    ChunkRow { heading_path, text: &chunk.text, body_start: chunk.body_start, line_end: chunk.lines.1 as u32 }
}
