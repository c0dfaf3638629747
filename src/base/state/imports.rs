//! What was imported of other programs, so that it comes once and can be undone: no text of it, but which events and notes, and the files
//! that came of them.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::StateError;
use super::store::{Durability, Handle, State};

/// One run of an import, with those that went on with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportRow {
    /// Its number.
    pub id: i64,
    /// What kind of source it was.
    pub kind: String,
    /// What was read, as the person named it.
    pub source: String,
    /// When it began.
    pub at: Timestamp,
    /// How many files it made or changed.
    pub files: usize,
}

/// A file that an import made or changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportedFile {
    /// Where it is.
    pub path: String,
    /// The checkpoint of what it was before; none where the import made it.
    pub checkpoint: Option<String>,
    /// BLAKE3 of what the import left in it, in hexadecimal.
    pub after: String,
}

/// A note that was imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteOrigin {
    /// Tells what it was read from.
    pub key: u64,
    /// What it was read from, as the source calls it: a path, where it is of a file. Empty where that is not known.
    pub origin: String,
    /// Where it is.
    pub path: String,
    /// BLAKE3 of what was read, in hexadecimal.
    pub source: String,
    /// BLAKE3 of what was written, in hexadecimal.
    pub after: String,
}

/// All imports.
#[derive(Debug)]
pub struct ImportTable(Handle);

