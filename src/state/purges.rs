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

    /// One is finished.
    ///
    /// # Errors
    /// As [`OpenPurgeTable::open`].
    pub fn close(&self, id: i64) -> Result<(), StateError> {
        let closed = self.0.if_there(|opened| {
            opened.connection.execute("DELETE FROM open_purges WHERE id = ?1", [id])?;
            // The names in it are not to stay in the log.
            opened.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        });
        closed.map(drop)
    }

    /// Those that are not finished, the oldest first.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn all(&self) -> Result<Vec<OpenPurge>, StateError> {
        let all = self.0.if_there(|opened| {
            let all =
                "SELECT id, at, path, first_line, last_line, gone, readers, going_with FROM open_purges ORDER BY id";
            let mut all = opened.connection.prepare(all)?;
            let rows = all.query_map([], |row| {
                let line = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(|line| line as usize));
                let lines = line(3)?.zip(line(4)?);
                let readers = row.get::<_, String>(6)?.split_whitespace().map(str::to_owned).collect();
                let (id, at, path) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(OpenPurge { id, at, path, lines, gone: row.get(5)?, readers, going_with: row.get(7)? })
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
        tables[1].close(one).unwrap();
        assert_eq!(tables[0].all().unwrap().len(), 1);
    }
}
