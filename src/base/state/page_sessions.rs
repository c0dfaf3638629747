//! Sessions of the page in browsers, each as the hash of its two secrets.

use std::sync::Arc;

use blake3::Hash;
use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::schema::checksum;
use super::store::{State, StateError};
use super::tokens::Tokens;

/// A session of the page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSession {
    /// Names it where sessions are listed. No secret.
    pub id: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// When it was last used, to the hour.
    pub used_at: Timestamp,
    /// The browser, in short.
    pub browser: String,
    /// BLAKE3 of its cookie and key. `==` takes the same time for every pair.
    pub hash: Hash,
}

/// Those of a vault.
pub type PageSessionTable = Tokens<PageSession>;

/// Made when the first session is: a state of before has no such table, and an archive never has.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS page_sessions(
    id TEXT NOT NULL, made_at INTEGER NOT NULL, used_at INTEGER NOT NULL, browser TEXT NOT NULL, hash TEXT NOT NULL,
    checksum INTEGER NOT NULL) STRICT";
/// Seconds that a session stays without being used.
const IDLE_SECONDS: i64 = 30 * 24 * 3600;
/// Seconds between two notes of its use.
const NOTED_SECONDS: i64 = 3600;
/// Maximum number of sessions; the one that was not used for longest gives way.
const MAX_SESSIONS: i64 = 64;

impl Tokens<PageSession> {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let delete = "DELETE FROM page_sessions WHERE id = ?1";
        Self::of(state, PageSession::all, |row| &row.hash, delete, ("session of the page", "vault open"))
    }

    /// Adds one, and removes those that give way to it.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn add(&self, row: &PageSession) -> Result<(), StateError> {
        let (made, used) = (row.made_at.as_second(), row.used_at.as_second());
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            transaction.execute_batch(TABLE)?;
            let others = "DELETE FROM page_sessions WHERE rowid NOT IN (
                SELECT rowid FROM page_sessions WHERE used_at > ?1 AND id LIKE ?3
                ORDER BY used_at DESC, rowid DESC LIMIT ?2) AND id LIKE ?3";
            // Whoever has a name that begins so has a longer one.
            let of = row.person().map_or_else(|| "%".to_owned(), |person| format!("{person}-{}", "_".repeat(ID_CHARS)));
            transaction.execute(others, params![made - IDLE_SECONDS, MAX_SESSIONS - 1, of])?;
            let all = params![row.id, made, used, row.browser, &*row.hash.to_hex(), row.checksum()];
            transaction.execute("INSERT INTO page_sessions VALUES (?1, ?2, ?3, ?4, ?5, ?6)", all)?;
            transaction.commit()
        })
    }

    /// The session of a hash, if it is open; that is noted as its use, unless the disk is full.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn used(&self, hash: &Hash, now: Timestamp) -> Result<Option<PageSession>, StateError> {
        let Some(row) = self.holder(hash)?.filter(|row| row.is_open(now)) else { return Ok(None) };
        if now.as_second() - row.used_at.as_second() < NOTED_SECONDS {
            return Ok(Some(row));
        }
        let row = PageSession { used_at: now, ..row };
        let update = "UPDATE page_sessions SET used_at = ?1, checksum = ?2 WHERE id = ?3";
        if let Err(error) = self.handle.execute(update, params![now.as_second(), row.checksum(), row.id]) {
            tracing::warn!("the use of a session of the page was not noted: {error}");
        }
        Ok(Some(row))
    }
}

/// Characters of an id that tell sessions apart.
const ID_CHARS: usize = 8;

impl PageSession {
    /// The id of a session of somebody, or of the one person that a vault has, whose name is empty.
    pub(crate) fn id_of(person: &str, random: &str) -> String {
        let random: String = random.chars().take(ID_CHARS).collect();
        if person.is_empty() { random } else { format!("{person}-{random}") }
    }

    /// Whose it is, on a server of several people.
    pub(crate) fn person(&self) -> Option<&str> {
        self.id.rsplit_once('-').map(|(person, _)| person)
    }

    /// Whether it was used lately enough.
    pub fn is_open(&self, now: Timestamp) -> bool {
        now.as_second() - self.used_at.as_second() < IDLE_SECONDS
    }

    fn all(connection: &Connection) -> rusqlite::Result<Vec<Option<Self>>> {
        connection.execute_batch(TABLE)?;
        let rows = "SELECT id, made_at, used_at, browser, hash, checksum FROM page_sessions ORDER BY rowid";
        let mut rows = connection.prepare_cached(rows)?;
        rows.query_map([], Self::read)?.collect()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (made, used) = (Timestamp::from_second(row.get(1)?), Timestamp::from_second(row.get(2)?));
        let (Ok(made_at), Ok(used_at), Ok(hash)) = (made, used, Hash::from_hex(row.get::<_, String>(4)?)) else {
            return Ok(None);
        };
        let read = Self { id: row.get(0)?, made_at, used_at, browser: row.get(3)?, hash };
        Ok((read.checksum() == row.get::<_, i64>(5)?).then_some(read))
    }

    fn checksum(&self) -> i64 {
        let (made, used) = (self.made_at.as_second().to_le_bytes(), self.used_at.as_second().to_le_bytes());
        checksum(&[self.id.as_bytes(), &made, &used, self.browser.as_bytes(), self.hash.as_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    fn row(id: &str, second: i64) -> PageSession {
        let hash = blake3::hash(id.as_bytes());
        PageSession { id: id.into(), made_at: at(second), used_at: at(second), browser: "Firefox".into(), hash }
    }

    #[test]
    fn a_session_outlives_its_process_and_ends_when_it_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let table = || PageSessionTable::new(&State::in_folder(folder.path()));
        let (one, hash) = (row("one", 0), row("one", 0).hash);
        assert_eq!(table().used(&hash, at(0)).unwrap(), None);
        table().add(&one).unwrap();
        assert_eq!(table().used(&hash, at(9)).unwrap(), Some(one), "it is noted once an hour");
        let almost = IDLE_SECONDS - 1;
        assert!(table().used(&hash, at(almost)).unwrap().is_some());
        assert!(table().used(&hash, at(almost * 2)).unwrap().is_some(), "its use made it last");
        assert!(table().used(&hash, at(almost * 2 + IDLE_SECONDS)).unwrap().is_none());
        assert!(table().remove("one").unwrap() && !table().remove("one").unwrap());
        assert!(table().used(&hash, at(almost * 2)).unwrap().is_none());
    }

    #[test]
    fn there_are_never_more_than_so_many_and_no_dead_ones() {
        let folder = tempfile::tempdir().unwrap();
        let table = PageSessionTable::new(&State::in_folder(folder.path()));
        for number in 0..=MAX_SESSIONS {
            table.add(&row(&number.to_string(), number)).unwrap();
        }
        let ids: Vec<String> = table.list().unwrap().into_iter().map(|row| row.id).collect();
        assert_eq!((ids.len(), ids[0].as_str()), (64, "1"), "the oldest gave way");
        table.add(&row("late", IDLE_SECONDS * 2)).unwrap();
        assert_eq!(table.list().unwrap().len(), 1);
    }

    #[test]
    fn a_row_that_was_changed_by_another_hand_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let table = PageSessionTable::new(&state);
        table.add(&row("one", 0)).unwrap();
        let hand = Connection::open(state.file()).unwrap();
        hand.execute("UPDATE page_sessions SET used_at = used_at + 1", []).unwrap();
        assert_eq!(table.used(&row("one", 0).hash, at(1)).unwrap(), None);
        assert!(state.trouble().unwrap().contains("1 session of the page is damaged"));
    }
}