impl ImportTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(Handle::new(state, Durability::Later))
    }

    /// The number of a new import, or of the last of the same source that did not come to its end; and whether it is new.
    ///
    /// # Errors
    /// When the state cannot be written; so all that follow.
    pub fn begin(&self, kind: &str, source: &str, at: Timestamp) -> Result<(i64, bool), StateError> {
        self.0.with(|opened| {
            let transaction = opened.connection.transaction()?;
            let last =
                "SELECT id FROM imports WHERE kind = ?1 AND source = ?2 AND is_done = 0 ORDER BY id DESC LIMIT 1";
            let last = transaction.query_row(last, [kind, source], |row| row.get(0)).optional()?;
            let is_new = last.is_none();
            let id = match last {
                Some(id) => id,
                None => {
                    let insert = "INSERT INTO imports(kind, source, at, is_done) VALUES (?1, ?2, ?3, 0)";
                    transaction.execute(insert, params![kind, source, at.as_millisecond()])?;
                    transaction.last_insert_rowid()
                }
            };
            transaction.commit()?;
            Ok((id, is_new))
        })
    }

    /// Notes that an import came to its end.
    ///
    /// # Errors
    /// As above.
    pub fn end(&self, id: i64) -> Result<(), StateError> {
        self.0.execute("UPDATE imports SET is_done = 1 WHERE id = ?1", params![id])
    }

    /// Whether there is such an import.
    ///
    /// # Errors
    /// As above.
    pub fn has(&self, id: i64) -> Result<bool, StateError> {
        Ok(self.0.row("SELECT 1 FROM imports WHERE id = ?1", params![id], |_| Ok(()))?.is_some())
    }

    /// Whether an import has made or changed files.
    ///
    /// # Errors
    /// As above.
    pub fn has_files(&self, id: i64) -> Result<bool, StateError> {
        Ok(self.0.row("SELECT 1 FROM import_files WHERE import = ?1 LIMIT 1", params![id], |_| Ok(()))?.is_some())
    }

    /// The imports that have made or changed files, newest first.
    ///
    /// # Errors
    /// As above.
    pub fn all(&self) -> Result<Vec<ImportRow>, StateError> {
        let all = "SELECT id, kind, source, at, count(*) FROM imports JOIN import_files ON import = id GROUP BY id ORDER BY id DESC";
        self.0.rows(all, &[], |row| {
            let at = Timestamp::from_millisecond(row.get(3)?).unwrap_or(Timestamp::UNIX_EPOCH);
            let files = usize::try_from(row.get::<_, i64>(4)?).unwrap_or_default();
            Ok(ImportRow { id: row.get(0)?, kind: row.get(1)?, source: row.get(2)?, at, files })
        })
    }

    /// Which of these events were imported.
    ///
    /// # Errors
    /// As above.
    pub fn known(&self, keys: &[u64]) -> Result<Vec<bool>, StateError> {
        let known = self.0.if_there(|opened| {
            keys.iter().map(|key| is_imported(&opened.connection, *key)).collect::<rusqlite::Result<Vec<_>>>()
        });
        Ok(known?.unwrap_or_else(|| vec![false; keys.len()]))
    }

    /// Notes what an import is about to leave in files. What a file was before an import first came to it stays.
    ///
    /// # Errors
    /// As above.
    pub fn note_files(&self, id: i64, files: &[ImportedFile]) -> Result<(), StateError> {
        files.iter().try_for_each(|file| {
            let note = "INSERT INTO import_files(import, path, checkpoint, after) VALUES (?1, ?2, ?3, ?4)
                ON CONFLICT(import, path) DO UPDATE SET after = excluded.after";
            self.0.execute(note, params![id, file.path, file.checkpoint, file.after])
        })
    }

    /// What an import noted of a file, if it made or changed it.
    ///
    /// # Errors
    /// As above.
    pub fn file(&self, id: i64, path: &str) -> Result<Option<ImportedFile>, StateError> {
        let file = "SELECT path, checkpoint, after FROM import_files WHERE import = ?1 AND path = ?2";
        self.0.row(file, params![id, path], imported_file)
    }

    /// Takes out what is kept of a file of which text went for good: its digests, by which a guess could be confirmed, and where it is all
    /// `gone` its name. The undo of an import then asks before it touches such a file, and the note of its source does not come again.
    ///
    /// # Errors
    /// As above.
    pub fn purge_file(&self, path: &str, gone: bool) -> Result<(), StateError> {
        self.0.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            let (files, notes) = match gone {
                true => (
                    "DELETE FROM import_files WHERE path = ?1",
                    "UPDATE import_notes SET path = '', source = '', after = '', origin = '' WHERE path = ?1",
                ),
                false => (
                    "UPDATE import_files SET after = '' WHERE path = ?1",
                    "UPDATE import_notes SET source = '', after = '' WHERE path = ?1",
                ),
            };
            transaction.execute(files, [path])?;
            transaction.execute(notes, [path])?;
            transaction.commit()
        })?;
        Ok(())
    }

    /// The files of an import.
    ///
    /// # Errors
    /// As above.
    pub fn files(&self, id: i64) -> Result<Vec<ImportedFile>, StateError> {
        let files = "SELECT path, checkpoint, after FROM import_files WHERE import = ?1 ORDER BY path";
        self.0.rows(files, params![id], imported_file)
    }

    /// Where the note is that was made of a source.
    ///
    /// # Errors
    /// As above.
    pub fn note(&self, key: u64) -> Result<Option<NoteOrigin>, StateError> {
        let note = "SELECT key, path, source, after, origin FROM import_notes WHERE key = ?1";
        self.0.row(note, params![key.cast_signed()], note_origin)
    }

    /// A note of which the same was read as now, whatever its source, and the import that brought it. None of which text is forgotten.
    ///
    /// # Errors
    /// As above.
    pub fn note_like(&self, source: &str) -> Result<Option<(i64, NoteOrigin)>, StateError> {
        let note = "SELECT key, path, source, after, origin, import FROM import_notes
            WHERE source = ?1 AND source <> '' AND path <> '' ORDER BY import, key LIMIT 1";
        self.0.row(note, params![source], |row| Ok((row.get(5)?, note_origin(row)?)))
    }

    /// All sources of which the note at a path was made.
    ///
    /// # Errors
    /// As above.
    pub fn notes_at(&self, path: &str) -> Result<Vec<NoteOrigin>, StateError> {
        let notes = "SELECT key, path, source, after, origin FROM import_notes WHERE path = ?1 ORDER BY key";
        self.0.rows(notes, params![path], note_origin)
    }

    /// Forgets that a note was made of a source.
    ///
    /// # Errors
    /// As above.
    pub fn drop_note(&self, key: u64) -> Result<(), StateError> {
        self.0.execute("DELETE FROM import_notes WHERE key = ?1", params![key.cast_signed()])
    }

    /// Keeps where the note of a source is.
    ///
    /// # Errors
    /// As above.
    pub fn keep_note(&self, id: i64, note: &NoteOrigin) -> Result<(), StateError> {
        let keep = "INSERT OR REPLACE INTO import_notes(key, import, path, source, after, origin) VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
        let NoteOrigin { key, origin, path, source, after } = note;
        self.0.execute(keep, params![key.cast_signed(), id, path, source, after, origin])
    }

    /// Forgets an import: the next of its source brings all of it again.
    ///
    /// # Errors
    /// As above.
    pub fn forget(&self, id: i64) -> Result<(), StateError> {
        self.0.with(|opened| {
            let transaction = opened.connection.transaction()?;
            for table in ["import_keys", "import_files", "import_notes"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE import = ?1"), [id])?;
            }
            transaction.execute("DELETE FROM imports WHERE id = ?1", [id])?;
            transaction.commit()
        })
    }
}

