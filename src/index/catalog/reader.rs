//! Reading one state of the catalog.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::schema::{CatalogError, log_bytes, open_reader};
use crate::chunk::ChunkId;
use crate::index::{ChunkEntry, ContentHash, FileEntry};
use crate::path::VaultPath;
use crate::vault::Stamp;

/// What a hit shows of its chunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChunkText {
    /// The chunk's row id.
    pub row: u64,
    /// Its file's row id.
    pub file: u32,
    /// Its name.
    pub id: ChunkId,
    /// The headings it stands under, outermost first.
    pub heading_path: Vec<String>,
    /// What is shown.
    pub text: String,
    /// Where the heading lines end in `text`.
    pub body_start: usize,
    /// First and last line, from 1.
    pub lines: (u32, u32),
}

/// A connection that stays at one state of the catalog until [`CatalogReader::renew`].
pub struct CatalogReader {
    connection: Connection,
}

impl CatalogReader {
    /// Opens a catalog for reading, at its state of now.
    ///
    /// # Errors
    /// When it is not there, damaged or of another format.
    pub fn open(path: &Path) -> Result<Self, CatalogError> {
        let reader = Self { connection: open_reader(path, false)? };
        reader.pin()?;
        Ok(reader)
    }

    /// Opens a catalog that was closed, where nothing can be written; `None` when its log holds changes.
    ///
    /// # Errors
    /// When it is not there, damaged or of another format.
    pub fn open_at_rest(path: &Path) -> Result<Option<Self>, CatalogError> {
        if log_bytes(path) > 0 {
            return Ok(None);
        }
        let reader = Self { connection: open_reader(path, true)? };
        reader.pin()?;
        Ok(Some(reader))
    }

    fn pin(&self) -> Result<(), CatalogError> {
        self.connection.execute_batch("BEGIN")?;
        // SQLite takes its snapshot at the first read.
        self.connection.query_row("SELECT value FROM meta WHERE key = 'seq'", [], |_| Ok(()))?;
        Ok(())
    }

    /// Lets go of the state it was at, so that the log can be cut.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn release(&self) -> Result<(), CatalogError> {
        Ok(self.connection.execute_batch("ROLLBACK")?)
    }

    /// Moves on to the state of now, after [`CatalogReader::release`].
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn renew(&self) -> Result<(), CatalogError> {
        self.pin()
    }

    /// Every file and its chunks.
    ///
    /// # Errors
    /// When a row is damaged.
    pub fn files(&self) -> Result<Vec<FileEntry>, CatalogError> {
        read_files(&self.connection)
    }

    /// What is shown of a chunk, given its row id.
    ///
    /// # Errors
    /// When the row is damaged.
    pub fn chunk(&self, row: u64) -> Result<Option<ChunkText>, CatalogError> {
        read_chunk(&self.connection, row)
    }

    /// The row ids of the chunks with a name. Only a collision of names gives two.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn rows_of(&self, id: ChunkId) -> Result<Vec<u64>, CatalogError> {
        let mut select = self.connection.prepare_cached("SELECT id FROM chunks WHERE hash = ?1 ORDER BY id")?;
        let rows = select.query_map([id.to_bits() as i64], |row| row.get::<_, i64>(0))?;
        Ok(rows.map(|row| row.map(|row| row as u64)).collect::<Result<_, _>>()?)
    }

    /// A file's frontmatter as JSON, and what could not be read in it.
    ///
    /// # Errors
    /// When the row is damaged.
    pub fn details(&self, file: u32) -> Result<Option<(String, String)>, CatalogError> {
        let mut select = self.connection.prepare_cached("SELECT metadata, problems FROM files WHERE id = ?1")?;
        Ok(select.query_row([file], |row| Ok((row.get(0)?, row.get(1)?))).optional()?)
    }

    /// What is not indexed, or not as it was meant, and why: pairs of path and reason, by path.
    ///
    /// # Errors
    /// When a row is damaged.
    pub fn problems(&self) -> Result<Vec<(String, String)>, CatalogError> {
        let mut select = self.connection.prepare_cached(
            "SELECT path, reason FROM skipped UNION ALL \
             SELECT files.path, each.value FROM files, json_each(files.problems) AS each ORDER BY 1",
        )?;
        let rows = select.query_map(params![], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }
}

pub(super) fn read_chunk(connection: &Connection, row: u64) -> Result<Option<ChunkText>, CatalogError> {
    let mut select = connection.prepare_cached(
        "SELECT id, file, hash, heading_path, text, body_start, line_start, line_end FROM chunks WHERE id = ?1",
    )?;
    Ok(select.query_row([row as i64], chunk_text).optional()?)
}

fn chunk_text(row: &Row<'_>) -> rusqlite::Result<ChunkText> {
    let heading_path: String = row.get(3)?;
    Ok(ChunkText {
        row: row.get::<_, i64>(0)? as u64,
        file: row.get(1)?,
        id: ChunkId::from_bits(row.get::<_, i64>(2)? as u64),
        heading_path: serde_json::from_str(&heading_path).unwrap_or_default(),
        text: row.get(4)?,
        body_start: row.get::<_, i64>(5)? as usize,
        lines: (row.get(6)?, row.get(7)?),
    })
}

pub(super) fn read_files(connection: &Connection) -> Result<Vec<FileEntry>, CatalogError> {
    let damaged = |what: &dyn std::fmt::Display| CatalogError::Damaged(what.to_string());
    let mut files = Vec::new();
    let mut select = connection.prepare(
        "SELECT id, path, mtime_ns, ctime_ns, size, inode, hash, read_ns, title, tags, private, created_ms, updated_ms \
         FROM files ORDER BY id",
    )?;
    let mut rows = select.query([])?;
    while let Some(row) = rows.next()? {
        let tags: String = row.get(9)?;
        files.push(FileEntry {
            id: row.get(0)?,
            path: VaultPath::new(row.get::<_, String>(1)?).map_err(|error| damaged(&error))?,
            stamp: Stamp {
                mtime_ns: row.get(2)?,
                ctime_ns: row.get(3)?,
                size: row.get::<_, i64>(4)? as u64,
                inode: row.get::<_, i64>(5)? as u64,
            },
            hash: row.get(6)?,
            read_ns: row.get(7)?,
            title: row.get(8)?,
            tags: serde_json::from_str(&tags).map_err(|error| damaged(&error))?,
            private: row.get(10)?,
            created_ms: row.get(11)?,
            updated_ms: row.get(12)?,
            chunks: Vec::new(),
        });
    }
    let mut select = connection.prepare(
        "SELECT file, id, hash, line_start, content, words_body, words_heading, words_own FROM chunks ORDER BY file, ordinal",
    )?;
    let mut rows = select.query([])?;
    let mut at = 0;
    while let Some(row) = rows.next()? {
        let file: u32 = row.get(0)?;
        while files.get(at).is_some_and(|entry| entry.id < file) {
            at += 1;
        }
        let Some(entry) = files.get_mut(at).filter(|entry| entry.id == file) else {
            return Err(damaged(&"a chunk without a file"));
        };
        entry.chunks.push(ChunkEntry {
            row: row.get::<_, i64>(1)? as u64,
            id: ChunkId::from_bits(row.get::<_, i64>(2)? as u64),
            line: row.get(3)?,
            content: row.get::<_, Option<[u8; 16]>>(4)?.map(ContentHash::from_bytes),
            words: [row.get(5)?, row.get(6)?, row.get(7)?],
        });
    }
    Ok(files)
}
