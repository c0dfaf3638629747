//! Links that show one note to whoever has them, each as the hash of its secret.

use std::sync::Arc;

use blake3::Hash;
use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::schema::checksum;
use super::store::{State, StateError};
use super::tokens::Tokens;

/// A link that shows one note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareLink {
    /// Names it where links are listed. No secret.
    pub id: String,
    /// The note.
    pub path: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// Until when it counts.
    pub until: Timestamp,
    /// BLAKE3 of its secret. `==` takes the same time for every pair.
    pub hash: Hash,
}

/// Those of a vault.
pub type ShareLinkTable = Tokens<ShareLink>;

/// Made when the first link is: a state of before has no such table, and an archive never has.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS share_links(
    id TEXT NOT NULL, path TEXT NOT NULL, made_at INTEGER NOT NULL, until INTEGER NOT NULL, hash TEXT NOT NULL,
    checksum INTEGER NOT NULL) STRICT";
/// Maximum number of links; the oldest gives way.
const MAX_LINKS: i64 = 256;

impl Tokens<ShareLink> {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let delete = "DELETE FROM share_links WHERE id = ?1";
        Self::of(state, ShareLink::all, |row| &row.hash, delete, ("shared link", "vault share"))
    }

    /// Adds one, and removes those that are over.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn add(&self, link: &ShareLink) -> Result<(), StateError> {
        let (made, until) = (link.made_at.as_second(), link.until.as_second());
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            transaction.execute_batch(TABLE)?;
            let others = "DELETE FROM share_links WHERE until <= ?1 OR rowid NOT IN (
                SELECT rowid FROM share_links ORDER BY rowid DESC LIMIT ?2)";
            transaction.execute(others, params![made, MAX_LINKS - 1])?;
            let all = params![link.id, link.path, made, until, &*link.hash.to_hex(), link.checksum()];
            transaction.execute("INSERT INTO share_links VALUES (?1, ?2, ?3, ?4, ?5, ?6)", all)?;
            transaction.commit()
        })
    }
}

impl ShareLink {
    fn all(connection: &Connection) -> rusqlite::Result<Vec<Option<Self>>> {
        connection.execute_batch(TABLE)?;
        let rows = "SELECT id, path, made_at, until, hash, checksum FROM share_links ORDER BY rowid";
        let mut rows = connection.prepare_cached(rows)?;
        rows.query_map([], Self::read)?.collect()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (made, until) = (Timestamp::from_second(row.get(2)?), Timestamp::from_second(row.get(3)?));
        let (Ok(made_at), Ok(until), Ok(hash)) = (made, until, Hash::from_hex(row.get::<_, String>(4)?)) else {
            return Ok(None);
        };
        let read = Self { id: row.get(0)?, path: row.get(1)?, made_at, until, hash };
        Ok((read.checksum() == row.get::<_, i64>(5)?).then_some(read))
    }

    fn checksum(&self) -> i64 {
        let (made, until) = (self.made_at.as_second().to_le_bytes(), self.until.as_second().to_le_bytes());
        checksum(&[self.id.as_bytes(), self.path.as_bytes(), &made, &until, self.hash.as_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_outlives_its_process_until_it_is_over_and_there_are_never_many() {
        let folder = tempfile::tempdir().unwrap();
        let table = || ShareLinkTable::new(&State::in_folder(folder.path()));
        let at = |second: i64| Timestamp::from_second(1_800_000_000 + second).unwrap();
        let link = |id: i64, made: i64, until: i64| ShareLink {
            id: id.to_string(),
            path: "notes/a.md".into(),
            made_at: at(made),
            until: at(until),
            hash: blake3::hash(&id.to_le_bytes()),
        };
        table().add(&link(0, 0, 9)).unwrap();
        assert_eq!(table().holder(&link(0, 0, 9).hash).unwrap(), Some(link(0, 0, 9)));
        for id in 1..=MAX_LINKS {
            table().add(&link(id, 9, 99)).unwrap();
        }
        let all = table().list().unwrap();
        assert_eq!((all.len() as i64, all[0].id.as_str()), (MAX_LINKS, "1"), "the one that was over is gone");
        table().add(&link(MAX_LINKS + 1, 9, 99)).unwrap();
        assert_eq!(table().list().unwrap()[0].id, "2", "the oldest gives way");
        assert!(table().remove("2").unwrap() && !table().remove("2").unwrap());
        let hand = Connection::open(State::in_folder(folder.path()).file()).unwrap();
        hand.execute("UPDATE share_links SET path = 'diary.md'", []).unwrap();
        assert!(table().list().unwrap().is_empty(), "no other hand says what is shown");
    }
}
