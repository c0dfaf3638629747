//! What agents asked, as entries in the order they came. An answer never waits for one to be written: a thread writes what
//! has come, in one transaction that no sync of the disk belongs to.

use std::collections::BTreeMap;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::{Connection, params};

use super::error::StateError;
use super::store::{Durability, Handle, State};

/// Maximum of an agent's entries, in bytes; beyond it the oldest go.
const MAX_BYTES: i64 = 2 << 20;
/// So many of the oldest go at a time.
const AT_A_TIME: usize = 64;
/// What comes so soon after an entry is written with it.
const GATHER: Duration = Duration::from_millis(100);
/// So long whoever reads waits for what is being written.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum of entries that wait for a disk that does not answer.
const MAX_WAITING: usize = 10_000;

/// The entries of all agents.
#[derive(Debug)]
pub struct LogTable {
    log: Arc<LogQueue>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct LogQueue {
    handle: Handle,
    waiting: Mutex<WaitingEntries>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct WaitingEntries {
    /// Whose entry, and what it says.
    entries: Vec<(String, String)>,
    /// So many were ever added, and so many of those wait no more.
    added: u64,
    done: u64,
    /// Somebody wants to read them.
    hurry: bool,
    closing: bool,
}

impl LogTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let handle = Handle::new(state, Durability::Later);
        let log = LogQueue { handle, waiting: Mutex::default(), changed: Condvar::new() };
        Self { log: Arc::new(log), thread: Mutex::default() }
    }

    /// Adds an entry, which is written in a moment.
    pub fn add(&self, slug: &str, entry: String) {
        let mut waiting = self.log.waiting();
        if waiting.entries.len() >= MAX_WAITING || !self.is_at_work() {
            tracing::warn!("what `{slug}` reads cannot be logged: too much waits for the disk");
            return;
        }
        waiting.entries.push((slug.to_owned(), entry));
        waiting.added += 1;
        drop(waiting);
        self.log.changed.notify_all();
    }

    /// The newest entries of an agent, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn newest(&self, slug: &str, limit: usize) -> Result<Vec<String>, StateError> {
        self.flush();
        let newest = self.log.handle.if_there(|opened| {
            let newest = "SELECT entry FROM read_log WHERE slug = ?1 ORDER BY id DESC LIMIT ?2";
            let mut newest = opened.connection.prepare_cached(newest)?;
            newest.query_map(params![slug, limit as i64], |row| row.get(0))?.collect()
        });
        Ok(newest?.unwrap_or_default())
    }

    /// Waits until all that was added is written, or cannot be.
    pub fn flush(&self) {
        let mut waiting = self.log.waiting();
        let until = waiting.added;
        waiting.hurry = waiting.done < until;
        self.log.changed.notify_all();
        let waits = |waiting: &mut WaitingEntries| waiting.done < until;
        let waited = self.log.changed.wait_timeout_while(waiting, PATIENCE, waits);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// Starts the thread with the first entry: whoever only reads needs none.
    fn is_at_work(&self) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let log = Arc::clone(&self.log);
            let started = std::thread::Builder::new().name("read log".into()).spawn(move || log.run());
            *thread = started.inspect_err(|error| tracing::warn!("no thread for the log: {error}")).ok();
        }
        thread.is_some()
    }
}

impl Drop for LogTable {
    fn drop(&mut self) {
        self.log.waiting().closing = true;
        self.log.changed.notify_all();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let _ = thread.map(JoinHandle::join);
    }
}

impl LogQueue {
    fn waiting(&self) -> MutexGuard<'_, WaitingEntries> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let idle = |waiting: &mut WaitingEntries| waiting.entries.is_empty() && !waiting.closing;
            let waiting = self.changed.wait_while(self.waiting(), idle).unwrap_or_else(PoisonError::into_inner);
            let more = |waiting: &mut WaitingEntries| !waiting.hurry && !waiting.closing;
            let gathered = self.changed.wait_timeout_while(waiting, GATHER, more);
            let mut waiting = gathered.unwrap_or_else(PoisonError::into_inner).0;
            let entries = std::mem::take(&mut waiting.entries);
            if entries.is_empty() {
                return;
            }
            waiting.hurry = false;
            drop(waiting);
            let written = self.handle.with(|opened| {
                let transaction = opened.connection.transaction()?;
                write(&transaction, &entries)?;
                transaction.commit()
            });
            if let Err(error) = written {
                tracing::warn!("what agents read cannot be logged ({} entries): {error}", entries.len());
            }
            self.waiting().done += entries.len() as u64;
            self.changed.notify_all();
        }
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
        log.flush();
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
