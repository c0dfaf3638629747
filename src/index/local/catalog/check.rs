//! Going over a catalog row by row, in steps, to find what is damaged before anybody asks for it.

use std::collections::HashSet;
use std::path::Path;

use rusqlite::OptionalExtension;

use super::error::CatalogError;
use super::reader::{CatalogReader, read_chunk, read_files, read_skipped};
use super::schema::{Meta, open_reader};
use super::vectors::StoredVector;
use crate::index::engine::{ContentHash, EmbeddingId};

/// Files and embeddings of one step: some milliseconds of work.
const FILES: u32 = 32;
const VECTORS: u32 = 2000;

/// What was gone over so far, and what was found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Files, and their chunks.
    pub files: usize,
    /// Chunks.
    pub chunks: usize,
    /// Embeddings.
    pub vectors: usize,
    /// Embeddings that fail their checksum.
    pub(crate) damaged: Vec<EmbeddingId>,
    /// Embeddings that no chunk has, oldest first.
    pub(crate) unused: Vec<EmbeddingId>,
}

enum Step {
    Table(usize),
    Rows,
    Files(u32),
    Vectors(i64),
    Done,
}

/// A check under way. It reads through a connection of its own, so that it sees the disk and nobody's cache, and holds on to
/// no state of the catalog between two steps.
pub struct CatalogCheck {
    reader: CatalogReader,
    store: String,
    tables: Vec<String>,
    next: Step,
}

impl CatalogCheck {
    /// Opens a catalog to check it; `store` is what tells it from every other.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn open(path: &Path, store: &str) -> Result<Self, CatalogError> {
        if !path.is_file() {
            return Err(CatalogError::Damaged(format!("{} is missing", path.display())));
        }
        let connection = open_reader(path, false)?;
        let names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
        let tables = connection.prepare(names)?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(Self { reader: CatalogReader { connection }, store: store.to_owned(), tables, next: Step::Table(0) })
    }

    /// Takes the next step; false when there is none left. `live` says which embeddings are in use.
    ///
    /// # Errors
    /// When the catalog is damaged elsewhere than in an embedding, or cannot be read.
    pub fn step(&mut self, checked: &mut Checked, live: &HashSet<ContentHash>) -> Result<bool, CatalogError> {
        self.next = match self.next {
            Step::Table(at) => match self.tables.get(at) {
                Some(table) => {
                    self.check_pages(table)?;
                    Step::Table(at + 1)
                }
                None => Step::Rows,
            },
            Step::Rows => {
                self.check_rows()?;
                Step::Files(0)
            }
            Step::Files(first) => self.check_files(first, checked)?,
            Step::Vectors(after) => self.check_vectors(after, checked, live)?,
            Step::Done => return Ok(false),
        };
        Ok(true)
    }

    /// SQLite's own check of a table and its indexes.
    fn check_pages(&self, table: &str) -> Result<(), CatalogError> {
        let check = format!("PRAGMA integrity_check('{table}')");
        let found: String = self.reader.connection.query_row(&check, [], |row| row.get(0))?;
        if found == "ok" { Ok(()) } else { Err(CatalogError::Damaged(found)) }
    }

    fn check_rows(&self) -> Result<(), CatalogError> {
        if Meta::read(&self.reader.connection)?.store != self.store {
            return Err(CatalogError::Damaged("another catalog replaced it".into()));
        }
        read_skipped(&self.reader.connection)?;
        let select = "SELECT id FROM chunks WHERE file NOT IN (SELECT id FROM files) LIMIT 1";
        match self.reader.connection.query_row(select, [], |row| row.get::<_, i64>(0)).optional()? {
            Some(row) => Err(CatalogError::Damaged(format!("passage {row} has no file"))),
            None => Ok(()),
        }
    }

    fn check_files(&self, first: u32, checked: &mut Checked) -> Result<Step, CatalogError> {
        // All of a file is read in one state of the catalog.
        self.reader.pin()?;
        let last = self.check_pinned_files(first, checked);
        self.reader.release()?;
        Ok(last?.map_or(Step::Vectors(0), |last| Step::Files(last + 1)))
    }

    fn check_pinned_files(&self, first: u32, checked: &mut Checked) -> Result<Option<u32>, CatalogError> {
        let files = read_files(&self.reader.connection, first, FILES)?;
        for file in &files {
            self.reader.metadata(file.id)?;
            for chunk in &file.chunks {
                if read_chunk(&self.reader.connection, chunk.row)?.is_none() {
                    return Err(CatalogError::Damaged(format!("passage {} is missing", chunk.row)));
                }
            }
            checked.chunks += file.chunks.len();
        }
        checked.files += files.len();
        Ok(files.last().map(|file| file.id))
    }

    fn check_vectors(
        &self,
        after: i64,
        checked: &mut Checked,
        live: &HashSet<ContentHash>,
    ) -> Result<Step, CatalogError> {
        let mut select = self.reader.connection.prepare_cached(
            "SELECT id, model, content, checksum, vector FROM vectors WHERE id > ?1 ORDER BY id LIMIT ?2",
        )?;
        let mut rows = select.query([after, i64::from(VECTORS)])?;
        let mut last = None;
        while let Some(row) = rows.next()? {
            let (id, model): (i64, i64) = (row.get(0)?, row.get(1)?);
            let (content, bytes): ([u8; 16], _) = (row.get(2)?, row.get_ref(4)?.as_blob());
            let bytes = bytes.map_err(rusqlite::Error::from)?;
            let stored = StoredVector { model, content: &content, checksum: row.get(3)?, bytes };
            let (whole, content) = (stored.is_whole(), ContentHash::from_bytes(content));
            let named = EmbeddingId { model, content };
            match whole {
                false => checked.damaged.push(named),
                true if !live.contains(&content) => checked.unused.push(named),
                true => {}
            }
            checked.vectors += 1;
            last = Some(id);
        }
        Ok(last.map_or(Step::Done, Step::Vectors))
    }
}
