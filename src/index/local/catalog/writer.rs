//! Writing to the catalog: one batch, one transaction, one number.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rusqlite::{Connection, Transaction, params};

use super::reader::{
    CatalogReader, chunk_checksum, details_checksum, entry_checksum, label_bytes, read_chunk, read_files,
    skipped_checksum,
};
use super::schema::{BUSY_TIMEOUT, Meta, open};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::index::engine::{ChunkText, ContentHash, EngineError, FileEntry};
use crate::index::local::store::Diff;
use crate::vault::disk::Stamp;

/// The one writer of a catalog.
pub struct Catalog {
    pub(super) connection: Connection,
    path: PathBuf,
    /// What it says of itself.
    pub(in crate::index::local) meta: Meta,
}

impl Catalog {
    /// Opens the catalog, or makes a new one for a place.
    ///
    /// # Errors
    /// When it is damaged, of another format, or cannot be written.
    pub fn open(path: &Path, place: &str) -> Result<Self, EngineError> {
        let connection = open(path, &Meta::new(place))?;
        Ok(Self { path: path.to_owned(), meta: Meta::read(&connection)?, connection })
    }

    /// Says that it has every note of a place.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn settle(&mut self, place: &str) -> Result<(), EngineError> {
        place.clone_into(&mut self.meta.place);
        self.meta.write(&self.connection)
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

    /// Reads every file and its chunks.
    ///
    /// # Errors
    /// When a row is damaged.
    pub fn files(&self) -> Result<Vec<FileEntry>, EngineError> {
        read_files(&self.connection, 0, u32::MAX)
    }

    /// What is shown of a chunk, given its row id.
    ///
    /// # Errors
    /// When the row is damaged.
    pub fn chunk(&self, row: u64) -> Result<Option<ChunkText>, EngineError> {
        read_chunk(&self.connection, row)
    }

    /// Writes a batch in one transaction, under the next number.
    ///
    /// # Errors
    /// When it cannot be written; nothing of it is then.
    pub(in crate::index::local) fn apply(
        &mut self,
        changes: &[Diff<'_>],
        removed: &[Arc<FileEntry>],
    ) -> Result<u64, EngineError> {
        let meta = Meta { seq: self.meta.seq + 1, ..self.meta.clone() };
        let seq = meta.seq;
        let transaction = self.connection.transaction()?;
        for file in removed {
            transaction.prepare_cached("DELETE FROM chunks WHERE file = ?1")?.execute([file.id])?;
            transaction.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([file.id])?;
            let mut log = transaction.prepare_cached("INSERT OR REPLACE INTO deletions VALUES (?1, ?2)")?;
            log.execute(params![file.id, seq as i64])?;
        }
        for change in changes {
            put_file(&transaction, change, seq)?;
            let mut delete = transaction.prepare_cached("DELETE FROM chunks WHERE id = ?1")?;
            for row in &change.gone {
                delete.execute([*row as i64])?;
            }
            put_chunks(&transaction, change)?;
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
    pub fn touch(&mut self, files: &[(u32, Stamp, i64)]) -> Result<(), EngineError> {
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
    ) -> Result<bool, EngineError> {
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
    pub fn changed_after(&self, seq: u64) -> Result<Vec<u32>, EngineError> {
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
    pub fn forget_deletions(&mut self, seq: u64) -> Result<(), EngineError> {
        self.connection.prepare_cached("DELETE FROM deletions WHERE seq <= ?1")?.execute([seq as i64])?;
        Ok(())
    }

    /// The length of the write-ahead log, in bytes.
    pub fn log_bytes(&self) -> u64 {
        let mut log = self.path.clone().into_os_string();
        log.push("-wal");
        std::fs::metadata(log).map_or(0, |meta| meta.len())
    }

    /// Moves what the log holds into the database and empties the log. While a reader needs the log, it stays.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn checkpoint(&self) -> Result<(), EngineError> {
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
    pub fn rewrite(&self) -> Result<(), EngineError> {
        Ok(self.connection.execute_batch("PRAGMA temp_store = MEMORY; VACUUM; PRAGMA temp_store = DEFAULT")?)
    }

    /// A reader that sees the catalog as it is now, whatever is written afterwards, until it is renewed.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn reader(&self) -> Result<CatalogReader, EngineError> {
        CatalogReader::open(&self.path)
    }
}

/// A list as JSON.
fn json(texts: &[String]) -> String {
    serde_json::to_string(texts).expect("a list of texts is JSON")
}

fn put_file(transaction: &Transaction<'_>, change: &Diff<'_>, seq: u64) -> Result<(), EngineError> {
    let FileEntry { id, info, .. } = &change.entry;
    let (path, stamp) = (info.path.as_str(), &info.stamp);
    let (metadata, problems) = (&change.update.metadata, json(&change.update.problems));
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO files VALUES \
             (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21)",
        )?
        .execute(params![
            id,
            path,
            seq as i64,
            stamp.mtime_ns,
            stamp.ctime_ns,
            stamp.size as i64,
            stamp.inode as i64,
            info.read_ns,
            info.hash,
            info.title,
            json(&info.tags),
            info.private,
            json(&info.sources),
            metadata,
            json(&info.doubtful),
            label_bytes(&info.labels),
            info.created_ms,
            info.updated_ms,
            problems,
            entry_checksum(&change.entry),
            details_checksum(*id, path, seq as i64, metadata, &problems)
        ])?;
    Ok(())
}

fn put_chunks(transaction: &Transaction<'_>, change: &Diff<'_>) -> Result<(), EngineError> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR REPLACE INTO chunks VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, \
         ?16)",
    )?;
    let FileEntry { id: file_id, chunks, .. } = &change.entry;
    for (ordinal, (chunk, new)) in chunks.iter().zip(&change.update.chunks).enumerate() {
        let new = &new.chunk;
        let (heading_path, text, prose) = (json(&new.heading_path), &new.text, &new.prose);
        let [body, heading, own] = chunk.words;
        let lines = (chunk.line, new.lines.1 as u32);
        insert.execute(params![
            chunk.row as i64,
            file_id,
            ordinal as i64,
            chunk.id.to_bits() as i64,
            chunk.content.as_ref().map(ContentHash::as_bytes),
            heading_path,
            text,
            new.body_start as i64,
            prose.start as i64,
            prose.end as i64,
            lines.0,
            lines.1,
            body,
            heading,
            own,
            chunk_checksum(chunk.row, *file_id, chunk.id, &heading_path, text, (new.body_start, prose), lines)
        ])?;
    }
    Ok(())
}
