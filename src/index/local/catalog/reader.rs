//! Reading one state of the catalog, and going over all of it row by row, in steps, to find what is damaged before anybody asks for it.

use std::ops::Range;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, Row};

use super::schema::{Checksum, Meta, damaged, open_reader};
use super::vectors::vector_checksum;
use crate::base::path::VaultPath;
use crate::index::engine::{ChunkEntry, ChunkText, ContentHash, EngineError, FileEntry, FileInfo, Findings};
use crate::text::derive::{ChunkId, Label};
use crate::vault::disk::Stamp;

/// A connection that stays at one state of the catalog until [`CatalogReader::renew`].
pub struct CatalogReader {
    pub(super) connection: Connection,
}

impl CatalogReader {
    /// Opens a catalog for reading, at its state of now.
    ///
    /// # Errors
    /// When it is not there, damaged or of another format.
    pub fn open(path: &Path) -> Result<Self, EngineError> {
        let reader = Self { connection: open_reader(path)? };
        reader.renew()?;
        Ok(reader)
    }

    /// Lets go of the state it was at, so that the log can be cut.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn release(&self) -> Result<(), EngineError> {
        Ok(self.connection.execute_batch("ROLLBACK")?)
    }

    /// Moves on to the state of now, after [`CatalogReader::release`].
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn renew(&self) -> Result<(), EngineError> {
        self.connection.execute_batch("BEGIN")?;
        // SQLite takes its snapshot at the first read.
        self.connection.query_row("SELECT seq FROM meta", [], |_| Ok(()))?;
        Ok(())
    }

    /// Every file and its chunks.
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

    /// The row ids of the chunks with a name. Only a collision of names gives two.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn rows_of(&self, id: ChunkId) -> Result<Vec<u64>, EngineError> {
        let mut select = self.connection.prepare_cached("SELECT id FROM chunks WHERE hash = ?1 ORDER BY id")?;
        let rows = select.query_map([id.to_bits() as i64], |row| row.get::<_, i64>(0))?;
        Ok(rows.map(|row| row.map(|row| row as u64)).collect::<Result<_, _>>()?)
    }

    /// A file's frontmatter as JSON.
    ///
    /// # Errors
    /// When the row is damaged.
    pub fn metadata(&self, file: u32) -> Result<Option<String>, EngineError> {
        let mut select = self
            .connection
            .prepare_cached("SELECT id, path, seq, metadata, problems, details FROM files WHERE id = ?1")?;
        let mut rows = select.query([file])?;
        rows.next()?.map(|row| Ok(details(row)?.metadata)).transpose()
    }

    /// What is not indexed, or not as it was meant, and why: pairs of path and reason, by path.
    ///
    /// # Errors
    /// When a row is damaged.
    pub fn problems(&self) -> Result<Vec<(String, String)>, EngineError> {
        let mut problems = read_skipped(&self.connection)?;
        let mut select = self
            .connection
            .prepare_cached("SELECT id, path, seq, metadata, problems, details FROM files WHERE problems <> '[]'")?;
        let mut rows = select.query([])?;
        while let Some(row) = rows.next()? {
            let Details { path, problems: found, .. } = details(row)?;
            let found: Vec<String> = serde_json::from_str(&found).map_err(damaged)?;
            problems.extend(found.into_iter().map(|problem| (path.clone(), problem)));
        }
        problems.sort();
        Ok(problems)
    }
}

/// What is not indexed, and why.
pub(super) fn read_skipped(connection: &Connection) -> Result<Vec<(String, String)>, EngineError> {
    let mut select = connection.prepare_cached("SELECT path, reason, checksum FROM skipped")?;
    let mut rows = select.query([])?;
    let mut skipped = Vec::new();
    while let Some(row) = rows.next()? {
        let (path, reason): (String, String) = (row.get(0)?, row.get(1)?);
        if skipped_checksum(&path, &reason) != row.get::<_, i32>(2)? {
            return Err(damaged("the entry of a file that is not indexed fails its checksum"));
        }
        skipped.push((path, reason));
    }
    Ok(skipped)
}

