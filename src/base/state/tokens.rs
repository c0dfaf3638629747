//! Tokens of programs that send events and of agents, as hashes, and what is known of each agent.

use std::sync::Arc;

use blake3::Hash;
use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::schema::checksum;
use super::store::{Durability, Handle, State, StateError};

/// A token that was given to a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The program.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
    /// BLAKE3 of the token. `==` takes the same time for every pair.
    pub hash: Hash,
}

/// Those of programs.
pub type TokenTable = Tokens<TokenRow>;

impl Tokens<TokenRow> {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let delete = "DELETE FROM capture_tokens WHERE name = ?1";
        Self::of(state, TokenRow::all, |row| &row.hash, delete, ("token of a program", "vault token add"))
    }

    /// Adds one, unless there is one of that name; says whether there was none.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn add(&self, row: &TokenRow) -> Result<bool, StateError> {
        self.handle.with(|opened| row.insert(&opened.connection))
    }
}

impl TokenRow {
    /// Inserts it, unless there is one of that name; says whether there was none.
    pub(super) fn insert(&self, connection: &Connection) -> rusqlite::Result<bool> {
        let (created_at, hash) = (self.created_at.to_string(), self.hash.to_hex());
        let checksum = Self::checksum(&self.name, &created_at, &hash);
        let inserted = connection.execute(
            "INSERT INTO capture_tokens(name, created_at, hash, checksum) SELECT ?1, ?2, ?3, ?4
             WHERE NOT EXISTS (SELECT 1 FROM capture_tokens WHERE name = ?1)",
            params![self.name, created_at, &*hash, checksum],
        )?;
        Ok(inserted > 0)
    }

    fn all(connection: &Connection) -> rusqlite::Result<Vec<Option<Self>>> {
        let rows = "SELECT name, created_at, hash, checksum FROM capture_tokens ORDER BY rowid";
        let mut rows = connection.prepare_cached(rows)?;
        rows.query_map([], Self::read)?.collect()
    }

    fn read(row: &Row<'_>) -> rusqlite::Result<Option<Self>> {
        let (name, created_at, hash): (String, String, String) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let sound = Self::checksum(&name, &created_at, &hash) == row.get::<_, i64>(3)?;
        let read = (created_at.parse().ok(), Hash::from_hex(&hash).ok());
        let (Some(created_at), Some(hash)) = read else { return Ok(None) };
        Ok(sound.then_some(Self { name, created_at, hash }))
    }

    fn checksum(name: &str, created_at: &str, hash: &str) -> i64 {
        checksum(&[name.as_bytes(), created_at.as_bytes(), hash.as_bytes()])
    }
}

/// The tokens of a table.
#[derive(Debug)]
pub struct Tokens<T> {
    pub(super) handle: Handle,
    /// Reads all rows; none for one that does not hold what was written into it.
    load: fn(&Connection) -> rusqlite::Result<Vec<Option<T>>>,
    hash_of: fn(&T) -> &Hash,
    /// Removes the row of a name.
    delete: &'static str,
    /// What a row is, and which command makes another.
    what: (&'static str, &'static str),
}

impl<T> Tokens<T> {
    pub(super) fn of(
        state: &Arc<State>,
        load: fn(&Connection) -> rusqlite::Result<Vec<Option<T>>>,
        hash_of: fn(&T) -> &Hash,
        delete: &'static str,
        what: (&'static str, &'static str),
    ) -> Self {
        Self { handle: Handle::new(state, Durability::Full), load, hash_of, delete, what }
    }

    /// All of them, the oldest first; none where there is no state.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn list(&self) -> Result<Vec<T>, StateError> {
        let rows = self.handle.if_there(|opened| (self.load)(&opened.connection))?.unwrap_or_default();
        let all = rows.len();
        let sound: Vec<T> = rows.into_iter().flatten().collect();
        if sound.len() < all {
            let (state, damaged, (what, remedy)) = (self.handle.state(), all - sound.len(), self.what);
            let file = state.file().display();
            state.say(format!("{file}: {damaged} {what} is damaged and invalid; make another with `{remedy}`"));
        }
        Ok(sound)
    }

    /// Whose a token is. All are compared, so that the time tells nothing of the place.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn holder(&self, token: &Hash) -> Result<Option<T>, StateError> {
        let fits = |row: &T| (self.hash_of)(row) == token;
        Ok(self.list()?.into_iter().fold(None, |found, row| if fits(&row) { Some(row) } else { found }))
    }

    /// Removes that of a name; says whether there was one.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn remove(&self, name: &str) -> Result<bool, StateError> {
        let removed = self.handle.if_there(|opened| Ok(opened.connection.execute(self.delete, [name])? > 0));
        Ok(removed?.unwrap_or(false))
    }
}

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

/// Those of agents.
pub type AgentTable = Tokens<AgentRow>;

const COLUMNS: &str = "slug, created_at, hash, chat_type, channel, given, given_since, checksum";

