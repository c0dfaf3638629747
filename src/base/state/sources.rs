//! How far what other programs write was read, so that it comes once and can be undone: no text of it, but which events and notes an import
//! brought, which files of sessions were read, and the files that came of them.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::key::Digest;
use super::store::{Durability, Handle, State, StateError};

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

    /// Notes what an import is about to leave in a file. What it was before an import first came to it stays.
    ///
    /// # Errors
    /// As above.
    pub fn note_file(&self, id: i64, file: &ImportedFile) -> Result<(), StateError> {
        let note = "INSERT INTO import_files(import, path, checkpoint, after) VALUES (?1, ?2, ?3, ?4)
            ON CONFLICT(import, path) DO UPDATE SET after = excluded.after";
        self.0.execute(note, params![id, file.path, file.checkpoint, file.after])
    }

    /// What an import noted of a file, if it made or changed it.
    ///
    /// # Errors
    /// As above.
    pub fn file(&self, id: i64, path: &str) -> Result<Option<ImportedFile>, StateError> {
        let file = "SELECT path, checkpoint, after FROM import_files WHERE import = ?1 AND path = ?2";
        self.0.row(file, params![id, path], imported_file)
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

/// A file of a session as it was read last.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionSource {
    /// The entry of `memory.toml` that it is of.
    pub entry: Digest,
    /// What else its notes were made by: its scope, whose it is.
    pub settings: Digest,
    /// Its bytes when it was looked at last.
    pub size: u64,
    /// When it had been changed then, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// So many bytes of it are in its notes.
    pub length: u64,
    /// What those bytes were; zeros where that was purged.
    pub content: Digest,
    /// Its name without its folders, and its number on the disk: by them a file that was moved is known where its text was purged.
    pub file: Digest,
    /// How many turns they have.
    pub turns: u64,
    /// How often it was begun anew.
    pub generation: u32,
    /// Whether its notes went to the trash for their age or number.
    pub is_out: bool,
    /// From what kind of channel it was told to come, last that anything told it; empty where nothing has.
    pub told_scope: String,
    /// What that channel was called, likewise.
    pub told_name: String,
}

impl SessionSource {
    /// Whether what was read of it is known no more.
    pub fn is_purged(&self) -> bool {
        self.content == Digest::default() && self.length > 0
    }
}

/// A note that was made of a file of a session, or of a part of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionNote {
    /// Which part of the session.
    pub part: u32,
    /// Where it is; empty where that was forgotten for good.
    pub path: String,
    /// BLAKE3 of what was written, in hexadecimal; empty where nothing was yet.
    pub after: String,
    /// BLAKE3 of what is about to be written.
    pub next: String,
    /// How many turns it has.
    pub turns: u64,
    /// How many it is about to have.
    pub next_turns: u64,
    /// Whether somebody has edited it: then it is only added to.
    pub is_edited: bool,
}

/// All files of sessions, and the notes that were made of them.
#[derive(Debug)]
pub struct SessionTable(Handle);

