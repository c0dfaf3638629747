//! Which files of sessions were read, as far as what became of each: no text of them, and no name.

use std::sync::Arc;

use rusqlite::{Row, params};

use super::error::StateError;
use super::key::Digest;
use super::store::{Durability, Handle, State};

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
    /// How many turns they have.
    pub turns: u64,
    /// What they were, without what is guessed of them.
    pub digest: Digest,
    /// How often it was begun anew.
    pub generation: u32,
    /// Whether its notes went to the trash for their age or number.
    pub is_out: bool,
    /// From what kind of channel it was told to come, last that anything told it; empty where nothing has.
    pub told_scope: String,
    /// What that channel was called, likewise.
    pub told_name: String,
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

/// All of them.
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
        self.0.row(&format!("SELECT {COLUMNS} FROM session_sources WHERE key = ?1"), params![&key[..]], source)
    }

    /// All files of an entry, those that changed last first.
    ///
    /// # Errors
    /// As above.
    pub fn of_entry(&self, entry: &Digest) -> Result<Vec<(Digest, SessionSource)>, StateError> {
        let select = format!("SELECT {COLUMNS}, key FROM session_sources WHERE entry = ?1 ORDER BY mtime_ns DESC, key");
        self.0.rows(&select, params![&entry[..]], |row| Ok((row.get("key")?, source(row)?)))
    }

    /// Keeps how a file was read.
    ///
    /// # Errors
    /// As above.
    pub fn keep_source(&self, key: &Digest, source: &SessionSource) -> Result<(), StateError> {
        let keep = format!(
            "INSERT OR REPLACE INTO session_sources({COLUMNS}, key) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)"
        );
        let SessionSource { entry, settings, size, mtime_ns, length, content, turns, digest, generation, .. } = source;
        let (size, length, turns) = (size.cast_signed(), length.cast_signed(), turns.cast_signed());
        let (is_out, scope, name) = (source.is_out, &source.told_scope, &source.told_name);
        let (entry, settings, content, digest) = (&entry[..], &settings[..], &content[..], &digest[..]);
        self.0.execute(
            &keep,
            params![
                entry,
                settings,
                size,
                mtime_ns,
                length,
                content,
                turns,
                digest,
                generation,
                is_out,
                scope,
                name,
                &key[..]
            ],
        )
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
        self.0.execute(keep, params![&key[..], generation, part, path, after, next, turns, next_turns, is_edited])
    }

    /// The notes of a file, however often it was begun, each with that.
    ///
    /// # Errors
    /// As above.
    pub fn all_notes(&self, key: &Digest) -> Result<Vec<(u32, SessionNote)>, StateError> {
        let select = "SELECT part, path, after, next, turns, next_turns, is_edited, generation FROM session_notes
            WHERE key = ?1 ORDER BY generation, part";
        self.0.rows(select, params![&key[..]], |row| Ok((row.get("generation")?, note(row)?)))
    }

    /// Forgets a note of a file: it went to the trash. That one was forgotten for good stays known.
    ///
    /// # Errors
    /// As above.
    pub fn drop_note(&self, key: &Digest, generation: u32, part: u32) -> Result<(), StateError> {
        let drop = "DELETE FROM session_notes WHERE key = ?1 AND generation = ?2 AND part = ?3 AND path <> ''";
        self.0.execute(drop, params![&key[..], generation, part])
    }

    /// Has all that is known of a file be known of another, of which nothing is known: it has moved.
    ///
    /// # Errors
    /// As above.
    pub fn move_file(&self, from: &Digest, to: &Digest) -> Result<(), StateError> {
        self.0.with(|opened| {
            let transaction = opened.connection.transaction()?;
            for table in ["session_sources", "session_notes"] {
                transaction.execute(&format!("DELETE FROM {table} WHERE key = ?1"), [&to[..]])?;
                transaction.execute(&format!("UPDATE {table} SET key = ?2 WHERE key = ?1"), [&from[..], &to[..]])?;
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
        Ok(self.0.row(select, params![path, &key[..], generation, part], |_| Ok(()))?.is_some())
    }

    /// How many notes of an entry somebody has edited.
    ///
    /// # Errors
    /// As above.
    pub fn edited(&self, entry: &Digest) -> Result<usize, StateError> {
        let count = "SELECT count(*) FROM session_notes WHERE is_edited AND path <> ''
            AND key IN (SELECT key FROM session_sources WHERE entry = ?1)";
        let count = self.0.row(count, params![&entry[..]], |row| row.get::<_, i64>(0))?;
        Ok(usize::try_from(count.unwrap_or_default()).unwrap_or_default())
    }

    /// Takes out what is kept of a note of which text went for good: its digests, by which a guess could be confirmed, and where it is all
    /// `gone` its name. It is only added to from then on, and one that is gone does not come again.
    ///
    /// # Errors
    /// As above.
    pub fn purge_file(&self, path: &str, gone: bool) -> Result<(), StateError> {
        self.0.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            let sources = "UPDATE session_sources SET content = zeroblob(16), digest = zeroblob(16)
                WHERE key IN (SELECT key FROM session_notes WHERE path = ?1)";
            transaction.execute(sources, [path])?;
            let notes = match gone {
                true => "UPDATE session_notes SET path = '', after = 'gone', next = '', is_edited = 1 WHERE path = ?1",
                false => "UPDATE session_notes SET after = 'changed', next = '', is_edited = 1 WHERE path = ?1",
            };
            transaction.execute(notes, [path])?;
            transaction.commit()
        })?;
        Ok(())
    }
}

const COLUMNS: &str = "entry, settings, size, mtime_ns, length, content, turns, digest, generation, is_out, told_scope, \
    told_name";

fn source(row: &Row<'_>) -> rusqlite::Result<SessionSource> {
    Ok(SessionSource {
        entry: row.get(0)?,
        settings: row.get(1)?,
        size: row.get::<_, i64>(2)?.cast_unsigned(),
        mtime_ns: row.get(3)?,
        length: row.get::<_, i64>(4)?.cast_unsigned(),
        content: row.get(5)?,
        turns: row.get::<_, i64>(6)?.cast_unsigned(),
        digest: row.get(7)?,
        generation: row.get(8)?,
        is_out: row.get(9)?,
        told_scope: row.get(10)?,
        told_name: row.get(11)?,
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
    fn what_was_read_and_made_is_known_again_until_it_is_purged() {
        let folder = tempfile::tempdir().unwrap();
        let sessions = SessionTable::new(&State::in_folder(folder.path()));
        let (key, other, entry) = ([1; 16], [2; 16], [3; 16]);
        assert_eq!((sessions.source(&key).unwrap(), sessions.notes(&key, 0).unwrap()), (None, vec![]));
        let source =
            |mtime_ns| SessionSource { entry, mtime_ns, size: 7, content: [4; 16], ..SessionSource::default() };
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
            left.is_edited && left.after == "changed" && sessions.source(&key).unwrap().unwrap().content == [0; 16]
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
