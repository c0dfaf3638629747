//! Events that are accepted and not yet in their files, in the order they came, with what was there before and what is being
//! written right now.
//!
//! What is deleted is overwritten, and more than that: SQLite moves rows between pages, and where a row was there may be a copy
//! of it after it is deleted. An empty table has no such places, and [`EventQueue::clear`] makes the file anew without them.

use std::collections::HashSet;
use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension, params};

use super::schema::checksum;
use super::sources::{is_imported, keep_imported};
use super::store::{BUSY_TIMEOUT, Durability, Handle, OpenedState, State, StateError};
use crate::base::fs::{Context, crash};

/// Maximum number of keys that are remembered.
const MAX_SEEN: i64 = 100_000;
/// Maximum number of pages of the log that are not in the database. When there are more, they are brought there even
/// while events come.
const MAX_LOG_PAGES: i64 = 4096;
/// Maximum size of the empty pages, in bytes; more are given back to the disk.
const MAX_FREE_BYTES: i64 = 4 << 20;
/// Maximum size of a database that is made anew in memory, in bytes. A larger one is made anew by way of a file.
const MAX_BYTES_IN_MEMORY: i64 = 64 << 20;
/// Maximum time that the log is waited for which somebody else reads, where nobody waits for it to be empty.
const MOMENT: Duration = Duration::from_millis(100);

/// An event that is to be kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Tells it from all others, when its sender named it.
    pub key: Option<u64>,
    /// The import that brings it, which remembers its key for good.
    pub import: Option<i64>,
    /// What it is, so that all of a kind can be dropped.
    pub kind: &'static str,
    /// The event.
    pub body: String,
}

/// An event that waits: its place in the order, which no other has, nor one that what is being written right now names; and itself, if the row
/// holds what was written into it.
pub type WaitingEvent = (u64, Option<String>);

/// How far a queue is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Extent {
    /// The number of the first event that waits, or of the next to come.
    pub first: u64,
    /// The number of the next to come.
    pub next: u64,
    /// Bytes of those that wait.
    pub bytes: u64,
    /// Tells one opening of the file from another.
    pub opened: u64,
    /// Copies of what waits no more may be left among what does, and were to go: see [`clear`](EventQueue::clear).
    pub unswept: bool,
}

impl Extent {
    /// How many wait, with those in between that do not any more.
    pub fn pending(&self) -> u64 {
        self.next.saturating_sub(self.first)
    }
}

/// What belongs into one transaction.
#[derive(Debug, Clone, Default)]
pub struct Batch {
    /// New events.
    pub events: Vec<NewEvent>,
    /// The numbers of events that are in their files, and wait no more.
    pub done: Vec<u64>,
    /// What is about to be written, if that is another now; empty when nothing is.
    pub plan: Option<String>,
    /// Kinds of which nothing waits any more.
    pub dropped: Vec<&'static str>,
    /// Copies of what waits no more are to go. Of what is dropped they are in any case.
    pub sweeps: bool,
}

/// The queue, for whoever reads it while it is written.
#[derive(Debug)]
pub struct EventReader {
    handle: Handle,
    log: PathBuf,
}

