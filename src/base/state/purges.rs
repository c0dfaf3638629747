//! The purges that are under way, so that the next start finishes one during which the program was killed.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::params;

use super::error::StateError;
use super::store::{Durability, Handle, State};

/// A purge that has begun and is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPurge {
    /// Its number.
    pub id: i64,
    /// When it began, in milliseconds since 1970.
    pub at: i64,
    /// The note.
    pub path: String,
    /// The lines that go, if not all of it does.
    pub lines: Option<(usize, usize)>,
    /// Whether all of the note goes.
    pub gone: bool,
    /// The agents that could read it.
    pub readers: Vec<String>,
    /// What goes with it, as whoever began it has written that down.
    pub going_with: String,
    /// What was remembered as forgotten.
    pub tombstone: Option<i64>,
    /// Whether the note's own text is known to have gone.
    pub removed: bool,
}

/// Those of a vault.
#[derive(Debug)]
pub struct OpenPurgeTable(Handle);

impl OpenPurgeTable {
    /// Of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(Handle::new(state, Durability::Full))
    }

    /// Begins one, safe on disk when this returns; gives its number.
    ///
    /// # Errors
    /// When the state cannot be written; so all that follow.
    pub fn open(
        &self,
        path: &str,
        lines: Option<(usize, usize)>,
        gone: bool,
        readers: &[String],
        going_with: &str,
    ) -> Result<i64, StateError> {
        let at = Timestamp::now().as_millisecond();
        self.0.with(|opened| {
            let (first, last) = lines.map(|(first, last)| (first as i64, last as i64)).unzip();
            let insert = "INSERT INTO open_purges(at, path, first_line, last_line, gone, readers, going_with)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            opened.connection.execute(insert, params![at, path, first, last, gone, readers.join(" "), going_with])?;
            Ok(opened.connection.last_insert_rowid())
        })
    }

    /// The note's own text has gone.
    ///
    /// # Errors
    /// As [`OpenPurgeTable::open`].
    pub fn removed(&self, id: i64) -> Result<(), StateError> {
        let set = "UPDATE open_purges SET removed = 1 WHERE id = ?1";
        self.0.with(|opened| opened.connection.execute(set, [id]).map(drop))
    }

    /// One is finished.
    ///
    /// # Errors
    /// As [`OpenPurgeTable::open`].
    pub fn close(&self, id: i64) -> Result<(), StateError> {
        self.without_names(id, "DELETE FROM open_purges WHERE id = ?1")
    }

    /// One is finished but for the files of the index: it names no note any more.
    ///
    /// # Errors
    /// As [`OpenPurgeTable::open`].
    pub fn leave_to_index(&self, id: i64) -> Result<(), StateError> {
        self.without_names(id, "UPDATE open_purges SET path = '', going_with = '[]', removed = 1 WHERE id = ?1")
    }

    /// Runs what takes the names out of one; they are not to stay in the log either.
    fn without_names(&self, id: i64, sql: &str) -> Result<(), StateError> {
        let done = self.0.if_there(|opened| {
            opened.connection.execute(sql, [id])?;
            opened.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        });
        done.map(drop)
    }

    /// Those that are not finished, the oldest first.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn all(&self) -> Result<Vec<OpenPurge>, StateError> {
        let all = self.0.if_there(|opened| {
            let all = "SELECT id, at, path, first_line, last_line, gone, readers, going_with, tombstone, removed
                FROM open_purges ORDER BY id";
            let mut all = opened.connection.prepare(all)?;
            let rows = all.query_map([], |row| {
                let line = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(|line| line as usize));
                let lines = line(3)?.zip(line(4)?);
                let readers = row.get::<_, String>(6)?.split_whitespace().map(str::to_owned).collect();
                let (id, at, path) = (row.get(0)?, row.get(1)?, row.get(2)?);
                let (gone, going_with, tombstone, removed) = (row.get(5)?, row.get(7)?, row.get(8)?, row.get(9)?);
                Ok(OpenPurge { id, at, path, lines, gone, readers, going_with, tombstone, removed })
            })?;
            rows.collect()
        });
        Ok(all?.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_begun_is_known_until_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let tables = [(); 2].map(|()| OpenPurgeTable::new(&State::in_folder(folder.path())));
        assert!(tables[0].all().unwrap().is_empty());
        let one = tables[0].open("a.md", Some((3, 5)), false, &["ada".into(), "bob".into()], "[1]").unwrap();
        let other = tables[0].open("b.md", None, true, &[], "[]").unwrap();
        let all = tables[1].all().unwrap();
        let told: Vec<_> = all.iter().map(|open| (open.id, open.path.as_str(), open.lines, open.gone)).collect();
        assert_eq!(told, [(one, "a.md", Some((3, 5)), false), (other, "b.md", None, true)]);
        assert_eq!((all[0].readers.len(), all[1].readers.len()), (2, 0));
        assert_eq!((all[0].going_with.as_str(), all[1].going_with.as_str()), ("[1]", "[]"));
        tables[0].removed(other).unwrap();
        let removed = tables[1].all().unwrap();
        assert_eq!(removed.iter().map(|open| open.removed).collect::<Vec<_>>(), [false, true]);
        tables[0].leave_to_index(one).unwrap();
        assert_eq!((tables[1].all().unwrap()[0].path.as_str(), tables[1].all().unwrap()[0].removed), ("", true));
        tables[1].close(one).unwrap();
        assert_eq!(tables[0].all().unwrap().len(), 1);
    }
}
