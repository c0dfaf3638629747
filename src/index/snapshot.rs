//! One published state of the index, for searches.

use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock};

use crate::vault::Globs;

use super::catalog::{CatalogError, CatalogReader};
use super::entry::Files;
use super::keyword::{KeywordSearcher, Statistics, has_words, open_searcher};
use super::store::IndexError;
use super::vectors::VectorSet;

/// A state of all stores that nothing changes any more. Searches hold it for as long as they need it.
pub struct Snapshot {
    /// The catalog's number of this state.
    pub seq: u64,
    /// The files and their chunks.
    pub files: Files,
    /// The words.
    pub keyword: KeywordSearcher,
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
            keyword: open_searcher(&folder.join("tantivy"))?,
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
        let reader = free.unwrap_or_else(|| self.readers[0].lock().unwrap_or_else(std::sync::PoisonError::into_inner));
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

    /// How many chunks have their embedding.
    pub fn embedded(&self) -> usize {
        self.vectors.as_ref().map_or(0, VectorSet::len)
    }
}

fn is_readable(folder: &Path) -> bool {
    folder.join("catalog.db").is_file() && has_words(&folder.join("tantivy"))
}

impl Drop for Snapshot {
    fn drop(&mut self) {
        let Ok(mut spare) = self.spare.lock() else { return };
        for reader in self.readers.drain(..) {
            let Ok(reader) = reader.into_inner() else { continue };
            if reader.release().is_ok() && spare.len() < super::store::READERS * 2 {
                spare.push(reader);
            }
        }
    }
}
