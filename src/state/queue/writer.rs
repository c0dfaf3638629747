//! Writes the queue, a batch in one transaction.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::batch::{Appended, Batch, Extent, NewEvent};
use super::reader::{event_checksum, keys, signed};
use super::seen::{MAX_SEEN, Seen};
use crate::fs::crash;
use crate::state::error::StateError;
use crate::state::imports::{is_imported, keep_imported};
use crate::state::store::{BUSY_TIMEOUT, Durability, Handle, OpenedState, State};

/// Maximum number of pages of the log that are not in the database. When there are more, they are brought there even
/// while events come.
const MAX_LOG_PAGES: i64 = 4096;
/// Maximum size of the empty pages, in bytes; more are given back to the disk.
const MAX_FREE_BYTES: i64 = 4 << 20;
/// Maximum size of a database that is made anew in memory, in bytes. A larger one is made anew by way of a file.
const MAX_BYTES_IN_MEMORY: i64 = 64 << 20;
/// Maximum time that the log is waited for which somebody else reads, where nobody waits for it to be empty.
const MOMENT: Duration = Duration::from_millis(100);

/// The queue, for whoever writes it, one at a time.
#[derive(Debug)]
pub struct EventQueue {
    handle: Handle,
    seen: Seen,
    extent: Extent,
    /// Something was written since there was time to bring the log into the database.
    dirty: bool,
}

impl EventQueue {
    /// That of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let extent = Extent { first: 1, next: 1, opened: u64::MAX, ..Extent::default() };
        Self { handle: Handle::new(state, Durability::Full), seen: Seen::default(), extent, dirty: true }
    }

    /// How far it is; read from the file when that was opened anew.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn extent(&mut self) -> Result<Extent, StateError> {
        let Self { handle, seen, extent, .. } = self;
        handle.with(|opened| load(opened, seen, extent))?;
        Ok(*extent)
    }

    /// Whether the file is the one that was written last.
    pub fn is_there(&self) -> bool {
        self.handle.is_open()
    }

    /// Does all of a batch, or nothing of it, and returns when that is safe on disk. What only tells how far the files are is safe
    /// after [`EventReader::sync`](super::EventReader::sync), so that who sends events does not wait for that.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn commit(&mut self, batch: &Batch) -> Result<Vec<Appended>, StateError> {
        let Self { handle, seen, extent, dirty, .. } = self;
        handle.with(|opened| {
            load(opened, seen, extent)?;
            let tells = batch.requests.is_empty() && batch.dropped.is_empty() && !batch.sweeps;
            opened.set_durability(if tells { Durability::Later } else { Durability::Full })?;
            let (mut now, mut new) = (*extent, Vec::new());
            let transaction = opened.connection.transaction()?;
            let mut appended = Vec::new();
            for request in &batch.requests {
                appended.push(append(&transaction, request, &mut now, seen, &mut new)?);
            }
            let dropped = remove(&transaction, batch, &mut now)?;
            if let Some(plan) = &batch.plan {
                set_plan(&transaction, plan, now.next)?;
            }
            let first: Option<i64> =
                transaction.prepare_cached("SELECT min(number) FROM events")?.query_row([], |row| row.get(0))?;
            if first.is_none() && !(batch.done.is_empty() && batch.dropped.is_empty()) {
                // Every page of an empty table is overwritten. What was about to be written of it waits no more, either.
                transaction.execute("DELETE FROM events", [])?;
                transaction.execute("DELETE FROM events_plan", [])?;
            }
            now.first = first.map_or(now.next, |first| first as u64);
            if (batch.sweeps || dropped) && first.is_some() {
                transaction.execute("INSERT OR IGNORE INTO events_unswept(id) VALUES (1)", [])?;
                now.unswept = true;
            }
            if batch.sweeps {
                // What else was written over counts, too.
                now.unswept |= is_unswept(&transaction)?;
            }
            if now == *extent && batch.plan.is_none() {
                return Ok(appended);
            }
            if batch.requests.is_empty() {
                crash::point("events-recorded");
            } else {
                crash::point("events-written");
            }
            transaction.commit()?;
            crash::point("events-synced");
            *dirty = true;
            new.iter().for_each(|key| seen.add(*key));
            *extent = now;
            Ok(appended)
        })
    }

    /// Leaves nothing on the disk of what waits no more.
    ///
    /// # Errors
    /// When the disk refuses, or somebody else reads the file for too long.
    pub fn clear(&mut self) -> Result<(), StateError> {
        self.handle.with(|opened| {
            make_anew(&opened.connection)?;
            opened.connection.execute("DELETE FROM events_unswept", [])?;
            empty_log(&opened.connection, BUSY_TIMEOUT)
        })?;
        self.extent.unswept = false;
        Ok(())
    }

    /// Leaves nothing in the log, which holds what was deleted from the database as it was before.
    ///
    /// # Errors
    /// When the disk refuses, or somebody else reads the file for too long.
    pub fn empty_log(&mut self) -> Result<(), StateError> {
        self.handle.with(|opened| empty_log(&opened.connection, BUSY_TIMEOUT))
    }

    /// Brings the log into the database when there is time for it, or when it has grown too long.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn tidy(&mut self, idle: bool) -> Result<(), StateError> {
        let dirty = &mut self.dirty;
        if !*dirty {
            return Ok(());
        }
        self.handle.with(|opened| {
            let connection = &opened.connection;
            if !idle {
                // The length of the file does not tell: it stays when the log begins anew.
                return match pages_in_log(connection)? {
                    ..=MAX_LOG_PAGES => Ok(()),
                    _ => connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())),
                };
            }
            forget_seen(connection)?;
            let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
            if pragma("freelist_count")? * pragma("page_size")? > MAX_FREE_BYTES {
                make_anew(connection)?;
            }
            match empty_log(connection, MOMENT) {
                // Somebody reads; there is always another time.
                Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => Ok(()),
                emptied => {
                    crash::point("state-checkpointed");
                    *dirty = emptied.is_err();
                    emptied
                }
            }
        })
    }
}

