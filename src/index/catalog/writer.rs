//! Writing to the catalog: one batch, one transaction, one number.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use half::f16;
use rusqlite::{Connection, OptionalExtension, Transaction, params};

use super::packed::{pack, unpack};
use super::reader::{CatalogReader, ChunkText, read_chunk, read_files};
use super::schema::{BUSY_TIMEOUT, CatalogError, log_bytes, open};
use crate::fs::crash;
use crate::index::vectors::Row;
use crate::index::{ContentHash, FileEntry};
use crate::path::VaultPath;
use crate::vault::Stamp;

/// The one writer of a catalog.
pub struct Catalog {
    connection: Connection,
    path: PathBuf,
    store: String,
    seq: u64,
    next_file: u32,
    next_chunk: u64,
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
    /// Its last line, from 1.
    pub line_end: u32,
}

/// One file of a batch, with all its chunks.
#[derive(Debug)]
pub struct NewFile<'a> {
    /// The file.
    pub file: FileRow<'a>,
    /// Its chunks, in the order of the entry's.
    pub chunks: Vec<ChunkRow<'a>>,
    /// Rows of chunks it had before and has no more.
    pub gone: Vec<u64>,
}

impl Catalog {
    /// Opens the catalog, or makes a new one.
    ///
    /// # Errors
    /// When it is damaged, of another format, or cannot be written.
    pub fn open(path: &Path) -> Result<Self, CatalogError> {
        let connection = open(path)?;
        let number = |key: &str| -> Result<u64, CatalogError> {
            let found: i64 = connection.query_row("SELECT value FROM meta WHERE key = ?1", [key], |row| row.get(0))?;
            u64::try_from(found).map_err(|_| CatalogError::Damaged(format!("{key} is {found}")))
        };
        let store = connection.query_row("SELECT value FROM meta WHERE key = 'store'", [], |row| row.get(0))?;
        let (seq, next_file, next_chunk) = (number("seq")?, number("next_file")? as u32, number("next_chunk")?);
        Ok(Self { path: path.to_owned(), store, seq, next_file, next_chunk, connection })
    }

    /// What tells this catalog from every other.
    pub fn store(&self) -> &str {
        &self.store
    }

    /// The number of the last batch.
    pub fn seq(&self) -> u64 {
        self.seq
    }

    /// A row id that no file has had.
    pub fn new_file_id(&mut self) -> u32 {
        self.next_file += 1;
        self.next_file - 1
    }

    /// A row id that no chunk has had.
    pub fn new_chunk_id(&mut self) -> u64 {
        self.next_chunk += 1;
        self.next_chunk - 1
    }

    /// Runs SQLite's own check of the whole database.
    ///
    /// # Errors
    /// When it finds damage.
    pub fn check(&self) -> Result<(), CatalogError> {
        let found: String = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
        if found == "ok" { Ok(()) } else { Err(CatalogError::Damaged(found)) }
    }

    /// Reads every file and its chunks.
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