impl SessionTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(Handle::new(state, Durability::Full))
    }

    /// How a file was read last.
    ///
    /// # Errors
    /// When the state cannot be read or written; so all that follow.
    pub fn source(&self, key: &Digest) -> Result<Option<SessionSource>, StateError> {
        self.0.row(&format!("SELECT {COLUMNS} FROM session_sources WHERE key = ?1"), params![key], source)
    }

    /// All files of an entry, those that changed last first.
    ///
    /// # Errors
    /// As above.
    pub fn of_entry(&self, entry: &Digest) -> Result<Vec<(Digest, SessionSource)>, StateError> {
        let select = format!("SELECT {COLUMNS}, key FROM session_sources WHERE entry = ?1 ORDER BY mtime_ns DESC, key");
        self.0.rows(&select, params![entry], |row| Ok((row.get("key")?, source(row)?)))
    }

    /// Keeps how a file was read.
    ///
    /// # Errors
    /// As above.
    pub fn keep_source(&self, key: &Digest, source: &SessionSource) -> Result<(), StateError> {
        let keep = format!(
            "INSERT OR REPLACE INTO session_sources({COLUMNS}, key)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        );
        let SessionSource { entry, settings, size, mtime_ns, length, content, file, turns, .. } = source;
        let SessionSource { generation, is_out, told_scope, told_name, .. } = source;
        let (size, length, turns) = (size.cast_signed(), length.cast_signed(), turns.cast_signed());
        let all: [&dyn ToSql; 13] = [
            entry, settings, &size, mtime_ns, &length, content, &turns, generation, is_out, told_scope, told_name,
            file, key,
        ];
        self.0.execute(&keep, &all)
    }

    /// The notes that were made of a file since it was begun so often.
    ///
    /// # Errors
    /// As above.
    pub fn notes(&self, key: &Digest, generation: u32) -> Result<Vec<SessionNote>, StateError> {
        let all = self.all_notes(key)?.into_iter().filter(|(of, _)| *of == generation);
        Ok(all.map(|(_, note)| note).collect())
    }

    /// Keeps what is about to be written, or was.
    ///
    /// # Errors
    /// As above.
    pub fn keep_note(&self, key: &Digest, generation: u32, note: &SessionNote) -> Result<(), StateError> {
        let keep = "INSERT OR REPLACE INTO session_notes(key, generation, part, path, after, next, turns, next_turns, is_edited)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)";
        let SessionNote { part, path, after, next, turns, next_turns, is_edited } = note;
        let (turns, next_turns) = (turns.cast_signed(), next_turns.cast_signed());
        self.0.execute(keep, params![key, generation, part, path, after, next, turns, next_turns, is_edited])
    }

    /// The notes of a file, however often it was begun, each with that.
    ///
    /// # Errors
    /// As above.
    pub fn all_notes(&self, key: &Digest) -> Result<Vec<(u32, SessionNote)>, StateError> {
        let select = "SELECT part, path, after, next, turns, next_turns, is_edited, generation FROM session_notes
            WHERE key = ?1 ORDER BY generation, part";
        self.0.rows(select, params![key], |row| Ok((row.get("generation")?, note(row)?)))
    }

    /// Forgets a note of a file: it went to the trash. That one was forgotten for good stays known.
    ///
    /// # Errors
    /// As above.
    pub fn drop_note(&self, key: &Digest, generation: u32, part: u32) -> Result<(), StateError> {
        let drop = "DELETE FROM session_notes WHERE key = ?1 AND generation = ?2 AND part = ?3 AND path <> ''";
        self.0.execute(drop, params![key, generation, part])
    }

    /// Has all that is known of a file be known of another, of which nothing is known: it has moved.
    ///
    /// # Errors
    /// As above.
    pub fn move_file(&self, from: &Digest, to: &Digest) -> Result<(), StateError> {
        self.0.with(|opened| {
            let transaction = opened.connection.transaction()?;
            for table in ["session_sources", "session_notes"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE key = ?1"), [to])?;
                transaction.execute(&format!("UPDATE {table} SET key = ?2 WHERE key = ?1"), [from, to])?;
            }
            transaction.commit()
        })
    }

    /// Whether a note is of another file, or of another part.
    ///
    /// # Errors
    /// As above.
    pub fn is_of_another(&self, path: &str, key: &Digest, generation: u32, part: u32) -> Result<bool, StateError> {
        let select = "SELECT 1 FROM session_notes WHERE path = ?1 AND NOT (key = ?2 AND generation = ?3 AND part = ?4)";
        Ok(self.0.row(select, params![path, key, generation, part], |_| Ok(()))?.is_some())
    }

    /// How many notes of an entry somebody has edited.
    ///
    /// # Errors
    /// As above.
    pub fn edited(&self, entry: &Digest) -> Result<usize, StateError> {
        let edited = "SELECT 1 FROM session_notes WHERE is_edited AND path <> ''
            AND key IN (SELECT key FROM session_sources WHERE entry = ?1)";
        Ok(self.0.rows(edited, params![entry], |_| Ok(()))?.len())
    }

    /// Takes out what is kept of a file of which text went for good: its digests, by which a guess could be confirmed, and where it is all
    /// `gone` its name. It is only added to from then on, and the undo of an import asks before it touches it; what is gone does not come again.
    ///
    /// # Errors
    /// As above.
    pub fn purge_file(&self, path: &str, gone: bool) -> Result<(), StateError> {
        let changes = match gone {
            true => [
                "DELETE FROM import_files WHERE path = ?1",
                "UPDATE import_notes SET path = '', source = '', after = '', origin = '' WHERE path = ?1",
                "UPDATE session_notes SET path = '', after = 'gone', next = '', is_edited = 1 WHERE path = ?1",
            ],
            false => [
                "UPDATE import_files SET after = '' WHERE path = ?1",
                "UPDATE import_notes SET source = '', after = '' WHERE path = ?1",
                "UPDATE session_notes SET after = 'changed', next = '', is_edited = 1 WHERE path = ?1",
            ],
        };
        let sources = "UPDATE session_sources SET content = zeroblob(16)
            WHERE key IN (SELECT key FROM session_notes WHERE path = ?1)";
        let purged = self.0.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            for change in std::iter::once(sources).chain(changes) {
                transaction.execute(change, [path])?;
            }
            transaction.commit()
        });
        purged.map(drop)
    }
}