pub(super) fn skipped_checksum(path: &str, reason: &str) -> i32 {
    Checksum::default().text(path).text(reason).short()
}

/// What of a file's row memory does not keep.
struct Details {
    path: String,
    metadata: String,
    problems: String,
}

/// Of a row of `id, path, seq, metadata, problems, details`.
fn details(row: &Row<'_>) -> Result<Details, EngineError> {
    let (id, seq): (u32, i64) = (row.get(0)?, row.get(2)?);
    let details = Details { path: row.get(1)?, metadata: row.get(3)?, problems: row.get(4)? };
    let Details { path, metadata, problems } = &details;
    if details_checksum(id, path, seq, metadata, problems) != row.get::<_, i32>(5)? {
        return Err(damaged(format!("the entry of file {id} fails its checksum")));
    }
    Ok(details)
}

pub(super) fn details_checksum(id: u32, path: &str, seq: i64, metadata: &str, problems: &str) -> i32 {
    Checksum::default().number(id).text(path).number(seq).text(metadata).text(problems).short()
}

pub(super) fn read_chunk(connection: &Connection, row: u64) -> Result<Option<ChunkText>, EngineError> {
    let mut select = connection.prepare_cached(
        "SELECT file, hash, heading_path, text, body_start, line_start, line_end, checksum, prose_start, prose_end FROM chunks \
         WHERE id = ?1",
    )?;
    let mut rows = select.query([row as i64])?;
    let Some(found) = rows.next()? else { return Ok(None) };
    let heading_path: String = found.get(2)?;
    let chunk = ChunkText {
        row,
        file: found.get(0)?,
        id: ChunkId::from_bits(found.get::<_, i64>(1)? as u64),
        heading_path: Vec::new(),
        text: found.get(3)?,
        body_start: found.get::<_, i64>(4)? as usize,
        prose: found.get::<_, i64>(8)? as usize..found.get::<_, i64>(9)? as usize,
        lines: (found.get(5)?, found.get(6)?),
    };
    let ChunkText { file, id, text, body_start, prose, lines, .. } = &chunk;
    let parts = (*body_start, prose);
    if chunk_checksum(row, *file, *id, &heading_path, text, parts, *lines) != found.get::<_, i32>(7)? {
        return Err(damaged(format!("passage {row} fails its checksum")));
    }
    let heading_path = serde_json::from_str(&heading_path).map_err(damaged)?;
    Ok(Some(ChunkText { heading_path, ..chunk }))
}

/// Over what is shown of a chunk. The rest of its row is in the checksum of its file.
pub(super) fn chunk_checksum(
    row: u64,
    file: u32,
    id: ChunkId,
    heading_path: &str,
    text: &str,
    (body_start, prose): (usize, &Range<usize>),
    lines: (u32, u32),
) -> i32 {
    let mut sum = Checksum::default();
    sum.number(row as i64).number(file).number(id.to_bits() as i64).text(heading_path).text(text);
    sum.number(body_start as i64)
        .number(prose.start as i64)
        .number(prose.end as i64)
        .number(lines.0)
        .number(lines.1)
        .short()
}

