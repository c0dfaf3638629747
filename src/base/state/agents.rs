//! Tokens of agents, as hashes, and what is known of each.

use std::sync::Arc;

use blake3::Hash;
use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, Row, params};

use super::error::StateError;
use super::schema::checksum;
use super::store::{Durability, Handle, State};
use super::tokens::{Known, with_hash};

/// A token that was given to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentRow {
    /// The agent.
    pub slug: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// BLAKE3 of the token. `==` takes the same time for every pair.
    pub hash: Hash,
    /// With whom the agent talks in the session that the token is bound to.
    pub chat_type: Option<String>,
    /// Through which service.
    pub channel: Option<String>,
    /// What the agent's page gave when it was last looked at, as JSON.
    pub given: String,
    /// Since when it gives that, as far as was looked.
    pub given_since: Option<Timestamp>,
}

/// All of them.
#[derive(Debug)]
pub struct AgentTable {
    changes: Handle,
    known: Known<AgentRow>,
}

const COLUMNS: &str = "slug, created_at, hash, chat_type, channel, given, given_since, checksum";

impl AgentTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self {
            changes: Handle::new(state, Durability::Full),
            known: Known::new(state, AgentRow::all, "token of an agent", "vault agent rotate"),
        }
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn list(&self) -> Result<Arc<[AgentRow]>, StateError> {
        self.known.rows()
    }

    /// Whose a token is.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn holder(&self, token: &Hash) -> Result<Option<AgentRow>, StateError> {
        Ok(with_hash(&self.known.rows()?, |row| row.hash == *token))
    }

    /// Puts a row in the place of the one that the agent has, which `made_of` is told.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn put(&self, slug: &str, made_of: impl Fn(Option<AgentRow>) -> AgentRow) -> Result<(), StateError> {
        self.changes.with(|opened| {
            let transaction = opened.connection.transaction()?;
            let row = made_of(AgentRow::of(&transaction, slug)?);
            transaction.execute("DELETE FROM agents WHERE slug = ?1", [slug])?;
            row.insert(&transaction)?;
            transaction.commit()
        })
    }

    /// Removes that of an agent; says whether there was one.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn remove(&self, slug: &str) -> Result<bool, StateError> {
        let removed = self
            .changes
            .if_there(|opened| Ok(opened.connection.execute("DELETE FROM agents WHERE slug = ?1", [slug])? > 0));
        Ok(removed?.unwrap_or(false))
    }

    /// Notes what an agent's page gives from `since` on, where nobody has done so since `known` was read; says whether it
    /// did.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn gives(&self, known: &AgentRow, given: &str, since: Timestamp) -> Result<bool, StateError> {
        self.changes.with(|opened| {
            let transaction = opened.connection.transaction()?;
            let same = |row: &AgentRow| row.hash == known.hash && row.given == known.given;
            let Some(row) = AgentRow::of(&transaction, &known.slug)?.filter(same) else { return Ok(false) };
            transaction.execute("DELETE FROM agents WHERE slug = ?1", [&known.slug])?;
            AgentRow { given: given.to_owned(), given_since: Some(since), ..row }.insert(&transaction)?;
            transaction.commit().map(|()| true)
        })
    }
}

impl AgentRow {
    /// Inserts it, unless the agent has one.
    pub(super) fn insert(&self, connection: &Connection) -> rusqlite::Result<()> {
        let (created_at, since) = (self.created_at.to_string(), self.given_since.map(|since| since.to_string()));
        connection.execute(
            &format!(
                "INSERT INTO agents({COLUMNS}) SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8
                 WHERE NOT EXISTS (SELECT 1 FROM agents WHERE slug = ?1)"
            ),
            params![
                self.slug,
                created_at,
                &*self.hash.to_hex(),
                self.chat_type,
                self.channel,
                self.given,
                since,
                self.checksum()
            ],
        )?;
        Ok(())
    }

    fn all(connection: &Connection) -> rusqlite::Result<Vec<Option<Self>>> {
        let mut rows = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM agents ORDER BY rowid"))?;
        rows.query_map([], Self::read)?.collect()
    }

    fn of(connection: &Connection, slug: &str) -> rusqlite::Result<Option<Self>> {
        let mut row = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM agents WHERE slug = ?1"))?;
        Ok(row.query_row([slug], Self::read).optional()?.flatten())
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (created_at, hash, since): (String, String, Option<String>) = (row.get(1)?, row.get(2)?, row.get(6)?);
        let since: Option<Option<Timestamp>> = since.map(|since| since.parse().ok());
        let read = (created_at.parse().ok(), Hash::from_hex(&hash).ok());
        let ((Some(created_at), Some(hash)), None | Some(Some(_))) = (read, since) else { return Ok(None) };
        let read = Self {
            slug: row.get(0)?,
            created_at,
            hash,
            chat_type: row.get(3)?,
            channel: row.get(4)?,
            given: row.get(5)?,
            given_since: since.flatten(),
        };
        Ok((read.checksum() == row.get::<_, i64>(7)?).then_some(read))
    }

    fn checksum(&self) -> i64 {
        let (created_at, since) = (self.created_at.to_string(), self.given_since.map(|since| since.to_string()));
        // What is absent is told from what is empty.
        let optional = |text: &Option<String>| text.as_ref().map_or_else(String::new, |text| format!("={text}"));
        checksum(&[
            self.slug.as_bytes(),
            created_at.as_bytes(),
            self.hash.as_bytes(),
            optional(&self.chat_type).as_bytes(),
            optional(&self.channel).as_bytes(),
            self.given.as_bytes(),
            optional(&since).as_bytes(),
        ])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_page_gives_is_noted_once_and_never_for_a_token_that_is_gone() {
        let folder = tempfile::tempdir().unwrap();
        let agents = AgentTable::new(&State::in_folder(folder.path()));
        let row = |token: &str| AgentRow {
            slug: "ada".into(),
            created_at: Timestamp::now(),
            hash: blake3::hash(token.as_bytes()),
            chat_type: Some("direct".into()),
            channel: None,
            given: "{}".into(),
            given_since: None,
        };
        agents.put("ada", |_| row("one")).unwrap();
        let known = agents.list().unwrap()[0].clone();
        assert_eq!(known.chat_type.as_deref(), Some("direct"));
        assert!(agents.gives(&known, "[1]", Timestamp::now()).unwrap());
        assert!(!agents.gives(&known, "[2]", Timestamp::now()).unwrap(), "it is another since");
        let now = agents.list().unwrap()[0].clone();
        assert!(now.given == "[1]" && now.given_since.is_some() && now.channel.is_none());
        agents
            .put("ada", |before| AgentRow { channel: before.unwrap().given_since.map(|_| "x".into()), ..row("two") })
            .unwrap();
        assert!(!agents.gives(&now, "[3]", Timestamp::now()).unwrap());
        assert_eq!(agents.holder(&blake3::hash(b"one")).unwrap(), None);
        assert_eq!(agents.holder(&blake3::hash(b"two")).unwrap().unwrap().channel.as_deref(), Some("x"));
        assert!(agents.remove("ada").unwrap() && !agents.remove("ada").unwrap());
    }
}
