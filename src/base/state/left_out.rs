//! What was left out because it was forgotten: when, and of what; never what it said.

use std::sync::Arc;

use jiff::Timestamp;
use rusqlite::{Connection, params};

use super::error::StateError;
use super::later::LaterTable;
use super::store::State;

/// Maximum of rows; beyond it the oldest go.
const MAX_ROWS: i64 = 1000;

/// Something that was left out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftOut {
    /// When.
    pub at: Timestamp,
    /// Who brought it: `program NAME`, `agent NAME`, `import` for an archive.
    pub by: String,
    /// What it was to become: a collection, or the file of an agent's memory.
    pub into: String,
    /// Whether all of it was left out, or a part.
    pub whole: bool,
    /// Which tombstone it is of.
    pub tombstone: i64,
}

/// All of it.
#[derive(Debug)]
pub struct LeftOutTable(LaterTable<LeftOut>);

impl LeftOutTable {
    /// That of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(LaterTable::new(state, "what was left out", write))
    }

    /// Adds a row, which is written in a moment.
    pub fn add(&self, left_out: LeftOut) {
        self.0.add(left_out);
    }

    /// The newest, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn newest(&self, limit: usize) -> Result<Vec<LeftOut>, StateError> {
        self.0.read(|opened| {
            let newest = "SELECT at, by_whom, into_what, whole, tombstone FROM left_out ORDER BY id DESC LIMIT ?1";
            let mut newest = opened.connection.prepare_cached(newest)?;
            let rows = newest.query_map([limit as i64], |row| {
                let at = Timestamp::from_millisecond(row.get(0)?).unwrap_or(Timestamp::UNIX_EPOCH);
                Ok(LeftOut { at, by: row.get(1)?, into: row.get(2)?, whole: row.get(3)?, tombstone: row.get(4)? })
            })?;
            rows.collect()
        })
    }
}

fn write(transaction: &Connection, rows: &[LeftOut]) -> rusqlite::Result<()> {
    let insert = "INSERT INTO left_out(at, by_whom, into_what, whole, tombstone) VALUES (?1, ?2, ?3, ?4, ?5)";
    let mut insert = transaction.prepare_cached(insert)?;
    for row in rows {
        insert.execute(params![row.at.as_millisecond(), row.by, row.into, row.whole, row.tombstone])?;
    }
    let old = "DELETE FROM left_out WHERE id <= (SELECT max(id) FROM left_out) - ?1";
    transaction.execute(old, [MAX_ROWS]).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_first_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let table = LeftOutTable::new(&State::in_folder(folder.path()));
        for tombstone in 0..1500 {
            let at = Timestamp::from_second(tombstone).unwrap();
            table.add(LeftOut { at, by: "agent ada".into(), into: "MEMORY.md".into(), whole: true, tombstone });
        }
        let newest = table.newest(5000).unwrap();
        assert_eq!((newest.len(), newest[0].tombstone, newest[999].tombstone), (1000, 1499, 500));
        assert_eq!(newest[0].at.as_second(), 1499);
    }
}