/// Reads the files with ids from `first` on, at most `limit`, and their chunks.
pub(super) fn read_files(connection: &Connection, first: u32, limit: u32) -> Result<Vec<FileEntry>, EngineError> {
    let mut files = Vec::new();
    let mut checksums: Vec<i32> = Vec::new();
    let mut select = connection.prepare_cached(
        "SELECT id, path, mtime_ns, ctime_ns, size, inode, hash, read_ns, title, tags, private, created_ms, updated_ms, \
         checksum, sources, doubtful, labels FROM files WHERE id >= ?1 ORDER BY id LIMIT ?2",
    )?;
    let mut rows = select.query([first, limit])?;
    while let Some(row) = rows.next()? {
        let info = FileInfo {
            path: VaultPath::new(row.get::<_, String>(1)?).map_err(damaged)?,
            stamp: Stamp {
                mtime_ns: row.get(2)?,
                ctime_ns: row.get(3)?,
                size: row.get::<_, i64>(4)? as u64,
                inode: row.get::<_, i64>(5)? as u64,
            },
            hash: row.get(6)?,
            read_ns: row.get(7)?,
            title: row.get(8)?,
            tags: strings(row, 9)?,
            private: row.get(10)?,
            sources: strings(row, 14)?,
            doubtful: strings(row, 15)?,
            labels: labels(&row.get::<_, Vec<u8>>(16)?)?,
            created_ms: row.get(11)?,
            updated_ms: row.get(12)?,
        };
        files.push(FileEntry { id: row.get(0)?, info, chunks: Vec::new() });
        checksums.push(row.get(13)?);
    }
    let last = if files.len() < limit as usize { u32::MAX } else { files.last().map_or(u32::MAX, |file| file.id) };
    let mut select = connection.prepare_cached(
        "SELECT file, id, hash, line_start, content, words_body, words_heading, words_own FROM chunks \
         WHERE file BETWEEN ?1 AND ?2 ORDER BY file, ordinal",
    )?;
    let mut rows = select.query([first, last])?;
    let mut at = 0;
    while let Some(row) = rows.next()? {
        let file: u32 = row.get(0)?;
        while files.get(at).is_some_and(|entry| entry.id < file) {
            at += 1;
        }
        let Some(entry) = files.get_mut(at).filter(|entry| entry.id == file) else {
            return Err(damaged("a passage without a file"));
        };
        entry.chunks.push(ChunkEntry {
            row: row.get::<_, i64>(1)? as u64,
            id: ChunkId::from_bits(row.get::<_, i64>(2)? as u64),
            line: row.get(3)?,
            content: row.get::<_, Option<[u8; 16]>>(4)?.map(ContentHash::from_bytes),
            words: [row.get(5)?, row.get(6)?, row.get(7)?],
        });
    }
    match files.iter().zip(checksums).find(|(file, checksum)| entry_checksum(file) != *checksum) {
        Some((file, _)) => Err(damaged(format!("the entry of file {} fails its checksum", file.id))),
        None => Ok(files),
    }
}

fn strings(row: &rusqlite::Row<'_>, column: usize) -> Result<Vec<String>, EngineError> {
    serde_json::from_str(&row.get::<_, String>(column)?).map_err(damaged)
}

/// The labels of a file as bytes, eight of each.
pub(super) fn label_bytes(labels: &[Label]) -> Vec<u8> {
    labels.iter().flat_map(|label| label.to_bits().to_le_bytes()).collect()
}

fn labels(bytes: &[u8]) -> Result<Box<[Label]>, EngineError> {
    let (labels, rest) = bytes.as_chunks();
    if !rest.is_empty() {
        return Err(damaged("labels that are cut"));
    }
    Ok(labels.iter().map(|bytes| Label::from_bits(u64::from_le_bytes(*bytes))).collect())
}

/// Over what memory keeps of a file, but its stamps.
pub(super) fn entry_checksum(file: &FileEntry) -> i32 {
    let FileEntry { id, info, chunks } = file;
    let FileInfo { path, hash, title, tags, doubtful, private, sources, labels, created_ms, updated_ms, .. } = info;
    let mut sum = Checksum::default();
    sum.number(*id).text(path.as_str()).bytes(hash).text(title).number(*private);
    sum.number(*created_ms).number(*updated_ms);
    for text in tags.iter().chain(sources).chain(doubtful) {
        sum.text(text);
    }
    sum.number(tags.len() as i64).number(sources.len() as i64).bytes(&label_bytes(labels));
    for ChunkEntry { row, id, line, content, words } in chunks {
        sum.number(*row as i64).number(id.to_bits() as i64).number(*line);
        sum.bytes(content.as_ref().map_or(&[], |content| content.as_bytes()));
        for words in words {
            sum.number(*words);
        }
    }
    sum.short()
}

/// Files and embeddings of one step: some milliseconds of work.
const FILES: u32 = 32;
const VECTORS: u32 = 2000;

