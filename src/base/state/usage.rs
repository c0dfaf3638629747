//! How often chunks, and entries by keys of their own, were given to those who asked, and when last. Each reader's counts are apart: what an agent was given moves nothing
//! of another's, and what it was not given moves nothing of its own.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::later::LaterWriter;
use super::store::{Durability, Handle, State, StateError};

/// Maximum number of counts; beyond it go those that were not asked for for longest.
const MAX_COUNTS: i64 = 200_000;
/// How many more there may be before some go.
const SLACK: i64 = 10_000;

/// The counts of all who read.
#[derive(Debug)]
pub struct UsageTable {
    table: LaterWriter,
    /// For what is taken back, which is safe on disk at once.
    full: Handle,
}

/// What agents were given in all.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UsageTotals {
    /// Chunks, and entries by themselves, that were given to an agent.
    pub chunks: u64,
    /// How often they were given.
    pub times: u64,
}

impl UsageTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let table = LaterWriter::new(state, "the counts of what was given");
        Self { table, full: Handle::new(state, Durability::Full) }
    }

    /// Counts the chunks of an answer, by their names, for who was given it; that is written in a moment.
    pub fn add(&self, reader: &str, chunks: Vec<u64>, at_ms: i64) {
        if chunks.is_empty() {
            return;
        }
        let reader = reader.to_owned();
        self.table.add(move |connection| {
            let mut upsert = connection.prepare_cached(
                "INSERT INTO usage(reader, chunk, count, last_ms) VALUES (?1, ?2, 1, ?3) ON CONFLICT(reader, chunk)
                 DO UPDATE SET count = count + 1, last_ms = max(last_ms, excluded.last_ms)",
            )?;
            for chunk in &chunks {
                upsert.execute(params![reader, *chunk as i64, at_ms])?;
            }
            trim(connection, MAX_COUNTS, SLACK)
        });
    }

    /// How often a reader was given each of these chunks, in their order.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(&self, reader: &str, chunks: &[u64]) -> Result<Vec<u64>, StateError> {
        let found = self.table.written().if_there(|opened| {
            let select = "SELECT count FROM usage WHERE reader = ?1 AND chunk = ?2";
            let mut select = opened.connection.prepare_cached(select)?;
            let one = |chunk: &u64| {
                let found = select.query_row(params![reader, *chunk as i64], |row| row.get::<_, i64>(0));
                Ok(found.optional()?.map_or(0, |count| count.max(0) as u64))
            };
            chunks.iter().map(one).collect()
        });
        Ok(found?.unwrap_or_else(|| vec![0; chunks.len()]))
    }

    /// Takes back what is counted of chunks, for whoever it is. It is safe on disk when this returns.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn remove(&self, chunks: &[u64]) -> Result<(), StateError> {
        if chunks.is_empty() {
            return Ok(());
        }
        self.delete(|connection| {
            let mut delete = connection.prepare_cached("DELETE FROM usage WHERE chunk = ?1")?;
            chunks.iter().try_for_each(|chunk| delete.execute([*chunk as i64]).map(drop))
        })
    }

    /// Takes back what is counted of all chunks but those for which `is_there` holds, and leaves nothing of it in SQLite's log.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn keep(&self, is_there: impl Fn(u64) -> bool) -> Result<(), StateError> {
        self.delete(|connection| {
            let mut gone: Vec<i64> = Vec::new();
            let mut select = connection.prepare("SELECT DISTINCT chunk FROM usage")?;
            let mut rows = select.query([])?;
            while let Some(row) = rows.next()? {
                let chunk: i64 = row.get(0)?;
                gone.extend((!is_there(chunk as u64)).then_some(chunk));
            }
            let mut delete = connection.prepare_cached("DELETE FROM usage WHERE chunk = ?1")?;
            gone.iter().try_for_each(|chunk| delete.execute([chunk]).map(drop))
        })?;
        self.full.row("PRAGMA wal_checkpoint(TRUNCATE)", &[], |_| Ok(())).map(drop)
    }

    /// What agents were given in all; the person's own searches do not count. Waits for nothing that is being written.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn totals(&self) -> Result<UsageTotals, StateError> {
        let totals = "SELECT count(DISTINCT chunk), coalesce(sum(count), 0) FROM usage WHERE reader <> ''";
        let totals = self.table.handle().row(totals, &[], |row| {
            Ok(UsageTotals { chunks: row.get::<_, i64>(0)? as u64, times: row.get::<_, i64>(1)? as u64 })
        });
        Ok(totals?.unwrap_or_default())
    }

    fn delete(&self, delete: impl Fn(&Connection) -> rusqlite::Result<()>) -> Result<(), StateError> {
        self.table.flush();
        let deleted = self.full.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            delete(&transaction)?;
            transaction.commit()
        });
        deleted.map(drop)
    }
}

