//! What agents asked, as entries in the order they came. An answer never waits for one to be written.

use std::collections::BTreeMap;
use std::sync::Arc;

use rusqlite::{Connection, params};

use super::later::LaterTable;
use super::store::{State, StateError};

/// Maximum of an agent's entries, in bytes; beyond it the oldest go.
const MAX_BYTES: i64 = 2 << 20;
/// How many of the oldest go at a time.
const AT_A_TIME: usize = 64;
/// The entries of all agents: whose it is, and what it says.
#[derive(Debug)]
pub struct LogTable(LaterTable<(String, String)>);

impl LogTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(LaterTable::new(state, "the log of what agents read", write))
    }

    /// Adds an entry, which is written in a moment.
    pub fn add(&self, slug: &str, entry: String) {
        self.0.add((slug.to_owned(), entry));
    }

    /// The newest entries of an agent, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn newest(&self, slug: &str, limit: usize) -> Result<Vec<String>, StateError> {
        let newest = "SELECT entry FROM read_log WHERE slug = ?1 ORDER BY id DESC LIMIT ?2";
        self.0.written().rows(newest, params![slug, limit as i64], |row| row.get(0))
    }

    /// Writes the entries anew of which `new` gives another.
    ///
    /// # Errors
    /// When they cannot be read or written.
    pub fn rewrite(&self, new: impl Fn(&str) -> Option<String>) -> Result<(), StateError> {
        self.0.read(|opened| {
            let transaction = opened.connection.transaction()?;
            let mut changed: Vec<(i64, String)> = Vec::new();
            for entry in transaction
                .prepare_cached("SELECT id, entry FROM read_log")?
                .query_map([], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?
            {
                let (id, entry) = entry?;
                changed.extend(new(&entry).map(|new| (id, new)));
            }
            for (id, entry) in changed {
                transaction.execute("UPDATE read_log SET entry = ?2 WHERE id = ?1", params![id, entry])?;
            }
            let whole = "UPDATE read_log_bytes SET bytes =
                (SELECT total(length(CAST(entry AS BLOB))) FROM read_log WHERE read_log.slug = read_log_bytes.slug)";
            transaction.execute(whole, [])?;
            // What they said is not left where rows have been moved, either.
            transaction.execute("INSERT OR IGNORE INTO events_unswept(id) VALUES (1)", [])?;
            transaction.commit()
        })
    }
}

/// Adds entries, and drops the oldest of those agents who have too much.
pub(super) fn write(transaction: &Connection, entries: &[(String, String)]) -> rusqlite::Result<()> {
    let mut grown: BTreeMap<&str, i64> = BTreeMap::new();
    let mut insert = transaction.prepare_cached("INSERT INTO read_log(slug, entry) VALUES (?1, ?2)")?;
    for (slug, entry) in entries {
        insert.execute([slug, entry])?;
        *grown.entry(slug).or_default() += entry.len() as i64;
    }
    for (slug, bytes) in grown {
        let grow = "INSERT INTO read_log_bytes(slug, bytes) VALUES (?1, ?2)
            ON CONFLICT(slug) DO UPDATE SET bytes = bytes + excluded.bytes RETURNING bytes";
        let mut bytes: i64 = transaction.prepare_cached(grow)?.query_row(params![slug, bytes], |row| row.get(0))?;
        let before = bytes;
        while bytes > MAX_BYTES {
            let oldest = "DELETE FROM read_log WHERE id IN
                (SELECT id FROM read_log WHERE slug = ?1 ORDER BY id LIMIT ?2) RETURNING length(CAST(entry AS BLOB))";
            let mut oldest = transaction.prepare_cached(oldest)?;
            let gone = oldest.query_map(params![slug, AT_A_TIME as i64], |row| row.get(0))?;
            let gone = gone.collect::<rusqlite::Result<Vec<i64>>>()?;
            bytes = if gone.is_empty() { 0 } else { bytes - gone.iter().sum::<i64>() };
        }
        if bytes != before {
            transaction.execute("UPDATE read_log_bytes SET bytes = ?2 WHERE slug = ?1", params![slug, bytes])?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_comes_first_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let log = LogTable::new(&state);
        assert!(log.newest("ada", 5).unwrap().is_empty() && !state.file().exists());
        for number in 0..8_000 {
            log.add("ada", format!("{number} {}", "ü".repeat(300)));
            log.add("bob", number.to_string());
            if number % 1000 == 0 {
                assert!(log.newest("ada", 1).unwrap()[0].starts_with(&format!("{number} ")));
            }
        }
        let kept = log.newest("ada", 10_000).unwrap();
        let numbers: Vec<usize> = kept.iter().map(|entry| entry.split(' ').next().unwrap().parse().unwrap()).collect();
        assert!(numbers.windows(2).all(|pair| pair[0] == pair[1] + 1) && numbers[0] == 7999);
        let bytes: usize = kept.iter().map(String::len).sum();
        assert!(bytes as i64 <= MAX_BYTES && bytes as i64 > MAX_BYTES - 64 * 1000, "{bytes}");
        assert_eq!(log.newest("bob", 10_000).unwrap().len(), 8_000, "one agent's does not cost another's");
        drop(log);
        assert_eq!(LogTable::new(&state).newest("ada", 10_000).unwrap(), kept);
    }

    #[test]
    fn an_entry_is_added_while_another_writes_and_does_not_wait_for_it() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let log = LogTable::new(&state);
        log.add("ada", "before".into());
        log.0.flush();
        let other = Connection::open(state.file()).unwrap();
        other.execute_batch("BEGIN IMMEDIATE").unwrap();
        // It would not return before the other has ended, if it waited.
        log.add("ada", "meanwhile".into());
        other.execute_batch("COMMIT").unwrap();
        assert_eq!(log.newest("ada", 5).unwrap(), ["meanwhile", "before"]);
        log.add("ada", "last".into());
        drop(log);
        assert_eq!(LogTable::new(&state).newest("ada", 1).unwrap(), ["last"], "a stop writes what waits");
    }
}