/// Checks a catalog, and counts what was gone over; `store` is what tells it from every other. Gives the ids of embeddings that fail their
/// checksum, and nothing when `go_on`, which is called after each step, says no.
///
/// It reads through a connection of its own, so that it sees the disk and nobody's cache, and holds on to no state of the catalog between
/// two steps.
///
/// # Errors
/// When the catalog is damaged elsewhere than in an embedding, or cannot be read.
pub(in crate::index::local) fn check(
    path: &Path,
    store: &str,
    findings: &mut Findings,
    go_on: &mut dyn FnMut() -> bool,
) -> Result<Option<Vec<i64>>, EngineError> {
    if !path.is_file() {
        return Err(damaged(format!("{} is missing", path.display())));
    }
    let reader = CatalogReader { connection: open_reader(path)? };
    let names = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
    let tables =
        reader.connection.prepare(names)?.query_map([], |row| row.get(0))?.collect::<Result<Vec<String>, _>>()?;
    for table in tables {
        check_pages(&reader.connection, &format!("'{table}'"))?;
        if !go_on() {
            return Ok(None);
        }
    }
    check_rows(&reader, store)?;
    let mut next = Some(0);
    while let Some(first) = next.filter(|_| go_on()) {
        // All of a file is read in one state of the catalog.
        reader.renew()?;
        let last = check_files(&reader, first, findings);
        reader.release()?;
        next = last?.map(|last| last + 1);
    }
    if next.is_some() {
        return Ok(None);
    }
    let (mut damaged, mut next) = (Vec::new(), Some(0));
    while let Some(after) = next.filter(|_| go_on()) {
        next = check_vectors(&reader, after, findings, &mut damaged)?;
    }
    Ok(next.is_none().then_some(damaged))
}

/// SQLite's own check, as its argument says: of a table and its indexes, or of all to the first error.
pub(super) fn check_pages(connection: &Connection, argument: &str) -> Result<(), EngineError> {
    let check = format!("PRAGMA integrity_check({argument})");
    let found: String = connection.query_row(&check, [], |row| row.get(0))?;
    if found == "ok" { Ok(()) } else { Err(damaged(found)) }
}

fn check_rows(reader: &CatalogReader, store: &str) -> Result<(), EngineError> {
    if Meta::read(&reader.connection)?.store != store {
        return Err(damaged("another catalog replaced it"));
    }
    read_skipped(&reader.connection)?;
    let select = "SELECT id FROM chunks WHERE file NOT IN (SELECT id FROM files) LIMIT 1";
    match reader.connection.query_row(select, [], |row| row.get::<_, i64>(0)).optional()? {
        Some(row) => Err(damaged(format!("passage {row} has no file"))),
        None => Ok(()),
    }
}

/// Checks some files from an id on; gives the last one's, if there was any.
fn check_files(reader: &CatalogReader, first: u32, findings: &mut Findings) -> Result<Option<u32>, EngineError> {
    let files = read_files(&reader.connection, first, FILES)?;
    for file in &files {
        reader.metadata(file.id)?;
        for chunk in &file.chunks {
            if read_chunk(&reader.connection, chunk.row)?.is_none() {
                return Err(damaged(format!("passage {} is missing", chunk.row)));
            }
        }
        findings.chunks += file.chunks.len();
    }
    findings.files += files.len();
    Ok(files.last().map(|file| file.id))
}

/// Checks some embeddings after an id; gives the last one's, if there was any.
fn check_vectors(
    reader: &CatalogReader,
    after: i64,
    findings: &mut Findings,
    damaged: &mut Vec<i64>,
) -> Result<Option<i64>, EngineError> {
    let mut select = reader.connection.prepare_cached(
        "SELECT id, model, content, checksum, vector FROM vectors WHERE id > ?1 ORDER BY id LIMIT ?2",
    )?;
    let mut rows = select.query([after, i64::from(VECTORS)])?;
    let mut last = None;
    while let Some(row) = rows.next()? {
        let (id, model): (i64, i64) = (row.get(0)?, row.get(1)?);
        let (content, bytes): ([u8; 16], _) = (row.get(2)?, row.get_ref(4)?.as_blob());
        let bytes = bytes.map_err(rusqlite::Error::from)?;
        if vector_checksum(model, &content, bytes) != row.get::<_, i64>(3)? {
            damaged.push(id);
        }
        findings.embeddings += 1;
        last = Some(id);
    }
    Ok(last)
}
