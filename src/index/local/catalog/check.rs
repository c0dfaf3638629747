//! Going over a catalog row by row, in steps, to find what is damaged before anybody asks for it.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension};

use super::reader::{CatalogReader, read_chunk, read_files, read_skipped};
use super::schema::{Meta, damaged, open_reader};
use super::vectors::vector_checksum;
use crate::index::engine::{EngineError, Findings};

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
    let reader = CatalogReader { connection: open_reader(path, false)? };
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
        reader.pin()?;
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