impl EventReader {
    /// That of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self { handle: Handle::new(state, Durability::Full), log: state.log() }
    }

    /// Makes safe on disk what was committed before, beside whoever commits something.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn sync(&self) -> Result<(), StateError> {
        match File::open(&self.log).and_then(|log| log.sync_data()) {
            // All of it is in the database, which was synced then.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            synced => Ok(synced.on("sync", &self.log)?),
        }
    }

    /// The events from a number on and before another, up to so many, and up to so many bytes or one.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn read(
        &self,
        from: u64,
        until: u64,
        max_events: usize,
        max_bytes: usize,
    ) -> Result<Vec<WaitingEvent>, StateError> {
        let read = self.handle.if_there(|opened| {
            let select = "SELECT number, key, kind, body, checksum FROM events
                WHERE number >= ?1 AND number < ?2 ORDER BY number LIMIT ?3";
            let mut select = opened.connection.prepare_cached(select)?;
            let mut rows = select.query(params![signed(from), signed(until), max_events as i64])?;
            let (mut found, mut bytes) = (Vec::new(), 0);
            while let Some(row) = rows.next()? {
                let event = read(row)?;
                bytes += event.1.as_ref().map_or(0, String::len);
                found.push(event);
                if bytes >= max_bytes {
                    break;
                }
            }
            Ok(found)
        });
        let read = read?.unwrap_or_default();
        let damaged = read.iter().filter(|(_, body)| body.is_none()).map(|(number, _)| number.to_string());
        let damaged: Vec<String> = damaged.collect();
        if !damaged.is_empty() {
            let (state, damaged) = (self.handle.state(), damaged.join(", "));
            let file = state.file().display();
            state.say(format!("{file}: captured events are damaged and left out (number {damaged})"));
        }
        Ok(read)
    }

    /// What is being written, as it was recorded last.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn plan(&self) -> Result<Option<String>, StateError> {
        let plan = "SELECT plan FROM events_plan";
        self.handle.row(plan, &[], |row| row.get(0))
    }

    /// How many events wait.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn count(&self) -> Result<u64, StateError> {
        let count = self.handle.row("SELECT count(*) FROM events", &[], |row| row.get::<_, i64>(0))?;
        Ok(count.map_or(0, i64::cast_unsigned))
    }
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<WaitingEvent> {
    let (number, key): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
    // What was damaged may be of another type, or no text.
    let sound = || -> Option<String> {
        let (kind, body): (String, String) = (row.get(2).ok()?, row.get(3).ok()?);
        (event_checksum(number, key, &kind, &body) == row.get::<_, i64>(4).ok()?).then_some(body)
    };
    Ok((number.cast_unsigned(), sound()))
}

