//! One published state of the index, for searches.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crate::fs::crash;
use crate::vault::Globs;

use super::FileSet;
use super::catalog::{CatalogError, CatalogReader};
use super::damage::IndexError;
use super::entry::Files;
use super::keyword::{KeywordSearcher, Statistics, has_words, open_searcher};
use super::store::Store;
use super::vectors::VectorSet;

/// Readers of the catalog that a snapshot holds: as many searches read texts at the same time.
const READERS: usize = 2;

/// A state of all stores that nothing changes any more. Searches hold it for as long as they need it.
pub struct Snapshot {
    /// The catalog's number of this state.
    pub seq: u64,
    /// The files and their chunks.
    pub files: Files,
    /// The words; `None` while they are damaged.
    pub keyword: Option<KeywordSearcher>,
    /// The embeddings; `None` while no model is there.
    pub vectors: Option<VectorSet>,
    /// Chunks that have something to embed.
    pub embeddable: usize,
    pub(super) statistics: OnceLock<Statistics>,
    pub(super) readers: Vec<Mutex<CatalogReader>>,
    /// Where the readers go when nobody holds the snapshot any more.
    pub(super) spare: Arc<Mutex<Vec<CatalogReader>>>,
}

impl Snapshot {
    /// Opens the stores in a folder as they are now, while another process writes them. Without embeddings. Notes that match
    /// `private` are private whatever they say themselves.
    ///
    /// # Errors
    /// When there are none, or they cannot be read.
    pub fn open(folder: &Path, private: &Globs) -> Result<Self, IndexError> {
        // Only the writer makes any.
        if !is_readable(folder) {
            return Err(IndexError::Absent(folder.to_owned()));
        }
        Self::of(CatalogReader::open(&folder.join("catalog.db"))?, folder, private)
    }

    /// Opens stores that were closed, where nothing can be written: on a disk that is full or read-only. `None` when there are
    /// none, or they were not closed.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn open_at_rest(folder: &Path, private: &Globs) -> Result<Option<Self>, IndexError> {
        if !is_readable(folder) {
            return Ok(None);
        }
        let reader = CatalogReader::open_at_rest(&folder.join("catalog.db"))?;
        reader.map(|reader| Self::of(reader, folder, private)).transpose()
    }

    fn of(reader: CatalogReader, folder: &Path, private: &Globs) -> Result<Self, IndexError> {
        let mut files = Files::default();
        for mut file in reader.files()? {
            file.private |= private.is_match(file.path.as_str());
            files.insert(Arc::new(file));
        }
        let chunks = files.iter().flat_map(|file| &file.chunks);
        Ok(Self {
            seq: 0,
            embeddable: chunks.filter(|chunk| chunk.content.is_some()).count(),
            files,
            keyword: Some(open_searcher(&folder.join("tantivy"))?),
            vectors: None,
            statistics: OnceLock::new(),
            readers: vec![Mutex::new(reader)],
            spare: Arc::default(),
        })
    }

    /// Calls `with` with a reader at this state of the catalog.
    ///
    /// # Errors
    /// What `with` returns.
    pub fn read<T>(&self, with: impl FnOnce(&CatalogReader) -> Result<T, CatalogError>) -> Result<T, CatalogError> {
        let free = self.readers.iter().find_map(|reader| reader.try_lock().ok());
        let reader = free.unwrap_or_else(|| self.readers[0].lock().unwrap_or_else(PoisonError::into_inner));
        with(&reader)
    }

    /// Chunks and words of all files.
    pub fn statistics(&self) -> Statistics {
        *self.statistics.get_or_init(|| {
            let mut all = Statistics::default();
            self.files.iter().for_each(|file| all.add_all(&file.statistics()));
            all
        })
    }

    /// How many chunks there are.
    pub fn chunks(&self) -> usize {
        self.statistics().chunks as usize
    }

    /// Of the files of a set (all when `None`): how many chunks are embedded, and how many have something to embed.
    pub fn embedded_within(&self, files: Option<&FileSet>) -> (usize, usize) {
        let (Some(files), true) = (files, self.embedded() < self.embeddable) else {
            return (self.embedded(), self.embeddable);
        };
        let within = files.iter().filter_map(|file| self.files.get(file)).flat_map(|file| &file.chunks);
        let embeddable = within.filter(|chunk| chunk.content.is_some());
        let has = |row| self.vectors.as_ref().is_some_and(|vectors| vectors.contains(row));
        embeddable.fold((0, 0), |(embedded, of), chunk| (embedded + usize::from(has(chunk.row)), of + 1))
    }

    /// How many chunks have their embedding.
    pub fn embedded(&self) -> usize {
        self.vectors.as_ref().map_or(0, VectorSet::len)
    }
}

fn is_readable(folder: &Path) -> bool {
    folder.join("catalog.db").is_file() && has_words(&folder.join("tantivy"))
}

impl Store {
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
        let keyword = self.open_words()?;
        self.snapshot_with(Some(keyword))
    }

    /// Publishes the state of now, but for the words: they are damaged.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn snapshot_without_words(&self) -> Result<Arc<Snapshot>, IndexError> {
        self.snapshot_with(None)
    }

    fn snapshot_with(&self, keyword: Option<KeywordSearcher>) -> Result<Arc<Snapshot>, IndexError> {
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
            files: self.files().clone(),
            keyword,
            vectors: self.embeddings.as_ref().map(|embeddings| embeddings.vectors.clone()),
            embeddable: self.embeddable,
            statistics: OnceLock::new(),
            readers,
            spare: Arc::clone(&self.spare),
        }))
    }
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Ok(mut spare) = self.spare.lock() else { return };
        for reader in self.readers.drain(..) {
            let Ok(reader) = reader.into_inner() else { continue };
            if reader.release().is_ok() && spare.len() < READERS * 2 {
                spare.push(reader);
            }
        }
    }
}