/// Drops the oldest of more than `max` counts, once there are `slack` more.
fn trim(transaction: &Connection, max: i64, slack: i64) -> rusqlite::Result<()> {
    // Without looking at every row, as `count(*)` does: rows are added at the end, and few are taken away.
    let last: i64 = transaction
        .prepare_cached("SELECT coalesce(max(rowid) - min(rowid), 0) FROM usage")?
        .query_row([], |row| row.get(0))?;
    if last <= max + slack {
        return Ok(());
    }
    let count: i64 = transaction.query_row("SELECT count(*) FROM usage", [], |row| row.get(0))?;
    if count > max {
        let oldest = "DELETE FROM usage WHERE rowid IN (SELECT rowid FROM usage ORDER BY last_ms LIMIT ?1)";
        transaction.execute(oldest, [count - max])?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Once all is written.
    fn counted(usage: &UsageTable) -> Result<UsageTotals, StateError> {
        usage.table.flush();
        usage.totals()
    }

    #[test]
    fn each_reader_has_counts_of_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let usage = UsageTable::new(&state);
        assert_eq!(usage.of("", &[1]).unwrap(), [0]);
        assert!(counted(&usage).unwrap() == UsageTotals::default() && !state.file().exists());
        usage.add("", vec![1, u64::MAX], 10);
        usage.add("", vec![1], 5);
        usage.add("ada", vec![1, 2], 20);
        assert_eq!(usage.of("", &[1, 2, u64::MAX]).unwrap(), [2, 0, 1]);
        assert_eq!(usage.of("ada", &[1, 2]).unwrap(), [1, 1]);
        assert_eq!(counted(&usage).unwrap(), UsageTotals { chunks: 2, times: 2 }, "the person's own do not count");
        drop(usage);
        assert_eq!(counted(&UsageTable::new(&state)).unwrap().times, 2, "a stop writes what waits");
    }

    #[test]
    fn what_is_forgotten_is_not_counted() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let usage = UsageTable::new(&state);
        usage.add("bob", vec![1, 2, 3], 10);
        usage.add("ada", vec![1, 3], 10);
        usage.remove(&[1]).unwrap();
        assert_eq!(counted(&usage).unwrap(), UsageTotals { chunks: 2, times: 3 });
        usage.keep(|chunk| chunk == 2).unwrap();
        assert_eq!(counted(&usage).unwrap(), UsageTotals { chunks: 1, times: 1 });
        assert_eq!(state.log().metadata().map_or(0, |meta| meta.len()), 0, "nothing is left in the log");
    }

    #[test]
    fn the_counts_that_are_oldest_go() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let usage = UsageTable::new(&state);
        (1..=20).for_each(|at| usage.add("ada", vec![at], at as i64));
        usage.add("ada", vec![1], 100);
        usage.table.flush();
        usage.delete(|connection| trim(connection, 5, 20)).unwrap();
        assert_eq!(counted(&usage).unwrap().chunks, 20, "not yet so many more");
        usage.delete(|connection| trim(connection, 5, 3)).unwrap();
        let left: Vec<u64> = (1..=20).filter(|at| usage.of("ada", &[*at]).unwrap()[0] > 0).collect();
        assert_eq!(left, [1, 17, 18, 19, 20]);
    }
}
