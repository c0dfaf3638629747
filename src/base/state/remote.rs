//! What remote assistants were granted: for each consent a row, with the hashes of the two secrets that count for it now.

use std::sync::Arc;

use blake3::Hash;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};

use super::schema::checksum;
use super::store::{State, StateError};
use super::tokens::Tokens;

/// What a person has let one client do, as one agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteGrant {
    /// Random. Its tickets begin with it, so that one which counts no more still names it.
    pub id: String,
    /// BLAKE3 of the access token. `==` takes the same time for every pair.
    pub access: Hash,
    /// All else.
    pub terms: RemoteTerms,
}

/// What a grant is bound to, and how long its secrets count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RemoteTerms {
    /// The agent.
    pub slug: String,
    /// The hash of the agent's own token, in hexadecimal: an agent that was removed and made again is another.
    pub agent: String,
    /// The id of the client.
    pub client: String,
    /// The address that the code was sent to.
    pub redirect: String,
    /// The challenge that the code's verifier has to meet.
    pub challenge: String,
    /// The address for which the tokens count.
    pub resource: String,
    /// The hash of the one ticket that brings the next tokens, in hexadecimal: first the code, then each refresh token.
    pub ticket: String,
    /// Whether that is the code.
    pub is_code: bool,
    /// Until when the ticket counts.
    pub ticket_until: Timestamp,
    /// Until when the access token counts.
    pub access_until: Timestamp,
}

/// Those of a vault.
pub type RemoteGrantTable = Tokens<RemoteGrant>;

/// Made when the first is granted: a state of before has no such table, and an archive never has.
const TABLE: &str = "CREATE TABLE IF NOT EXISTS remote_grants(
    id TEXT NOT NULL, access TEXT NOT NULL, terms TEXT NOT NULL, checksum INTEGER NOT NULL) STRICT";
/// Maximum number of grants; the oldest gives way.
const MAX_GRANTS: i64 = 64;

impl Tokens<RemoteGrant> {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let delete = "DELETE FROM remote_grants WHERE id = ?1";
        Self::of(state, RemoteGrant::all, |row| &row.access, delete, ("grant of a remote assistant", "its own sign-in"))
    }

    /// Adds one, and removes those that are over.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn add(&self, grant: &RemoteGrant, now: Timestamp) -> Result<(), StateError> {
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            transaction.execute_batch(TABLE)?;
            for old in RemoteGrant::all(&transaction)?.into_iter().flatten().filter(|old| old.terms.ticket_until < now)
            {
                transaction.execute("DELETE FROM remote_grants WHERE id = ?1", [&old.id])?;
            }
            let others = "DELETE FROM remote_grants WHERE rowid NOT IN (
                SELECT rowid FROM remote_grants ORDER BY rowid DESC LIMIT ?1)";
            transaction.execute(others, [MAX_GRANTS - 1])?;
            grant.insert(&transaction)?;
            transaction.commit()
        })
    }

    /// Puts what `next` makes of a grant in its place, or ends it where that is nothing; says what it now is. Of two that come with the same
    /// ticket one is first.
    ///
    /// # Errors
    /// When the state cannot be read or written.
    pub fn change(
        &self,
        id: &str,
        next: impl Fn(RemoteGrant) -> Option<RemoteGrant>,
    ) -> Result<Option<RemoteGrant>, StateError> {
        let changed = self.handle.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            transaction.execute_batch(TABLE)?;
            let select = "SELECT id, access, terms, checksum FROM remote_grants WHERE id = ?1";
            let Some(before) = transaction.query_row(select, [id], RemoteGrant::read).optional()? else {
                return Ok(None);
            };
            transaction.execute("DELETE FROM remote_grants WHERE id = ?1", [id])?;
            let after = before.and_then(&next);
            after.iter().try_for_each(|grant| grant.insert(&transaction))?;
            transaction.commit().map(|()| after)
        });
        Ok(changed?.flatten())
    }
}

impl RemoteGrant {
    fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        let terms = serde_json::to_string(&self.terms).unwrap_or_default();
        let access = self.access.to_hex();
        let all = params![self.id, &*access, terms, Self::checksum(&self.id, &access, &terms)];
        connection.execute("INSERT INTO remote_grants VALUES (?1, ?2, ?3, ?4)", all).map(drop)
    }

    fn all(connection: &Connection) -> rusqlite::Result<Vec<Option<Self>>> {
        connection.execute_batch(TABLE)?;
        let rows = "SELECT id, access, terms, checksum FROM remote_grants ORDER BY rowid";
        let mut rows = connection.prepare_cached(rows)?;
        rows.query_map([], Self::read)?.collect()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (id, access, terms): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let sound = Self::checksum(&id, &access, &terms) == row.get::<_, i64>(3)?;
        let read = (Hash::from_hex(&access).ok(), serde_json::from_str(&terms).ok());
        let (Some(access), Some(terms)) = read else { return Ok(None) };
        Ok(sound.then_some(Self { id, access, terms }))
    }

    fn checksum(id: &str, access: &str, terms: &str) -> i64 {
        checksum(&[id.as_bytes(), access.as_bytes(), terms.as_bytes()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(id: &str, until: i64) -> RemoteGrant {
        let until = Timestamp::from_second(1_800_000_000 + until).unwrap();
        let text = || "x".to_owned();
        let terms = RemoteTerms {
            slug: text(),
            agent: text(),
            client: text(),
            redirect: text(),
            challenge: text(),
            resource: text(),
            ticket: text(),
            is_code: true,
            ticket_until: until,
            access_until: until,
        };
        RemoteGrant { id: id.into(), access: blake3::hash(id.as_bytes()), terms }
    }

    #[test]
    fn a_grant_outlives_its_process_and_changes_once() {
        let folder = tempfile::tempdir().unwrap();
        let table = || RemoteGrantTable::new(&State::in_folder(folder.path()));
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        assert_eq!(table().change("one", Some).unwrap(), None);
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "nothing is made where nobody asks");
        table().add(&grant("one", 9), now).unwrap();
        assert_eq!(table().holder(&grant("one", 9).access).unwrap(), Some(grant("one", 9)));
        let other = |before: RemoteGrant| Some(RemoteGrant { access: blake3::hash(b"two"), ..before });
        assert!(table().change("one", other).unwrap().is_some());
        assert_eq!(table().holder(&grant("one", 9).access).unwrap(), None);
        assert_eq!(table().change("one", |_| None).unwrap(), None);
        assert!(table().list().unwrap().is_empty());
    }

    #[test]
    fn there_are_never_many_and_what_is_over_goes() {
        let folder = tempfile::tempdir().unwrap();
        let table = RemoteGrantTable::new(&State::in_folder(folder.path()));
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        for number in 0..=MAX_GRANTS {
            table.add(&grant(&number.to_string(), number), now).unwrap();
        }
        assert_eq!((table.list().unwrap().len(), table.list().unwrap()[0].id.as_str()), (64, "1"));
        table.add(&grant("late", 999), Timestamp::from_second(1_800_000_100).unwrap()).unwrap();
        assert_eq!(table.list().unwrap().len(), 1);
    }
}