/// Reads what memory keeps, when the file was opened anew.
fn load(opened: &OpenedState, seen: &mut Seen, extent: &mut Extent) -> rusqlite::Result<()> {
    if extent.opened == opened.number {
        return Ok(());
    }
    let connection = &opened.connection;
    let mut loaded = Seen::default();
    for select in
        ["SELECT key FROM events_seen ORDER BY id", "SELECT key FROM events WHERE key IS NOT NULL ORDER BY number"]
    {
        keys(connection, select)?.into_iter().for_each(|key| loaded.add(key));
    }
    let whole = "SELECT min(number), max(number), total(length(CAST(body AS BLOB))) FROM events";
    let (first, last, bytes): (Option<i64>, Option<i64>, f64) =
        connection.query_row(whole, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
    let planned: Option<i64> = connection.query_row("SELECT next FROM events_plan", [], |row| row.get(0)).optional()?;
    let unswept = is_unswept(connection)?;
    // No number is given twice: what is being written names some, and so does whoever reads.
    let next = extent.next.max(planned.unwrap_or(0) as u64).max(last.map_or(0, |last| last as u64 + 1));
    *seen = loaded;
    let first = first.map_or(next, |first| first as u64);
    *extent = Extent { first, next, bytes: bytes as u64, opened: opened.number, unswept };
    Ok(())
}

fn is_unswept(connection: &Connection) -> rusqlite::Result<bool> {
    Ok(connection.query_row("SELECT count(*) FROM events_unswept", [], |row| row.get::<_, i64>(0))? > 0)
}

fn append(
    transaction: &Connection,
    request: &[NewEvent],
    now: &mut Extent,
    seen: &Seen,
    new: &mut Vec<u64>,
) -> rusqlite::Result<Appended> {
    let mut accepted = 0;
    // Within a batch the keys of earlier requests are known, too.
    let mut known: HashSet<u64> = new.iter().copied().collect();
    for event in request {
        if let Some(key) = event.key {
            if seen.has(key) || !known.insert(key) || is_imported(transaction, key)? {
                continue;
            }
            match event.import {
                Some(import) => drop(keep_imported(transaction, key, import)?),
                None => new.push(key),
            }
        }
        insert(transaction, now.next, event)?;
        now.next += 1;
        now.bytes += event.body.len() as u64;
        accepted += 1;
    }
    Ok(Appended { accepted, doubles: request.len() - accepted })
}

fn insert(transaction: &Connection, number: u64, event: &NewEvent) -> rusqlite::Result<()> {
    let insert = "INSERT INTO events(number, key, kind, body, checksum) VALUES (?1, ?2, ?3, ?4, ?5)";
    // What is imported is remembered apart, and takes no room among the last keys.
    let key = event.key.filter(|_| event.import.is_none()).map(u64::cast_signed);
    let checksum = event_checksum(signed(number), key, event.kind, &event.body);
    transaction.prepare_cached(insert)?.execute(params![signed(number), key, event.kind, event.body, checksum])?;
    Ok(())
}

/// Removes what waits no more, and remembers its keys; says whether something of what is dropped did.
fn remove(transaction: &Connection, batch: &Batch, now: &mut Extent) -> rusqlite::Result<bool> {
    let mut removed: Vec<(Option<i64>, i64)> = Vec::new();
    let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?));
    for number in &batch.done {
        let delete = "DELETE FROM events WHERE number = ?1 RETURNING key, length(CAST(body AS BLOB))";
        removed.extend(transaction.prepare_cached(delete)?.query_row([signed(*number)], read).optional()?);
    }
    let done = removed.len();
    for kind in &batch.dropped {
        let delete = "DELETE FROM events WHERE kind = ?1 RETURNING key, length(CAST(body AS BLOB))";
        let mut delete = transaction.prepare_cached(delete)?;
        removed.extend(delete.query_map([kind], read)?.collect::<rusqlite::Result<Vec<_>>>()?);
    }
    let dropped = removed.len() > done;
    for (key, bytes) in removed {
        now.bytes = now.bytes.saturating_sub(bytes as u64);
        if let Some(key) = key {
            transaction.prepare_cached("INSERT INTO events_seen(key) VALUES (?1)")?.execute([key])?;
        }
    }
    Ok(dropped)
}

