//! Reads the queue while it is written.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension, params};

use super::batch::WaitingEvent;
use crate::fs::Context;
use crate::state::error::StateError;
use crate::state::schema::checksum;
use crate::state::store::{Durability, Handle, State};

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
                bytes += event.body.as_ref().map_or(0, String::len);
                found.push(event);
                if bytes >= max_bytes {
                    break;
                }
            }
            Ok(found)
        });
        let read = read?.unwrap_or_default();
        let damaged = read.iter().filter(|event| event.body.is_none()).map(|event| event.number.to_string());
        let damaged: Vec<String> = damaged.collect();
        if !damaged.is_empty() {
            let (state, damaged) = (self.handle.state(), damaged.join(", "));
            let file = state.file().display();
            state.say(format!("{file}: captured events are damaged, and left out (number {damaged})"));
        }
        Ok(read)
    }

    /// What is being written, as it was recorded last.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn plan(&self) -> Result<Option<String>, StateError> {
        Ok(self.handle.if_there(|opened| plan_of(&opened.connection))?.flatten())
    }

    /// How many events wait.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn count(&self) -> Result<u64, StateError> {
        let count = "SELECT count(*) FROM events";
        let count =
            self.handle.if_there(|opened| opened.connection.query_row(count, [], |row| row.get::<_, i64>(0)))?;
        Ok(count.map_or(0, i64::cast_unsigned))
    }
}

pub(super) fn plan_of(connection: &Connection) -> rusqlite::Result<Option<String>> {
    connection.query_row("SELECT plan FROM events_plan", [], |row| row.get(0)).optional()
}

pub(super) fn keys(connection: &Connection, select: &str) -> rusqlite::Result<Vec<u64>> {
    connection.prepare(select)?.query_map([], |row| row.get::<_, i64>(0).map(i64::cast_unsigned))?.collect()
}

fn read(row: &rusqlite::Row<'_>) -> rusqlite::Result<WaitingEvent> {
    let (number, key): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
    // What was damaged may be of another type, or no text.
    let sound = || -> Option<String> {
        let (kind, body): (String, String) = (row.get(2).ok()?, row.get(3).ok()?);
        (event_checksum(number, key, &kind, &body) == row.get::<_, i64>(4).ok()?).then_some(body)
    };
    Ok(WaitingEvent { number: number.cast_unsigned(), key: key.map(i64::cast_unsigned), body: sound() })
}

pub(in crate::state) fn event_checksum(number: i64, key: Option<i64>, kind: &str, body: &str) -> i64 {
    let key = key.map_or_else(Vec::new, |key| key.to_le_bytes().to_vec());
    checksum(&[&number.to_le_bytes(), &key, kind.as_bytes(), body.as_bytes()])
}

pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