pub(super) fn event_checksum(number: i64, key: Option<i64>, kind: &str, body: &str) -> i64 {
    let key = key.map_or_else(Vec::new, |key| key.to_le_bytes().to_vec());
    checksum(&[&number.to_le_bytes(), &key, kind.as_bytes(), body.as_bytes()])
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The queue, for whoever writes it, one at a time.
#[derive(Debug)]
pub struct EventQueue {
    handle: Handle,
    /// The keys of the last events that had an id.
    seen: HashSet<u64>,
    extent: Extent,
    /// Something was written since there was time to bring the log into the database.
    dirty: bool,
}

impl EventQueue {
    /// That of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let extent = Extent { first: 1, next: 1, opened: u64::MAX, ..Extent::default() };
        Self { handle: Handle::new(state, Durability::Full), seen: HashSet::new(), extent, dirty: true }
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

    /// Does all of a batch, or nothing of it, and returns when that is safe on disk: how many of its events were new. What only tells how far
    /// the files are is safe after [`EventReader::sync`], so that who sends events does not wait for that.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn commit(&mut self, batch: &Batch) -> Result<usize, StateError> {
        let Self { handle, seen, extent, dirty, .. } = self;
        handle.with(|opened| {
            load(opened, seen, extent)?;
            let tells = batch.events.is_empty() && batch.dropped.is_empty() && !batch.sweeps;
            opened.set_durability(if tells { Durability::Later } else { Durability::Full })?;
            let (before, mut now) = (*extent, *extent);
            // Until it is committed what memory has is not what the file has: it is read anew where that fails.
            extent.opened = u64::MAX;
            let transaction = opened.connection.transaction()?;
            let appended = append(&transaction, &batch.events, &mut now, seen)?;
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
            if now == before && batch.plan.is_none() {
                *extent = now;
                return Ok(appended);
            }
            if batch.events.is_empty() {
                crash::point("events-recorded");
            } else {
                crash::point("events-written");
            }
            transaction.commit()?;
            crash::point("events-synced");
            *dirty = true;
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
            opened.connection.execute("DELETE FROM events_unswept", [])
        })?;
        self.empty_log()?;
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
        let Self { handle, extent, dirty, .. } = self;
        if !*dirty {
            return Ok(());
        }
        handle.with(|opened| {
            let connection = &opened.connection;
            if forget_seen(connection)? {
                // What memory has is read anew.
                extent.opened = u64::MAX;
            }
            if !idle {
                // The length of the file does not tell: it stays when the log begins anew.
                return match pages_in_log(connection)? {
                    ..=MAX_LOG_PAGES => Ok(()),
                    _ => connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(())),
                };
            }
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
fn load(opened: &OpenedState, seen: &mut HashSet<u64>, extent: &mut Extent) -> rusqlite::Result<()> {
    if extent.opened == opened.number {
        return Ok(());
    }
    let connection = &opened.connection;
    let keys = "SELECT key FROM events_seen UNION ALL SELECT key FROM events WHERE key IS NOT NULL";
    let loaded =
        connection.prepare(keys)?.query_map([], |row| row.get(0).map(i64::cast_unsigned))?.collect::<Result<_, _>>()?;
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
    events: &[NewEvent],
    now: &mut Extent,
    seen: &mut HashSet<u64>,
) -> rusqlite::Result<usize> {
    let mut accepted = 0;
    for event in events {
        let is_new = match (event.key, event.import) {
            (None, _) => true,
            (Some(key), Some(import)) => !seen.contains(&key) && keep_imported(transaction, key, import)?,
            (Some(key), None) => !is_imported(transaction, key)? && seen.insert(key),
        };
        if !is_new {
            continue;
        }
        insert(transaction, now.next, event)?;
        now.next += 1;
        now.bytes += event.body.len() as u64;
        accepted += 1;
    }
    Ok(accepted)
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

/// Forgets the oldest keys, where there are far too many; says whether there were.
fn forget_seen(connection: &Connection) -> rusqlite::Result<bool> {
    let extent = "SELECT coalesce(max(id), 0), coalesce(max(id) - min(id) + 1, 0) FROM events_seen";
    let (last, count): (i64, i64) = connection.query_row(extent, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
    let too_many = count > 2 * MAX_SEEN;
    if too_many {
        connection.execute("DELETE FROM events_seen WHERE id <= ?1", [last - MAX_SEEN])?;
    }
    Ok(too_many)
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
    Err(rusqlite::Error::SqliteFailure(busy, Some("another process reads it; its log cannot be emptied".into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(key: Option<u64>, kind: &'static str, body: &str) -> NewEvent {
        NewEvent { key, import: None, kind, body: body.into() }
    }

    fn append(queue: &mut EventQueue, events: Vec<NewEvent>) -> usize {
        queue.commit(&Batch { events, ..Batch::default() }).unwrap()
    }

    fn done(queue: &mut EventQueue, done: Vec<u64>) {
        queue.commit(&Batch { done, ..Batch::default() }).unwrap();
    }

    fn waiting(state: &Arc<State>) -> Vec<(u64, String)> {
        let events = EventReader::new(state).read(0, u64::MAX, 100_000, usize::MAX).unwrap();
        events.into_iter().map(|(number, body)| (number, body.unwrap())).collect()
    }

    #[test]
    fn what_is_done_waits_no_more_and_its_key_is_known_across_a_start() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let mut queue = EventQueue::new(&state);
        let first =
            append(&mut queue, vec![event(Some(7), "a", "one"), event(None, "b", "two"), event(Some(7), "a", "x")]);
        assert_eq!(first, 2);
        let third = Batch { events: vec![event(Some(8), "a", "three")], ..Batch::default() };
        assert_eq!([queue.commit(&third).unwrap(), queue.commit(&third).unwrap()], [1, 0]);
        queue.commit(&Batch { done: vec![1], plan: Some("plan".into()), ..Batch::default() }).unwrap();
        assert_eq!(waiting(&state), [(2, "two".into()), (3, "three".into())]);
        assert_eq!(queue.extent().unwrap(), Extent { first: 2, next: 4, bytes: 8, ..queue.extent().unwrap() });
        done(&mut queue, vec![3]);
        drop(queue);
        let mut queue = EventQueue::new(&state);
        let extent = queue.extent().unwrap();
        assert_eq!((extent.first, extent.next, extent.bytes), (2, 4, 3), "the plan names what was before");
        assert_eq!(EventReader::new(&state).plan().unwrap().as_deref(), Some("plan"));
        assert_eq!(append(&mut queue, vec![event(Some(7), "a", "one"), event(Some(8), "a", "three")]), 0);
        queue.commit(&Batch { dropped: vec!["b"], ..Batch::default() }).unwrap();
        assert_eq!((waiting(&state), EventReader::new(&state).plan().unwrap()), (vec![], None));
    }

    #[test]
    fn the_last_keys_are_remembered_and_the_others_go() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let mut queue = EventQueue::new(&state);
        for part in 0..5 {
            let events = (part * 50_000..(part + 1) * 50_000).map(|key| event(Some(key), "a", "x")).collect();
            append(&mut queue, events);
            let extent = queue.extent().unwrap();
            done(&mut queue, (extent.first..extent.next).collect());
        }
        queue.tidy(true).unwrap();
        drop(queue);
        let mut queue = EventQueue::new(&state);
        let key = |key| vec![event(Some(key), "a", "x")];
        assert_eq!(append(&mut queue, key(249_999)) + append(&mut queue, key(150_000)), 0);
        assert_eq!(append(&mut queue, key(149_999)), 1);
        let seen = "SELECT count(*) FROM events_seen";
        let seen = Connection::open(state.file()).unwrap().query_row(seen, [], |row| row.get::<_, i64>(0));
        assert_eq!(seen.unwrap(), MAX_SEEN);
    }

    /// SQLite's own `secure_delete` does not hold this.
    #[test]
    fn nothing_of_what_is_gone_is_left_on_the_disk() {
        let mut random = 11_u64;
        let mut roll = move |sides: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % sides
        };
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let mut queue = EventQueue::new(&state);
        let word = |number: u64| format!("<{number:06}>");
        for round in 0..25 {
            let lengths = [10, 60, 300, 900, 1500, 3000, 9000];
            let next = queue.extent().unwrap().next;
            let events = (0..20 + roll(60)).map(|at| {
                let filling = "x".repeat(lengths[roll(7) as usize]);
                event(None, ["a", "b"][roll(2) as usize], &format!("{0}{filling}{0}", word(next + at)))
            });
            append(&mut queue, events.collect());
            let there: Vec<u64> = waiting(&state).into_iter().map(|(number, _)| number).collect();
            let gone = there.iter().copied().filter(|_| round % 8 == 7 || roll(2) == 0).collect();
            done(&mut queue, gone);
            // While all of it is gone, an idle moment is enough.
            if round % 8 == 7 {
                queue.tidy(true).unwrap()
            } else {
                queue.clear().unwrap()
            }
            let kept: HashSet<u64> = waiting(&state).into_iter().map(|(number, _)| number).collect();
            let next = queue.extent().unwrap().next;
            for file in std::fs::read_dir(folder.path()).unwrap() {
                let path = file.unwrap().path();
                let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
                for number in (1..next).filter(|number| !kept.contains(number)) {
                    assert!(!text.contains(&word(number)), "{number} in {} after round {round}", path.display());
                }
            }
        }
    }

    #[test]
    fn a_row_that_was_damaged_is_told_from_one_that_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let mut queue = EventQueue::new(&state);
        append(&mut queue, vec![event(None, "a", "one"), event(None, "a", "two")]);
        let hand = Connection::open(state.file()).unwrap();
        hand.execute("UPDATE events SET body = 'others' WHERE number = 1", []).unwrap();
        let bodies = EventReader::new(&state).read(0, 9, 9, 99).unwrap().into_iter().map(|(_, body)| body);
        assert_eq!(bodies.collect::<Vec<_>>(), [None, Some("two".into())]);
        assert!(state.trouble().is_some_and(|said| said.contains("left out (number 1)")), "{:?}", state.trouble());
    }

    /// Frames of the log, and how many of them are in the database.
    fn log(state: &Arc<State>) -> (i64, i64) {
        let hand = Connection::open(state.file()).unwrap();
        hand.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap()
    }

    #[test]
    fn a_log_that_was_long_once_does_not_keep_every_later_event_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let mut queue = EventQueue::new(&state);
        let long = "x".repeat(3500);
        append(&mut queue, (0..6000).map(|_| event(None, "a", &long)).collect());
        queue.tidy(false).unwrap();
        let (frames, moved) = log(&state);
        assert!(frames > 4096 && moved == frames, "{frames} {moved}");
        for _ in 0..3 {
            append(&mut queue, vec![event(None, "a", "short")]);
            queue.tidy(false).unwrap();
        }
        let (frames, moved) = log(&state);
        assert!(frames > 0 && frames < 100 && moved == 0, "it begins anew and is left alone: {frames} {moved}");
    }

    #[test]
    fn a_log_that_somebody_reads_is_emptied_when_they_are_done() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let mut queue = EventQueue::new(&state);
        append(&mut queue, vec![event(None, "a", "before")]);
        let reader = Connection::open(state.file()).unwrap();
        reader.execute_batch("BEGIN; SELECT * FROM events").unwrap();
        append(&mut queue, vec![event(None, "a", "after")]);
        queue.tidy(true).unwrap();
        assert!(log(&state).0 > 0);
        reader.execute_batch("COMMIT").unwrap();
        queue.tidy(true).unwrap();
        assert_eq!(log(&state).0, 0);
    }
}
