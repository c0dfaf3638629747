//! What was imported, as an archive carries it: what knows it again elsewhere, so that a second import there adds nothing and the first can
//! be undone.

use std::collections::HashMap;
use std::path::Path;

use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::error::StateError;
use crate::fs::{Context, write_atomically};

/// The file's name in the vault's state.
const FILE: &str = "imports.json";
/// The name of what an archive brings.
pub(super) const BROUGHT: &str = FILE;

/// All that is known of imports. Its rows are lists, as there may be a million.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CarriedImports {
    /// Number, kind, source, when it began in milliseconds, and whether it came to its end.
    imports: Vec<(i64, String, String, i64, bool)>,
    /// The events that came, and by which import.
    keys: Vec<(i64, i64)>,
    /// Import, path, checkpoint, and the digest of what it left there.
    files: Vec<(i64, String, Option<String>, String)>,
    /// Source, import, path, and the digests of what was read and what was written.
    notes: Vec<(i64, i64, String, String, String)>,
}

/// All that is known of imports, as a file below the vault's state has it; `None` where nothing was imported.
pub(super) fn carried(connection: &Connection) -> rusqlite::Result<Option<(&'static str, Vec<u8>)>> {
    let imports = rows(connection, "SELECT id, kind, source, at, is_done FROM imports ORDER BY id", |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    })?;
    if imports.is_empty() {
        return Ok(None);
    }
    let keys =
        rows(connection, "SELECT key, import FROM import_keys ORDER BY key", |row| Ok((row.get(0)?, row.get(1)?)))?;
    let files =
        rows(connection, "SELECT import, path, checkpoint, after FROM import_files ORDER BY import, path", |row| {
            Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?))
        })?;
    let notes = rows(connection, "SELECT key, import, path, source, after FROM import_notes ORDER BY key", |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?))
    })?;
    // It is made of numbers and texts alone.
    let json = serde_json::to_vec(&CarriedImports { imports, keys, files, notes }).unwrap_or_default();
    Ok(Some((FILE, json)))
}

fn rows<T>(
    connection: &Connection,
    select: &str,
    read: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
) -> rusqlite::Result<Vec<T>> {
    connection.prepare(select)?.query_map([], read)?.collect()
}

/// Takes over what an archive has brought. What is known here already stays as it is, and each import gets a number that is free.
pub(super) fn take_over(transaction: &Connection, bytes: &[u8]) -> Result<rusqlite::Result<()>, serde_json::Error> {
    Ok(insert(transaction, &serde_json::from_slice(bytes)?))
}

fn insert(transaction: &Connection, carried: &CarriedImports) -> rusqlite::Result<()> {
    let mut numbers: HashMap<i64, i64> = HashMap::new();
    for (id, kind, source, at, is_done) in &carried.imports {
        let taken = "SELECT 1 FROM imports WHERE id = ?1";
        let is_taken =
            !(1..MAX_BROUGHT_ID).contains(id) || transaction.query_row(taken, [id], |_| Ok(())).optional()?.is_some();
        let insert = "INSERT INTO imports(id, kind, source, at, is_done) VALUES (?1, ?2, ?3, ?4, ?5)";
        transaction.execute(insert, params![(!is_taken).then_some(*id), kind, source, at, is_done])?;
        numbers.insert(*id, transaction.last_insert_rowid());
    }
    for (key, import) in &carried.keys {
        let Some(import) = numbers.get(import) else { continue };
        let insert = "INSERT OR IGNORE INTO import_keys(key, import) VALUES (?1, ?2)";
        transaction.prepare_cached(insert)?.execute([key, import])?;
    }
    for (import, path, checkpoint, after) in &carried.files {
        let Some(import) = numbers.get(import) else { continue };
        let insert = "INSERT OR IGNORE INTO import_files(import, path, checkpoint, after) VALUES (?1, ?2, ?3, ?4)";
        transaction.prepare_cached(insert)?.execute(params![import, path, checkpoint, after])?;
    }
    for (key, import, path, source, after) in &carried.notes {
        let Some(import) = numbers.get(import) else { continue };
        let insert = "INSERT OR IGNORE INTO import_notes(key, import, path, source, after) VALUES (?1, ?2, ?3, ?4, ?5)";
        transaction.prepare_cached(insert)?.execute(params![key, import, path, source, after])?;
    }
    Ok(())
}

/// Maximum number that an import may bring along, exclusive: beyond it there would soon be none left.
const MAX_BROUGHT_ID: i64 = 1 << 40;