const COLUMNS: &str =
    "entry, settings, size, mtime_ns, length, content, turns, generation, is_out, told_scope, told_name, digest";

fn source(row: &Row<'_>) -> rusqlite::Result<SessionSource> {
    Ok(SessionSource {
        entry: row.get(0)?,
        settings: row.get(1)?,
        size: row.get::<_, i64>(2)?.cast_unsigned(),
        mtime_ns: row.get(3)?,
        length: row.get::<_, i64>(4)?.cast_unsigned(),
        content: row.get(5)?,
        turns: row.get::<_, i64>(6)?.cast_unsigned(),
        generation: row.get(7)?,
        is_out: row.get(8)?,
        told_scope: row.get(9)?,
        told_name: row.get(10)?,
        file: row.get(11)?,
    })
}

fn note(row: &Row<'_>) -> rusqlite::Result<SessionNote> {
    Ok(SessionNote {
        part: row.get(0)?,
        path: row.get(1)?,
        after: row.get(2)?,
        next: row.get(3)?,
        turns: row.get::<_, i64>(4)?.cast_unsigned(),
        next_turns: row.get::<_, i64>(5)?.cast_unsigned(),
        is_edited: row.get(6)?,
    })
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
        imports.note_file(first, &file("1", Some("before"))).unwrap();
        imports.note_file(first, &file("2", None)).unwrap();
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

    #[test]
    fn what_was_read_and_made_is_known_again_until_it_is_purged() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = SessionTable::new(&State::in_folder(folder.path()));
        let (key, other, entry) = ([1; 16], [2; 16], [3; 16]);
        assert_eq!((sessions.source(&key).unwrap(), sessions.notes(&key, 0).unwrap()), (None, vec![]));
        let source = |mtime_ns| SessionSource {
            entry,
            mtime_ns,
            size: 7,
            content: [4; 16],
            file: [5; 16],
            ..SessionSource::default()
        };
        sessions.keep_source(&key, &source(1)).unwrap();
        sessions.keep_source(&other, &source(2)).unwrap();
        assert_eq!(sessions.source(&key).unwrap(), Some(source(1)));
        assert_eq!(sessions.of_entry(&entry).unwrap(), [(other, source(2)), (key, source(1))]);
        let note = SessionNote { path: "conversations/a.md".into(), after: "1".into(), ..SessionNote::default() };
        sessions.keep_note(&key, 0, &note).unwrap();
        sessions.keep_note(&key, 1, &SessionNote { path: "conversations/b.md".into(), ..note.clone() }).unwrap();
        assert_eq!(sessions.notes(&key, 0).unwrap(), std::slice::from_ref(&note));
        assert_eq!(sessions.all_notes(&key).unwrap().len(), 2);
        let is_of_another = |path: &str| sessions.is_of_another(path, &key, 0, 0).unwrap();
        assert!(is_of_another("conversations/b.md") && !is_of_another("conversations/a.md"));
        sessions.purge_file("conversations/a.md", false).unwrap();
        let left = &sessions.notes(&key, 0).unwrap()[0];
        assert!(
            left.is_edited
                && left.after == "changed"
                && sessions.source(&key).unwrap() == Some(SessionSource { content: [0; 16], ..source(1) })
        );
        sessions.purge_file("conversations/a.md", true).unwrap();
        assert_eq!(sessions.notes(&key, 0).unwrap()[0].path, "");
        for generation in [0, 1] {
            sessions.drop_note(&key, generation, 0).unwrap();
        }
        let left = sessions.all_notes(&key).unwrap();
        assert!(
            left.len() == 1 && left[0].1.path.is_empty(),
            "what was forgotten for good does not come again: {left:?}"
        );
        let moved = [9; 16];
        sessions.move_file(&key, &moved).unwrap();
        assert!(sessions.source(&key).unwrap().is_none() && sessions.all_notes(&key).unwrap().is_empty());
        assert!(sessions.source(&moved).unwrap().is_some() && sessions.all_notes(&moved).unwrap() == left);
    }
}