impl Tokens<AgentRow> {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        let delete = "DELETE FROM agents WHERE slug = ?1";
        Self::of(state, AgentRow::all, |row| &row.hash, delete, ("token of an agent", "vault agent rotate"))
    }

    /// Puts a row in the place of the one that the agent has, which `made_of` is told.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn put(&self, slug: &str, made_of: impl Fn(Option<AgentRow>) -> AgentRow) -> Result<(), StateError> {
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            let row = made_of(AgentRow::of(&transaction, slug)?);
            row.put(&transaction)?;
            transaction.commit()
        })
    }

    /// Notes what an agent's page gives from `since` on, where nobody has done so since `known` was read; says whether it
    /// did.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn gives(&self, known: &AgentRow, given: &str, since: Timestamp) -> Result<bool, StateError> {
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            let same = |row: &AgentRow| row.hash == known.hash && row.given == known.given;
            let Some(row) = AgentRow::of(&transaction, &known.slug)?.filter(same) else { return Ok(false) };
            AgentRow { given: given.to_owned(), given_since: Some(since), ..row }.put(&transaction)?;
            transaction.commit().map(|()| true)
        })
    }
}

impl AgentRow {
    /// Puts it in the place of the one that the agent has.
    fn put(&self, connection: &Connection) -> rusqlite::Result<()> {
        let (created_at, since) = (self.created_at.to_string(), self.given_since.map(|since| since.to_string()));
        connection.execute("DELETE FROM agents WHERE slug = ?1", [&self.slug])?;
        let insert = format!("INSERT INTO agents({COLUMNS}) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)");
        let Self { slug, hash, chat_type, channel, given, .. } = self;
        let all = params![slug, created_at, &*hash.to_hex(), chat_type, channel, given, since, self.checksum()];
        connection.execute(&insert, all).map(drop)
    }

    fn all(connection: &Connection) -> rusqlite::Result<Vec<Option<Self>>> {
        let mut rows = connection.prepare_cached(&format!("SELECT {COLUMNS} FROM agents ORDER BY rowid"))?;
        rows.query_map([], Self::read)?.collect()
    }

    fn of(connection: &Connection, slug: &str) -> rusqlite::Result<Option<Self>> {
        Ok(Self::all(connection)?.into_iter().flatten().find(|row| row.slug == slug))
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

    fn row(name: &str) -> TokenRow {
        TokenRow { name: name.into(), created_at: Timestamp::now(), hash: blake3::hash(name.as_bytes()) }
    }

    #[test]
    fn another_process_s_change_counts_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let tables = [(); 2].map(|()| TokenTable::new(&State::in_folder(folder.path())));
        assert!(tables[0].list().unwrap().is_empty() && std::fs::read_dir(folder.path()).unwrap().next().is_none());
        for (at, name) in ["a", "b", "c"].iter().enumerate() {
            let (one, other) = (&tables[at % 2], &tables[(at + 1) % 2]);
            assert!(one.add(&row(name)).unwrap() && !other.add(&row(name)).unwrap());
            assert_eq!(other.holder(&row(name).hash).unwrap().unwrap().name, *name);
            assert!(other.remove(name).unwrap() && !one.remove(name).unwrap());
            assert_eq!(one.holder(&row(name).hash).unwrap(), None);
        }
    }

    #[test]
    fn many_that_open_it_at_once_make_it_once() {
        let folder = tempfile::tempdir().unwrap();
        std::thread::scope(|scope| {
            for name in ["a", "b", "c", "d", "e", "f"] {
                scope.spawn(|| TokenTable::new(&State::in_folder(folder.path())).add(&row(name)).unwrap());
            }
        });
        assert_eq!(TokenTable::new(&State::in_folder(folder.path())).list().unwrap().len(), 6);
    }

    #[test]
    fn what_another_version_wrote_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        assert!(TokenTable::new(&state).add(&row("a")).unwrap());
        let set =
            |format: i64| Connection::open(state.file()).unwrap().pragma_update(None, "user_version", format).unwrap();
        set(99);
        let table = TokenTable::new(&state);
        let error = table.holder(&row("a").hash).unwrap_err().to_string();
        assert!(
            error.contains("has format 99, and this version knows only format 2: use the version")
                && table.add(&row("b")).is_err(),
            "{error}"
        );
        assert_eq!((state.put_aside(), state.trouble()), (None, None));
        set(super::super::schema::FORMAT);
        assert!(table.holder(&row("a").hash).unwrap().is_some());
        // The format before had a table more, with names of chunks.
        Connection::open(state.file()).unwrap().execute_batch("CREATE TABLE usage(chunk TEXT)").unwrap();
        set(1);
        let table = TokenTable::new(&State::in_folder(folder.path()));
        assert!(table.holder(&row("a").hash).unwrap().is_some());
        assert!(Connection::open(state.file()).unwrap().prepare("SELECT chunk FROM usage").is_err());
    }

    #[test]
    fn a_row_that_was_changed_by_another_hand_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let table = TokenTable::new(&state);
        assert!(table.add(&row("a")).unwrap() && table.add(&row("b")).unwrap());
        let hand = Connection::open(state.file()).unwrap();
        hand.execute("UPDATE capture_tokens SET name = 'c' WHERE name = 'a'", []).unwrap();
        assert_eq!(table.holder(&row("a").hash).unwrap(), None);
        assert_eq!(table.list().unwrap().len(), 1);
        let trouble = state.trouble().unwrap();
        assert!(trouble.contains("state.db: 1 token of a program is damaged"), "{trouble}");
    }
}

#[cfg(test)]
mod tests_of_agents {
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