fn note_origin(row: &Row<'_>) -> rusqlite::Result<NoteOrigin> {
    let key = row.get::<_, i64>(0)?.cast_unsigned();
    Ok(NoteOrigin { key, path: row.get(1)?, source: row.get(2)?, after: row.get(3)?, origin: row.get(4)? })
}

fn imported_file(row: &Row<'_>) -> rusqlite::Result<ImportedFile> {
    Ok(ImportedFile { path: row.get(0)?, checkpoint: row.get(1)?, after: row.get(2)? })
}

/// Whether an event was imported.
pub(super) fn is_imported(connection: &Connection, key: u64) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM import_keys WHERE key = ?1")?.exists([key.cast_signed()])
}

/// Keeps that an event was imported; says whether it was not before.
pub(super) fn keep_imported(connection: &Connection, key: u64, import: i64) -> rusqlite::Result<bool> {
    let keep = "INSERT OR IGNORE INTO import_keys(key, import) VALUES (?1, ?2)";
    Ok(connection.prepare_cached(keep)?.execute(params![key.cast_signed(), import])? > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_that_did_not_end_is_gone_on_with_and_what_is_forgotten_comes_again() {
        let folder = tempfile::tempdir().unwrap();
        let imports = ImportTable::new(&State::in_folder(folder.path()));
        assert_eq!((imports.all().unwrap(), imports.known(&[1]).unwrap()), (vec![], vec![false]));
        let at = Timestamp::from_second(7).unwrap();
        let (first, _) = imports.begin("chatgpt", "a.zip", at).unwrap();
        assert_eq!(imports.begin("chatgpt", "a.zip", at).unwrap(), (first, false));
        assert_ne!(imports.begin("claude", "a.zip", at).unwrap(), (first, true));
        assert!(!imports.has_files(first).unwrap());
        let file = |after: &str, checkpoint: Option<&str>| ImportedFile {
            path: "notes/a.md".into(),
            checkpoint: checkpoint.map(str::to_owned),
            after: after.into(),
        };
        imports.note_files(first, &[file("1", Some("before"))]).unwrap();
        imports.note_files(first, &[file("2", None)]).unwrap();
        assert_eq!(imports.files(first).unwrap(), [file("2", Some("before"))]);
        assert!(
            imports.file(first, "notes/a.md").unwrap().is_some()
                && imports.file(first, "notes/b.md").unwrap().is_none()
        );
        let note = NoteOrigin {
            key: u64::MAX,
            origin: "/theirs/b.md".into(),
            path: "notes/b.md".into(),
            source: "s".into(),
            after: "3".into(),
        };
        imports.keep_note(first, &note).unwrap();
        assert_eq!(imports.note(u64::MAX).unwrap(), Some(note.clone()));
        assert_eq!(imports.note_like("s").unwrap(), Some((first, note.clone())));
        let copy = NoteOrigin { key: 1, origin: "/theirs/c.md".into(), ..note.clone() };
        imports.keep_note(first, &copy).unwrap();
        assert_eq!(imports.notes_at("notes/b.md").unwrap(), [note, copy]);
        imports.drop_note(1).unwrap();
        assert!(imports.notes_at("notes/b.md").unwrap().len() == 1 && imports.note_like("").unwrap().is_none());
        imports.end(first).unwrap();
        assert_ne!(imports.begin("chatgpt", "a.zip", at).unwrap().0, first);
        assert!(imports.has_files(first).unwrap());
        assert_eq!(imports.all().unwrap().iter().map(|import| import.id).collect::<Vec<_>>(), [first]);
        imports.forget(first).unwrap();
        assert!(imports.all().unwrap().is_empty() && imports.note(u64::MAX).unwrap().is_none());
        assert!(!imports.has(first).unwrap());
    }
}
