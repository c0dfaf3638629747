//! Writing to the catalog: one batch, one transaction, one number.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Transaction, params};

use super::error::CatalogError;
use super::reader::{
    CatalogReader, chunk_checksum, details_checksum, entry_checksum, label_bytes, read_chunk, read_files,
    skipped_checksum,
};
use super::schema::{BUSY_TIMEOUT, Meta, log_bytes, open};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::index::engine::{ChunkText, ContentHash, FileEntry, FileInfo};
use crate::vault::disk::Stamp;

/// The one writer of a catalog.
pub struct Catalog {
    pub(super) connection: Connection,
    path: PathBuf,
    meta: Meta,
}

/// A file's row, with what memory does not keep.
#[derive(Debug)]
pub struct FileRow<'a> {
    /// What memory keeps of it.
    pub entry: &'a FileEntry,
    /// The frontmatter as JSON.
    pub metadata: &'a str,
    /// What could not be read in it, as a JSON list of sentences.
    pub problems: &'a str,
}

/// A chunk's row, with what memory does not keep.
#[derive(Debug)]
pub struct ChunkRow<'a> {
    /// The headings it stands under, as a JSON list.
    pub heading_path: &'a str,
    /// What is shown.
    pub text: &'a str,
    /// Where the heading lines end in `text`.
    pub body_start: usize,
    /// Where the part that is embedded stands in it.
    pub prose: Range<usize>,
    /// Its last line, from 1.
    pub line_end: u32,
}

/// One file of a batch, with its chunks.
#[derive(Debug)]
pub struct NewFile<'a> {
    /// The file.
    pub file: FileRow<'a>,
    /// So many of the entry's chunks are there as they are.
    pub first: usize,
    /// The chunks after them, in the order of the entry's.
    pub chunks: Vec<ChunkRow<'a>>,
    /// Rows of chunks it had before and has no more.
    pub gone: Vec<u64>,
}

impl Catalog {
    /// Opens the catalog, or makes a new one for a place.
    ///
    /// # Errors
    /// When it is damaged, of another format, or cannot be written.
    pub fn open(path: &Path, place: &str) -> Result<Self, CatalogError> {
        let connection = open(path, &Meta::new(place))?;
        Ok(Self { path: path.to_owned(), meta: Meta::read(&connection)?, connection })
    }

    /// What tells this catalog from every other.
    pub fn store(&self) -> &str {
        &self.meta.store
    }

    /// The machine and the vault that it was made for.
    pub fn place(&self) -> &str {
        &self.meta.place
    }

    /// Whether it has had every note since it was made.
    pub fn is_settled(&self) -> bool {
        self.meta.is_settled
    }

