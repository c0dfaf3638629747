//! Of which parts of agents' traces the librarian has made something of, and how many events they had: no text of them, and no name but the
//! agent's.

use std::sync::Arc;

use rusqlite::{OptionalExtension, params};

use super::error::StateError;
use super::key::Digest;
use super::store::{Durability, Handle, State};

/// What was read of an agent's traces.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LibrarianTotals {
    /// So many events.
    pub events: u64,
    /// When last, in milliseconds since 1970.
    pub last: Option<i64>,
}

/// The parts of all agents.
#[derive(Debug)]
pub struct LibrarianTable(Handle);

impl LibrarianTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(Handle::new(state, Durability::Full))
    }

    /// Keeps that a part was read, which has so many events.
    ///
    /// # Errors
    /// When the state cannot be written; so all that follow.
    pub fn keep(&self, agent: &str, key: Digest, events: u64, now: i64) -> Result<(), StateError> {
        self.0.with(|opened| {
            let keep = "INSERT OR REPLACE INTO librarian_parts(agent, key, events, at) VALUES (?1, ?2, ?3, ?4)";
            opened.connection.execute(keep, params![agent, &key[..], events.cast_signed(), now])
        })?;
        Ok(())
    }

    /// What was read of an agent's traces.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn totals(&self, agent: &str) -> Result<LibrarianTotals, StateError> {
        let totals = self.0.if_there(|opened| {
            let totals = "SELECT sum(events), max(at) FROM librarian_parts WHERE agent = ?1 HAVING count(*) > 0";
            let read = |row: &rusqlite::Row<'_>| {
                Ok(LibrarianTotals { events: row.get::<_, i64>(0)?.cast_unsigned(), last: row.get(1)? })
            };
            opened.connection.prepare_cached(totals)?.query_row([agent], read).optional()
        });
        Ok(totals?.flatten().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_is_read_again_counts_once() {
        let folder = tempfile::tempdir().unwrap();
        let librarian = LibrarianTable::new(&State::in_folder(folder.path()));
        assert_eq!(librarian.totals("ada").unwrap(), LibrarianTotals::default());
        librarian.keep("ada", [1; 16], 7, 100).unwrap();
        librarian.keep("ada", [1; 16], 9, 200).unwrap();
        librarian.keep("ada", [2; 16], 1, 150).unwrap();
        librarian.keep("zoe", [1; 16], 5, 300).unwrap();
        assert_eq!(librarian.totals("ada").unwrap(), LibrarianTotals { events: 10, last: Some(200) });
    }
}