/// Takes out of what an archive has brought into `folder` what is known of files of which text did not come along: their digests, by which a
/// guess could be confirmed, and of those that are `gone` the names. The same as
/// [`ImportTable::purge_file`](super::ImportTable::purge_file) does of what was taken over.
///
/// # Errors
/// When it cannot be read or written.
pub fn purge_brought_imports(folder: &Path, files: &[(String, bool)]) -> Result<(), StateError> {
    let file = folder.join(FILE);
    let bytes = match std::fs::read(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        read => read.on("read", &file)?,
    };
    let damaged = |error: serde_json::Error| StateError::Damaged { path: file.clone(), reason: error.to_string() };
    let mut carried: CarriedImports = serde_json::from_slice(&bytes).map_err(damaged)?;
    let fates: HashMap<&str, bool> = files.iter().map(|(path, gone)| (path.as_str(), *gone)).collect();
    carried.files.retain(|(_, path, ..)| fates.get(path.as_str()) != Some(&true));
    for (_, path, _, after) in &mut carried.files {
        if fates.contains_key(path.as_str()) {
            after.clear();
        }
    }
    for (_, _, path, source, after) in &mut carried.notes {
        if let Some(gone) = fates.get(path.as_str()) {
            source.clear();
            after.clear();
            if *gone {
                path.clear();
            }
        }
    }
    let json = serde_json::to_vec(&carried).map_err(std::io::Error::other).on("encode", &file)?;
    Ok(write_atomically(&file, &json, 0o600)?)
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;

    use super::super::imports::{ImportTable, ImportedFile, NoteOrigin, keep_imported};
    use super::super::store::State;
    use super::*;

    fn imported(folder: &Path) -> ImportTable {
        let imports = ImportTable::new(&State::in_folder(folder));
        let (id, _) = imports.begin("chatgpt", "a.zip", Timestamp::from_second(7).unwrap()).unwrap();
        let state = Connection::open(State::in_folder(folder).file()).unwrap();
        keep_imported(&state, u64::MAX, id).unwrap();
        let file = |path: &str| ImportedFile { path: path.into(), checkpoint: None, after: "digest".into() };
        imports.note_files(id, &[file("notes/a.md"), file("notes/b.md")]).unwrap();
        let note = NoteOrigin {
            key: 8,
            origin: String::new(),
            path: "notes/a.md".into(),
            source: "digest".into(),
            after: "digest".into(),
        };
        imports.keep_note(id, &note, None).unwrap();
        imports.end(id).unwrap();
        imports
    }

    #[test]
    fn what_was_imported_is_known_where_an_archive_is_unpacked_and_beside_what_is_known_there() {
        let [empty, one, other] = [(); 3].map(|()| tempfile::tempdir().unwrap());
        assert!(ImportTable::new(&State::in_folder(empty.path())).as_file().unwrap().is_none());
        let imports = imported(one.path());
        let (name, bytes) = imports.as_file().unwrap().unwrap();
        std::fs::write(other.path().join(name), &bytes).unwrap();
        let there = ImportTable::new(&State::in_folder(other.path()));
        assert_eq!(there.known(&[u64::MAX, 5]).unwrap(), [true, false]);
        assert_eq!(
            (there.all().unwrap(), there.files(1).unwrap()),
            (imports.all().unwrap(), imports.files(1).unwrap())
        );
        assert_eq!(there.note(8).unwrap(), imports.note(8).unwrap());
        assert!(!other.path().join(name).exists());
        // Numbers that are taken are not given again.
        let busy = tempfile::tempdir().unwrap();
        imported(busy.path());
        std::fs::write(busy.path().join(name), &bytes).unwrap();
        let both = ImportTable::new(&State::in_folder(busy.path())).all().unwrap();
        assert_eq!(both.iter().map(|import| import.id).collect::<Vec<_>>(), [2, 1]);
        assert!(serde_json::from_slice::<CarriedImports>(b"{\"tokens\": []}").is_err());
    }

    #[test]
    fn of_a_file_that_did_not_come_whole_no_digest_comes_along() {
        let [one, other] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        purge_brought_imports(other.path(), &[("notes/a.md".into(), true)]).unwrap();
        let (name, bytes) = imported(one.path()).as_file().unwrap().unwrap();
        std::fs::write(other.path().join(name), &bytes).unwrap();
        purge_brought_imports(other.path(), &[("notes/a.md".into(), true), ("notes/b.md".into(), false)]).unwrap();
        let there = ImportTable::new(&State::in_folder(other.path()));
        let files = there.files(1).unwrap();
        assert_eq!(
            files.iter().map(|file| (file.path.as_str(), file.after.as_str())).collect::<Vec<_>>(),
            [("notes/b.md", "")]
        );
        let note = there.note(8).unwrap().unwrap();
        assert_eq!((note.path, note.source, note.after), (String::new(), String::new(), String::new()));
    }
}