    /// Writes a batch in one transaction, under the next number.
    ///
    /// # Errors
    /// When it cannot be written; nothing of it is then.
    pub fn apply(&mut self, files: &[NewFile<'_>], removed: &[&FileEntry]) -> Result<u64, CatalogError> {
        let seq = self.seq + 1;
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
        set(&transaction, "seq", seq as i64)?;
        set(&transaction, "next_file", i64::from(self.next_file))?;
        set(&transaction, "next_chunk", self.next_chunk as i64)?;
        crash::point("catalog-written");
        transaction.commit()?;
        self.seq = seq;
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
            let mut insert = transaction.prepare_cached("INSERT OR REPLACE INTO skipped VALUES (?1, ?2)")?;
            for (path, reason) in skipped {
                insert.execute([path, reason])?;
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

    /// The number of a model, given by its fingerprint.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn model(&mut self, fingerprint: &str, dimension: usize) -> Result<i64, CatalogError> {
        let insert = "INSERT OR IGNORE INTO models(fingerprint, dimension) VALUES (?1, ?2)";
        self.connection.execute(insert, params![fingerprint, dimension as i64])?;
        let select = "SELECT id FROM models WHERE fingerprint = ?1";
        Ok(self.connection.query_row(select, [fingerprint], |row| row.get(0))?)
    }

    /// Keeps embeddings.
    ///
    /// # Errors
    /// When they cannot be written.
    pub fn put_vectors(&mut self, model: i64, vectors: &[(ContentHash, Vec<f16>)]) -> Result<(), CatalogError> {
        let transaction = self.connection.transaction()?;
        {
            let mut insert = transaction.prepare_cached(
                "INSERT OR REPLACE INTO vectors(model, content, checksum, vector) VALUES (?1, ?2, ?3, ?4)",
            )?;
            for (content, vector) in vectors {
                let bytes = pack(vector);
                insert.execute(params![model, content.as_bytes(), checksum(&bytes), bytes])?;
            }
        }
        crash::point("embeddings-written");
        transaction.commit()?;
        crash::point("embeddings-cached");
        Ok(())
    }

    /// The embedding of a text, if there is one and it is whole.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn vector(
        &self,
        model: i64,
        dimension: usize,
        content: &ContentHash,
    ) -> Result<Option<Vec<f16>>, CatalogError> {
        let mut select =
            self.connection.prepare_cached("SELECT checksum, vector FROM vectors WHERE content = ?1 AND model = ?2")?;
        let found = select
            .query_row(params![content.as_bytes(), model], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
            .optional()?;
        Ok(found.filter(|(sum, bytes)| checksum(bytes) == *sum).and_then(|(_, bytes)| unpack(&bytes, dimension)))
    }

    /// Reads the embeddings of all chunks, in the order of their rows. Those that fail their checksum are dropped, to be
    /// made anew.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn vectors(&mut self, model: i64, dimension: usize) -> Result<Vec<Row>, CatalogError> {
        let mut by_content: HashMap<Vec<u8>, Vec<f16>> = HashMap::new();
        let mut damaged = Vec::new();
        {
            let mut select =
                self.connection.prepare("SELECT content, checksum, vector FROM vectors WHERE model = ?1")?;
            let mut rows = select.query([model])?;
            while let Some(row) = rows.next()? {
                let content: Vec<u8> = row.get(0)?;
                let bytes = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
                let whole = checksum(bytes) == row.get::<_, i64>(1)?;
                match unpack(bytes, dimension).filter(|_| whole) {
                    Some(vector) => {
                        by_content.insert(content, vector);
                    }
                    None => damaged.push(content),
                }
            }
        }
        for content in &damaged {
            let delete = "DELETE FROM vectors WHERE content = ?1 AND model = ?2";
            self.connection.execute(delete, params![content, model])?;
        }
        if !damaged.is_empty() {
            tracing::warn!("{} embeddings failed their checksum and will be made anew", damaged.len());
        }
        let mut select =
            self.connection.prepare("SELECT id, file, content FROM chunks WHERE content IS NOT NULL ORDER BY id")?;
        let mut rows = select.query([])?;
        let mut found = Vec::new();
        while let Some(row) = rows.next()? {
            let content = row.get_ref(2)?.as_blob().map_err(rusqlite::Error::from)?;
            if let Some(vector) = by_content.get(content) {
                found.push(Row { chunk: row.get::<_, i64>(0)? as u64, file: row.get(1)?, vector: vector.clone() });
            }
        }
        Ok(found)
    }

    /// Drops embeddings that no chunk has, and those of other models.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn prune_vectors(&mut self, model: i64) -> Result<(), CatalogError> {
        let delete = "DELETE FROM vectors WHERE model <> ?1 OR content NOT IN \
                      (SELECT content FROM chunks WHERE content IS NOT NULL)";
        self.connection.execute(delete, [model])?;
        Ok(())
    }

    /// How many embeddings there are, of whatever model.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn count_vectors(&self) -> Result<usize, CatalogError> {
        let count: i64 = self.connection.query_row("SELECT count(*) FROM vectors", [], |row| row.get(0))?;
        Ok(count as usize)
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

    /// A reader that sees the catalog as it is now, whatever is written afterwards, until it is renewed.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn reader(&self) -> Result<CatalogReader, CatalogError> {
        CatalogReader::open(&self.path)
    }
}

fn put_file(transaction: &Transaction<'_>, row: &FileRow<'_>, seq: u64) -> Result<(), CatalogError> {
    let FileEntry { id, path, stamp, hash, read_ns, title, tags, private, created_ms, updated_ms, chunks: _ } =
        row.entry;
    let tags = serde_json::to_string(tags).map_err(|error| CatalogError::Damaged(error.to_string()))?;
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO files VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)",
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
            tags,
            private,
            row.metadata,
            created_ms,
            updated_ms,
            row.problems
        ])?;
    Ok(())
}

fn put_chunks(transaction: &Transaction<'_>, file: &NewFile<'_>) -> Result<(), CatalogError> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO chunks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
    )?;
    for (ordinal, (chunk, row)) in file.file.entry.chunks.iter().zip(&file.chunks).enumerate() {
        let [body, heading, own] = chunk.words;
        insert.execute(params![
            chunk.row as i64,
            file.file.entry.id,
            ordinal as i64,
            chunk.id.to_bits() as i64,
            chunk.content.as_ref().map(ContentHash::as_bytes),
            row.heading_path,
            row.text,
            row.body_start as i64,
            chunk.line,
            row.line_end,
            body,
            heading,
            own
        ])?;
    }
    Ok(())
}

fn set(transaction: &Transaction<'_>, key: &str, value: i64) -> Result<(), CatalogError> {
    transaction.prepare_cached("UPDATE meta SET value = ?2 WHERE key = ?1")?.execute(params![key, value])?;
    Ok(())
}

/// The first 63 bits of BLAKE3: SQLite does not notice a flipped bit in a blob.
fn checksum(bytes: &[u8]) -> i64 {
    let digest = blake3::hash(bytes);
    let [a, b, c, d, e, f, g, h, ..] = *digest.as_bytes();
    (u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 1) as i64
}