/// Of the keys on disk, those go that memory would not keep.
fn forget_seen(connection: &Connection) -> rusqlite::Result<()> {
    let extent = "SELECT coalesce(max(id), 0), coalesce(max(id) - min(id) + 1, 0) FROM events_seen";
    let (last, count): (i64, i64) = connection.query_row(extent, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    if count > 2 * MAX_SEEN as i64 {
        connection.execute("DELETE FROM events_seen WHERE id <= ?1", [last - MAX_SEEN as i64])?;
    }
    Ok(())
}

fn set_plan(transaction: &Connection, plan: &str, next: u64) -> rusqlite::Result<()> {
    transaction.execute("DELETE FROM events_plan", [])?;
    if !plan.is_empty() {
        let insert = "INSERT INTO events_plan(next, plan) VALUES (?1, ?2)";
        transaction.prepare_cached(insert)?.execute(params![signed(next), plan])?;
    }
    Ok(())
}

/// Writes the whole database anew, without its empty places.
fn make_anew(connection: &Connection) -> rusqlite::Result<()> {
    let pragma = |name| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    let bytes = (pragma("page_count")? - pragma("freelist_count")?) * pragma("page_size")?;
    connection.pragma_update(None, "temp_store", if bytes < MAX_BYTES_IN_MEMORY { "MEMORY" } else { "FILE" })?;
    connection.execute_batch("VACUUM")
}

/// How many pages of the log are not in the database.
fn pages_in_log(connection: &Connection) -> rusqlite::Result<i64> {
    let difference = |row: &rusqlite::Row<'_>| Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?);
    connection.prepare_cached("PRAGMA wal_checkpoint(NOOP)")?.query_row([], difference)
}

/// Brings the log into the database, and leaves nothing in it.
fn empty_log(connection: &Connection, patience: Duration) -> rusqlite::Result<()> {
    connection.busy_timeout(patience)?;
    let emptied = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |row| row.get::<_, i64>(0));
    connection.busy_timeout(BUSY_TIMEOUT)?;
    if emptied? == 0 {
        return Ok(());
    }
    let busy = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY);
    Err(rusqlite::Error::SqliteFailure(busy, Some("somebody else reads it; its log cannot be emptied".into())))
}