    /// Says that it has every note of a place.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn settle(&mut self, place: &str) -> Result<(), CatalogError> {
        (self.meta.place, self.meta.is_settled) = (place.to_owned(), true);
        self.meta.write(&self.connection)
    }

    /// The number of the last batch.
    pub fn seq(&self) -> u64 {
        self.meta.seq
    }

    /// A row id that no file has had.
    pub fn new_file_id(&mut self) -> u32 {
        self.meta.next_file += 1;
        self.meta.next_file - 1
    }

    /// A row id that no chunk has had.
    pub fn new_chunk_id(&mut self) -> u64 {
        self.meta.next_chunk += 1;
        self.meta.next_chunk - 1
    }

    /// Runs SQLite's own check of the whole database.
    ///
    /// # Errors
    /// When it finds damage.
    pub fn check(&self) -> Result<(), CatalogError> {
        let found: String = self.connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
        if found == "ok" { Ok(()) } else { Err(CatalogError::Damaged(found)) }
    }

    /// Reads every file and its chunks.
    ///
    /// # Errors
    /// When a row is damaged.
    pub fn files(&self) -> Result<Vec<FileEntry>, CatalogError> {
        read_files(&self.connection, 0, u32::MAX)
    }

    /// What is shown of a chunk, given its row id.
    ///
    /// # Errors
    /// When the row is damaged.
    pub fn chunk(&self, row: u64) -> Result<Option<ChunkText>, CatalogError> {
        read_chunk(&self.connection, row)
    }

    /// Writes a batch in one transaction, under the next number.
    ///
    /// # Errors
    /// When it cannot be written; nothing of it is then.
    pub fn apply(&mut self, files: &[NewFile<'_>], removed: &[&FileEntry]) -> Result<u64, CatalogError> {
        let meta = Meta { seq: self.meta.seq + 1, ..self.meta.clone() };
        let seq = meta.seq;
        let transaction = self.connection.transaction()?;
        for file in removed {
            transaction.prepare_cached("DELETE FROM chunks WHERE file = ?1")?.execute([file.id])?;
            transaction.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file.id])?;
            let mut log = transaction.prepare_cached("INSERT OR REPLACE INTO deletions VALUES (?1, ?2)")?;
            log.execute(params![file.id, seq as i64])?;
        }
        for file in files {
            put_file(&transaction, &file.file, seq)?;
            let mut delete = transaction.prepare_cached("DELETE FROM chunks WHERE id = ?1")?;
            for row in &file.gone {
                delete.execute([*row as i64])?;
            }
            put_chunks(&transaction, file)?;
        }
        meta.write(&transaction)?;
        crash::point("catalog-written");
        transaction.commit()?;
        self.meta = meta;
        Ok(seq)
    }

    /// Notes that files are unchanged though their stamps are not.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn touch(&mut self, files: &[(u32, Stamp, i64)]) -> Result<(), CatalogError> {
        let transaction = self.connection.transaction()?;
        {
            let mut update = transaction.prepare_cached(
                "UPDATE files SET mtime_ns = ?2, ctime_ns = ?3, size = ?4, inode = ?5, read_ns = ?6 WHERE id = ?1",
            )?;
            for (id, stamp, read_ns) in files {
                let (size, inode) = (stamp.size as i64, stamp.inode as i64);
                update.execute(params![id, stamp.mtime_ns, stamp.ctime_ns, size, inode, read_ns])?;
            }
        }
        crash::point("touched");
        Ok(transaction.commit()?)
    }

    /// Replaces what is known to be skipped at or below each of `places` (everywhere when `None`). Says whether there was or
    /// is anything.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn set_skipped(
        &mut self,
        places: Option<&[VaultPath]>,
        skipped: &[(String, String)],
    ) -> Result<bool, CatalogError> {
        let transaction = self.connection.transaction()?;
        let mut deleted = 0;
        match places {
            None => deleted += transaction.execute("DELETE FROM skipped", [])?,
            Some(places) => {
                let mut delete = transaction.prepare_cached(
                    "DELETE FROM skipped WHERE path = ?1 OR substr(path, 1, length(?1) + 1) = ?1 || '/'",
                )?;
                for place in places {
                    deleted += delete.execute([place.as_str()])?;
                }
            }
        }
        {
            let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO skipped VALUES (?1, ?2, ?3)")?;
            for (path, reason) in skipped {
                insert.execute(params![path, reason, skipped_checksum(path, reason)])?;
            }
        }
        crash::point("skipped-written");
        transaction.commit()?;
        Ok(deleted > 0 || !skipped.is_empty())
    }

    /// The ids of files that batches after `seq` have put or removed.
    ///
    /// # Errors
    /// When a row is damaged.
    pub fn changed_after(&self, seq: u64) -> Result<Vec<u32>, CatalogError> {
        let mut select = self
            .connection
            .prepare("SELECT id FROM files WHERE seq > ?1 UNION SELECT file FROM deletions WHERE seq > ?1")?;
        let ids = select.query_map([seq as i64], |row| row.get(0))?.collect::<Result<_, _>>()?;
        Ok(ids)
    }

    /// Forgets deletions that every store has followed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn forget_deletions(&mut self, seq: u64) -> Result<(), CatalogError> {
        self.connection.prepare_cached("DELETE FROM deletions WHERE seq <= ?1")?.execute([seq as i64])?;
        Ok(())
    }

    /// The length of the write-ahead log, in bytes.
    pub fn log_bytes(&self) -> u64 {
        log_bytes(&self.path)
    }

    /// Moves what the log holds into the database and empties the log. While a reader needs the log, it stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn checkpoint(&self) -> Result<(), CatalogError> {
        self.connection.busy_timeout(std::time::Duration::from_millis(20))?;
        let result = self.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
        self.connection.busy_timeout(BUSY_TIMEOUT)?;
        Ok(result?)
    }

    /// Writes the database anew, without what was deleted. SQLite's `secure_delete` is not enough: where rows move to another page, what
    /// they were stays on the one that they were on (10 of 30,000 did). Two seconds for 180 MB, of 100,000 chunks. SQLite's copy is in
    /// memory: as a file it would be outside the vault, with the text of private notes.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn rewrite(&self) -> Result<(), CatalogError> {
        Ok(self.connection.execute_batch("PRAGMA temp_store = MEMORY; VACUUM; PRAGMA temp_store = DEFAULT")?)
    }

    /// A reader that sees the catalog as it is now, whatever is written afterwards, until it is renewed.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn reader(&self) -> Result<CatalogReader, CatalogError> {
        CatalogReader::open(&self.path)
    }
}

fn put_file(transaction: &Transaction<'_>, row: &FileRow<'_>, seq: u64) -> Result<(), CatalogError> {
    let FileEntry { id, info, .. } = row.entry;
    let FileInfo {
        path,
        stamp,
        hash,
        read_ns,
        title,
        tags,
        doubtful,
        private,
        sources,
        labels,
        created_ms,
        updated_ms,
    } = info;
    let list = |texts| serde_json::to_string(texts).map_err(|error| CatalogError::Damaged(error.to_string()));
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO files VALUES \
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        )?
        .execute(params![
            id,
            path.as_str(),
            seq as i64,
            stamp.mtime_ns,
            stamp.ctime_ns,
            stamp.size as i64,
            stamp.inode as i64,
            read_ns,
            hash,
            title,
            list(tags)?,
            private,
            list(sources)?,
            row.metadata,
            list(doubtful)?,
            label_bytes(labels),
            created_ms,
            updated_ms,
            row.problems,
            entry_checksum(row.entry),
            details_checksum(*id, path.as_str(), seq as i64, row.metadata, row.problems)
        ])?;
    Ok(())
}

fn put_chunks(transaction: &Transaction<'_>, file: &NewFile<'_>) -> Result<(), CatalogError> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO chunks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
         ?16)",
    )?;
    let FileEntry { id: file_id, chunks, .. } = file.file.entry;
    for ((ordinal, chunk), row) in chunks.iter().enumerate().skip(file.first).zip(&file.chunks) {
        let ChunkRow { heading_path, text, body_start, ref prose, line_end } = *row;
        let [body, heading, own] = chunk.words;
        let lines = (chunk.line, line_end);
        insert.execute(params![
            chunk.row as i64,
            file_id,
            ordinal as i64,
            chunk.id.to_bits() as i64,
            chunk.content.as_ref().map(ContentHash::as_bytes),
            heading_path,
            text,
            body_start as i64,
            prose.start as i64,
            prose.end as i64,
            chunk.line,
            line_end,
            body,
            heading,
            own,
            chunk_checksum(chunk.row, *file_id, chunk.id, heading_path, text, (body_start, prose), lines)
        ])?;
    }
    Ok(())
}
