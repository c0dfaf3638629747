//! Tokens of programs that send events, as hashes.

use std::sync::{Arc, Mutex, PoisonError};

use blake3::Hash;
use jiff::Timestamp;
use rusqlite::{Connection, Row, params};

use super::error::StateError;
use super::schema::checksum;
use super::store::{Durability, Handle, State};

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

/// All of them.
#[derive(Debug)]
pub struct TokenTable {
    changes: Handle,
    known: Known<TokenRow>,
}

impl TokenTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self {
            changes: Handle::new(state, Durability::Full),
            known: Known::new(state, TokenRow::all, "token of a program", "vault token add"),
        }
    }

    /// All of them, the oldest first.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn list(&self) -> Result<Arc<[TokenRow]>, StateError> {
        self.known.rows()
    }

    /// Adds one, unless there is one of that name; says whether there was none.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn add(&self, row: &TokenRow) -> Result<bool, StateError> {
        self.changes.with(|opened| row.insert(&opened.connection))
    }

    /// Removes that of a name; says whether there was one.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn remove(&self, name: &str) -> Result<bool, StateError> {
        let removed = self.changes.if_there(|opened| {
            Ok(opened.connection.execute("DELETE FROM capture_tokens WHERE name = ?1", [name])? > 0)
        });
        Ok(removed?.unwrap_or(false))
    }

    /// Whose a token is.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn holder(&self, token: &Hash) -> Result<Option<TokenRow>, StateError> {
        Ok(with_hash(&self.known.rows()?, |row| row.hash == *token))
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

/// The rows of a table, read again when any process has changed the file.
#[derive(Debug)]
pub(super) struct Known<T> {
    reader: Handle,
    /// Reads all rows; none for one that does not hold what was written into it.
    load: fn(&Connection) -> rusqlite::Result<Vec<Option<T>>>,
    /// What a row is, and which command makes another.
    what: &'static str,
    remedy: &'static str,
    rows: Mutex<Option<Loaded<T>>>,
}

#[derive(Debug)]
struct Loaded<T> {
    /// The opening, and SQLite's count of the changes of others.
    at: (u64, i64),
    rows: Arc<[T]>,
}

impl<T> Known<T> {
    pub(super) fn new(
        state: &Arc<State>,
        load: fn(&Connection) -> rusqlite::Result<Vec<Option<T>>>,
        what: &'static str,
        remedy: &'static str,
    ) -> Self {
        Self { reader: Handle::new(state, Durability::Full), load, what, remedy, rows: Mutex::default() }
    }

    /// All rows; none where there is no state.
    pub(super) fn rows(&self) -> Result<Arc<[T]>, StateError> {
        let rows = self.reader.if_there(|opened| {
            let changes = opened.connection.prepare_cached("PRAGMA data_version")?.query_row([], |row| row.get(0))?;
            let now = (opened.number, changes);
            let mut known = self.rows.lock().unwrap_or_else(PoisonError::into_inner);
            match &*known {
                Some(loaded) if loaded.at == now => Ok(Arc::clone(&loaded.rows)),
                _ => {
                    let rows = self.sound((self.load)(&opened.connection)?);
                    *known = Some(Loaded { at: now, rows: Arc::clone(&rows) });
                    Ok(rows)
                }
            }
        });
        Ok(rows?.unwrap_or_else(|| Vec::new().into()))
    }

    /// Those rows that hold what was written into them.
    fn sound(&self, rows: Vec<Option<T>>) -> Arc<[T]> {
        let (all, sound) = (rows.len(), rows.into_iter().flatten().collect::<Arc<[T]>>());
        if sound.len() < all {
            let (state, damaged, Self { what, remedy, .. }) = (self.reader.state(), all - sound.len(), self);
            let file = state.file().display();
            state.say(format!("{file}: {damaged} {what} is damaged and invalid; make another with `{remedy}`"));
        }
        sound
    }
}

/// The row that fits. All are compared, so that the time tells nothing of the place.
pub(super) fn with_hash<T: Clone>(rows: &[T], fits: impl Fn(&T) -> bool) -> Option<T> {
    rows.iter().fold(None, |found, row| if fits(row) { Some(row.clone()) } else { found })
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
            error.contains("has format 99, and this version knows only format 1: use the version")
                && table.add(&row("b")).is_err(),
            "{error}"
        );
        assert_eq!((state.put_aside(), state.trouble()), (None, None));
        set(super::super::schema::FORMAT);
        assert!(table.holder(&row("a").hash).unwrap().is_some());
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
