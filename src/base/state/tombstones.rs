//! What was forgotten for good, as digests: enough to know it again, and nothing of what it said. And the purges that are under way, so that
//! the next start finishes one during which the program was killed; and what was left out because of all that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::key::{Digest, DigestKey};
use super::later::LaterWriter;
use super::schema::checksum;
use super::store::{Durability, Handle, State, StateError};

/// What a digest is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ForgottenKind {
    /// A text: all that went, a paragraph, a list item, a turn.
    Text,
    /// A sentence.
    Sentence,
    /// A fact, by its scope, key and value.
    Fact,
}

/// What was forgotten at one time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tombstone {
    /// Names it. No number is given twice.
    pub id: i64,
    /// When.
    pub at: Timestamp,
    /// Where: a note, or the folder of one that is gone.
    pub place: String,
    /// Who could have read it, as whoever asks has written that down.
    pub about: String,
    /// The digests, each once.
    pub digests: Vec<(ForgottenKind, Digest)>,
    /// Which of the vault's keys made them, from 0.
    pub key: usize,
}

/// All of them, to be asked.
#[derive(Debug, Default)]
pub struct Tombstones {
    /// The oldest first.
    pub all: Vec<Tombstone>,
    by_digest: HashMap<Digest, Vec<usize>>,
}

impl Tombstones {
    fn new(all: Vec<Tombstone>) -> Self {
        let mut by_digest: HashMap<Digest, Vec<usize>> = HashMap::new();
        for (at, tombstone) in all.iter().enumerate() {
            for (_, digest) in &tombstone.digests {
                by_digest.entry(*digest).or_default().push(at);
            }
        }
        Self { all, by_digest }
    }

    /// Those that have a digest.
    pub fn with(&self, digest: &Digest) -> impl Iterator<Item = &Tombstone> {
        self.by_digest.get(digest).into_iter().flatten().filter_map(|at| self.all.get(*at))
    }
}

/// Those of a vault.
#[derive(Debug)]
pub struct TombstoneTable {
    handle: Handle,
    known: Mutex<Option<(Version, Arc<Tombstones>)>>,
}

/// Tells the rows from those that were read: the opening, and what changes with every addition, change and removal.
type Version = (u64, Option<i64>, i64, Option<i64>);

impl TombstoneTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self { handle: Handle::new(state, Durability::Full), known: Mutex::default() }
    }

    /// All of them, as any process has left them.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn all(&self) -> Result<Arc<Tombstones>, StateError> {
        let all = self.handle.if_there(|opened| {
            let version = "SELECT max(id), count(*), sum(revision) FROM tombstones";
            let mut version = opened.connection.prepare_cached(version)?;
            let (last, count, revisions) = version.query_row([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            let version: Version = (opened.number, last, count, revisions);
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            match &*known {
                Some((at, all)) if *at == version => Ok(Arc::clone(all)),
                _ => {
                    let all = Arc::new(Tombstones::new(self.load(&opened.connection)?));
                    *known = Some((version, Arc::clone(&all)));
                    Ok(all)
                }
            }
        });
        Ok(all?.unwrap_or_default())
    }

    /// Adds one, which is safe on disk when this returns, and notes it with the purge that is under way, if one is, or with the thing in its
    /// list that it is of; gives its name.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn add(
        &self,
        at: Timestamp,
        place: &str,
        about: &str,
        digests: &[(ForgottenKind, Digest)],
        purge: Option<(i64, Option<usize>)>,
    ) -> Result<i64, StateError> {
        // Nothing counts without the key that it was made with.
        let key = self.handle.state().key_or_new()?.name();
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            let id = insert(&transaction, key, &at.to_string(), place, about, digests)?;
            if let Some((purge, at)) = purge {
                let set = match at {
                    None => "tombstone = ?2".to_owned(),
                    Some(at) => format!("going_with = json_set(going_with, '$[{at}].tombstone', ?2)"),
                };
                transaction.execute(&format!("UPDATE open_purges SET {set} WHERE id = ?1"), [purge, id])?;
            }
            transaction.commit()?;
            Ok(id)
        })
    }

    /// Says another place and other readers of one.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn set_place(&self, id: i64, place: &str, about: &str) -> Result<(), StateError> {
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            let found = transaction
                .query_row("SELECT at, key FROM tombstones WHERE id = ?1", [id], |row| {
                    Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?))
                })
                .optional()?;
            if let Some((at, key)) = found {
                transaction.execute(
                    "UPDATE tombstones SET place = ?2, about = ?3, checksum = ?4, revision = revision + 1 WHERE id = ?1",
                    params![id, place, about, sum(key, &at, place, about)],
                )?;
            }
            transaction.commit()
        })
    }

    /// Removes one; says whether it was there.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn remove(&self, id: i64) -> Result<bool, StateError> {
        let removed = self.handle.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            transaction.execute("DELETE FROM tombstone_digests WHERE tombstone = ?1", [id])?;
            let removed = transaction.execute("DELETE FROM tombstones WHERE id = ?1", [id])? > 0;
            transaction.commit()?;
            Ok(removed)
        });
        Ok(removed?.unwrap_or(false))
    }

    /// Adds what was forgotten in the vault of another state, with the keys that it was made with. What is there already stays as it is.
    ///
    /// # Errors
    /// When one of them cannot be read, or this one cannot be written.
    pub fn join(&self, other: &Arc<State>) -> Result<(), StateError> {
        let (theirs, their_keys) = (TombstoneTable::new(other).all()?, other.key_bytes()?);
        let (ours, our_keys) = (self.all()?, self.handle.state().key_bytes()?);
        let key_of = |one: &Tombstone, keys: &[[u8; 32]]| keys.get(one.key).copied();
        let is_known = |one: &Tombstone| {
            let is_same = |our: &&Tombstone| our.at == one.at && our.digests == one.digests;
            ours.all.iter().filter(is_same).any(|our| key_of(our, &our_keys) == key_of(one, &their_keys))
        };
        let new = theirs.all.iter().filter(|one| !is_known(one));
        let new: Vec<_> = new.filter_map(|one| Some((one, key_of(one, &their_keys)?))).collect();
        if new.is_empty() {
            return Ok(());
        }
        self.handle.state().add_keys(&new.iter().map(|(_, key)| *key).collect::<Vec<_>>())?;
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            for (Tombstone { at, place, about, digests, .. }, key) in &new {
                insert(&transaction, DigestKey(*key).name(), &at.to_string(), place, about, digests)?;
            }
            transaction.commit()
        })
    }

    /// Those that hold what was written and were made with a key that is there.
    fn load(&self, connection: &Connection) -> rusqlite::Result<Vec<Tombstone>> {
        let state = self.handle.state();
        let names: Vec<i64> = state.keys().unwrap_or_default().iter().map(DigestKey::name).collect();
        let mut rows = connection.prepare("SELECT id, at, place, about, key, checksum FROM tombstones ORDER BY id")?;
        let mut rows = rows.query([])?;
        let (mut all, mut damaged, mut keyless): (Vec<Tombstone>, usize, usize) = (Vec::new(), 0, 0);
        while let Some(row) = rows.next()? {
            let (id, at, place, about): (i64, String, String, String) =
                (row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?);
            let key: i64 = row.get(4)?;
            let place_of_key = names.iter().position(|name| *name == key);
            match (at.parse(), place_of_key) {
                (Ok(_), None) => keyless += 1,
                (Ok(time), Some(of)) if sum(key, &at, &place, &about) == row.get::<_, i64>(5)? => {
                    let digests = digests_of(connection, id)?;
                    all.push(Tombstone { id, at: time, place, about, digests, key: of });
                }
                _ => damaged += 1,
            }
        }
        let file = state.file().display();
        for (count, what) in
            [(damaged, "is damaged"), (keyless, "was made with a key other than that in forgotten.key")]
        {
            if count > 0 {
                state.say(format!("{file}: {count} of the purged texts {what}, and is no longer recognised"));
            }
        }
        Ok(all)
    }
}

fn digests_of(connection: &Connection, id: i64) -> rusqlite::Result<Vec<(ForgottenKind, Digest)>> {
    let digests = "SELECT kind, digest FROM tombstone_digests WHERE tombstone = ?1 ORDER BY rowid";
    let mut digests = connection.prepare_cached(digests)?;
    let digests = digests.query_map([id], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))?;
    let known = digests.map(|read| {
        read.map(|(kind, digest)| {
            let kind = [ForgottenKind::Text, ForgottenKind::Sentence, ForgottenKind::Fact].get(kind as usize).copied();
            kind.zip(Digest::try_from(digest).ok())
        })
    });
    known.filter_map(Result::transpose).collect()
}

fn insert(
    transaction: &Connection,
    key: i64,
    at: &str,
    place: &str,
    about: &str,
    digests: &[(ForgottenKind, Digest)],
) -> rusqlite::Result<i64> {
    transaction.execute(
        "INSERT INTO tombstones(at, place, about, key, checksum) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![at, place, about, key, sum(key, at, place, about)],
    )?;
    let id = transaction.last_insert_rowid();
    let insert = "INSERT INTO tombstone_digests(tombstone, kind, digest) VALUES (?1, ?2, ?3)";
    let mut insert = transaction.prepare_cached(insert)?;
    for (kind, digest) in digests {
        insert.execute(params![id, *kind as i64, &digest[..]])?;
    }
    Ok(id)
}

fn sum(key: i64, at: &str, place: &str, about: &str) -> i64 {
    checksum(&[&key.to_le_bytes(), at.as_bytes(), place.as_bytes(), about.as_bytes()])
}

/// What was forgotten, to be asked, with the keys that it was made with.
pub type KnownTombstones = (Arc<Tombstones>, Vec<DigestKey>);

/// A purge that has begun and is not finished.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenPurge {
    /// Its number.
    pub id: i64,
    /// When it began, in milliseconds since 1970.
    pub at: i64,
    /// The note.
    pub path: String,
    /// The lines that go, if not all of it does.
    pub lines: Option<(usize, usize)>,
    /// Whether all of the note goes.
    pub gone: bool,
    /// The agents that could read it.
    pub readers: Vec<String>,
    /// What goes with it, as whoever began it has written that down.
    pub going_with: String,
    /// What was remembered as forgotten.
    pub tombstone: Option<i64>,
    /// Whether the note's own text is known to have gone.
    pub removed: bool,
}

/// Those of a vault.
#[derive(Debug)]
pub struct OpenPurgeTable(Handle);

impl OpenPurgeTable {
    /// Of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(Handle::new(state, Durability::Full))
    }

    /// Begins one, safe on disk when this returns; gives its number.
    ///
    /// # Errors
    /// When the state cannot be written; so all that follow.
    pub fn open(
        &self,
        path: &str,
        lines: Option<(usize, usize)>,
        gone: bool,
        readers: &[String],
        going_with: &str,
    ) -> Result<i64, StateError> {
        let at = Timestamp::now().as_millisecond();
        self.0.with(|opened| {
            let (first, last) = lines.map(|(first, last)| (first as i64, last as i64)).unzip();
            let insert = "INSERT INTO open_purges(at, path, first_line, last_line, gone, readers, going_with)
                VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)";
            opened.connection.execute(insert, params![at, path, first, last, gone, readers.join(" "), going_with])?;
            Ok(opened.connection.last_insert_rowid())
        })
    }

    /// The note's own text has gone.
    ///
    /// # Errors
    /// As [`OpenPurgeTable::open`].
    pub fn removed(&self, id: i64) -> Result<(), StateError> {
        self.0.execute("UPDATE open_purges SET removed = 1 WHERE id = ?1", params![id])
    }

    /// One is finished.
    ///
    /// # Errors
    /// As [`OpenPurgeTable::open`].
    pub fn close(&self, id: i64) -> Result<(), StateError> {
        self.without_names(id, "DELETE FROM open_purges WHERE id = ?1")
    }

    /// One is finished but for the files of the index: it names no note any more.
    ///
    /// # Errors
    /// As [`OpenPurgeTable::open`].
    pub fn leave_to_index(&self, id: i64) -> Result<(), StateError> {
        self.without_names(id, "UPDATE open_purges SET path = '', going_with = '[]', removed = 1 WHERE id = ?1")
    }

    /// Runs what takes the names out of one; they are not to stay in the log either.
    fn without_names(&self, id: i64, sql: &str) -> Result<(), StateError> {
        let done = self.0.if_there(|opened| {
            opened.connection.execute(sql, [id])?;
            opened.connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
        });
        done.map(drop)
    }

    /// Those that are not finished, the oldest first.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn all(&self) -> Result<Vec<OpenPurge>, StateError> {
        let all = "SELECT id, at, path, first_line, last_line, gone, readers, going_with, tombstone, removed
            FROM open_purges ORDER BY id";
        self.0.rows(all, &[], |row| {
            let line = |at| Ok::<_, rusqlite::Error>(row.get::<_, Option<i64>>(at)?.map(|line| line as usize));
            let lines = line(3)?.zip(line(4)?);
            let readers = row.get::<_, String>(6)?.split_whitespace().map(str::to_owned).collect();
            let (id, at, path) = (row.get(0)?, row.get(1)?, row.get(2)?);
            let (gone, going_with, tombstone, removed) = (row.get(5)?, row.get(7)?, row.get(8)?, row.get(9)?);
            Ok(OpenPurge { id, at, path, lines, gone, readers, going_with, tombstone, removed })
        })
    }
}

/// Maximum of rows; beyond it the oldest go.
const MAX_LEFT_OUT: i64 = 1000;

/// A text that was left out because it was purged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[schema(as = LeftOutView)]
pub struct LeftOut {
    /// When, as RFC 3339.
    #[schema(value_type = String)]
    pub at: Timestamp,
    /// Where it came from: `program NAME`, `agent NAME`, `import` for an archive.
    pub by: String,
    /// The collection or file that it was for.
    pub into: String,
    /// Whether the whole text was left out, or a part.
    pub whole: bool,
    /// The id of the purged text.
    pub tombstone: i64,
}

/// All that was left out.
#[derive(Debug)]
pub struct LeftOutTable(LaterWriter);

impl LeftOutTable {
    /// That of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self(LaterWriter::new(state, "what was left out"))
    }

    /// Adds a row, which is written in a moment.
    pub fn add(&self, row: LeftOut) {
        self.0.add(move |connection| {
            let insert = "INSERT INTO left_out(at, by_whom, into_what, whole, tombstone) VALUES (?1, ?2, ?3, ?4, ?5)";
            let LeftOut { at, by, into, whole, tombstone } = &row;
            connection.prepare_cached(insert)?.execute(params![at.as_millisecond(), by, into, whole, tombstone])?;
            let old = "DELETE FROM left_out WHERE id <= (SELECT max(id) FROM left_out) - ?1";
            connection.prepare_cached(old)?.execute([MAX_LEFT_OUT]).map(drop)
        });
    }

    /// The newest, newest first.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn newest(&self, limit: usize) -> Result<Vec<LeftOut>, StateError> {
        let newest = "SELECT at, by_whom, into_what, whole, tombstone FROM left_out ORDER BY id DESC LIMIT ?1";
        self.0.written().rows(newest, params![limit as i64], |row| {
            let at = Timestamp::from_millisecond(row.get(0)?).unwrap_or(Timestamp::UNIX_EPOCH);
            Ok(LeftOut { at, by: row.get(1)?, into: row.get(2)?, whole: row.get(3)?, tombstone: row.get(4)? })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_forgotten_is_known_to_every_process_until_it_is_lifted() {
        let folder = tempfile::tempdir().unwrap();
        let tables = [(); 2].map(|()| TombstoneTable::new(&State::in_folder(folder.path())));
        assert!(tables[0].all().unwrap().all.is_empty() && std::fs::read_dir(folder.path()).unwrap().next().is_none());
        let digest = |text: &str| State::in_folder(folder.path()).key_or_new().unwrap().digest("x", &[text.as_bytes()]);
        let (one, two) = (digest("one"), digest("two"));
        let digests = [(ForgottenKind::Text, one), (ForgottenKind::Sentence, two)];
        let id = tables[0].add(Timestamp::now(), "a.md", "{}", &digests, None).unwrap();
        let all = tables[1].all().unwrap();
        assert_eq!(all.with(&two).map(|found| found.id).collect::<Vec<_>>(), [id]);
        assert_eq!(all.all[0].digests, digests);
        tables[1].set_place(id, "notes/", "[]").unwrap();
        assert_eq!(tables[0].all().unwrap().all[0].place, "notes/");
        assert!(tables[1].remove(id).unwrap() && !tables[0].remove(id).unwrap());
        assert_eq!(tables[0].all().unwrap().with(&one).count(), 0);
        assert_ne!(
            tables[0].add(Timestamp::now(), "a.md", "{}", &digests, None).unwrap(),
            id,
            "no number is given twice"
        );
    }

    #[test]
    fn the_key_is_its_own_file_and_without_it_nothing_is_known_again() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let table = TombstoneTable::new(&state);
        let digest = state.key_or_new().unwrap().digest("x", &[b"one"]);
        table.add(Timestamp::now(), "a.md", "{}", &[(ForgottenKind::Text, digest)], None).unwrap();
        let path = state.key_file();
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let key = std::fs::read(&path).unwrap();
        let database = std::fs::read(state.file()).unwrap();
        assert!(!database.windows(key.len()).any(|bytes| bytes == key), "it lies apart");
        std::fs::write(&path, "cut").unwrap();
        let other = State::in_folder(folder.path());
        assert_ne!(other.key_or_new().unwrap().digest("x", &[b"one"]), digest);
        assert!(TombstoneTable::new(&other).all().unwrap().all.is_empty());
        assert!(other.trouble().unwrap().contains("a key other than"), "{:?}", other.trouble());
        std::fs::write(&path, key).unwrap();
        assert_eq!(TombstoneTable::new(&State::in_folder(folder.path())).all().unwrap().all.len(), 1);
    }

    #[test]
    fn a_row_that_was_changed_by_another_hand_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let table = TombstoneTable::new(&state);
        table.add(Timestamp::now(), "a.md", "{}", &[], None).unwrap();
        let hand = Connection::open(state.file()).unwrap();
        hand.execute("UPDATE tombstones SET place = 'b.md'", []).unwrap();
        assert!(TombstoneTable::new(&state).all().unwrap().all.is_empty());
        assert!(state.trouble().unwrap().contains("is damaged"));
    }

    #[test]
    fn the_newest_comes_first_and_the_oldest_goes() {
        let folder = tempfile::tempdir().unwrap();
        let table = LeftOutTable::new(&State::in_folder(folder.path()));
        for tombstone in 0..1500 {
            let at = Timestamp::from_second(tombstone).unwrap();
            table.add(LeftOut { at, by: "agent ada".into(), into: "MEMORY.md".into(), whole: true, tombstone });
        }
        let newest = table.newest(5000).unwrap();
        assert_eq!((newest.len(), newest[0].tombstone, newest[999].tombstone), (1000, 1499, 500));
        assert_eq!(newest[0].at.as_second(), 1499);
    }
}

#[cfg(test)]
mod tests_of_purges {
    use super::*;

    #[test]
    fn what_was_begun_is_known_until_it_is_finished() {
        let folder = tempfile::tempdir().unwrap();
        let tables = [(); 2].map(|()| OpenPurgeTable::new(&State::in_folder(folder.path())));
        assert!(tables[0].all().unwrap().is_empty());
        let one = tables[0].open("a.md", Some((3, 5)), false, &["ada".into(), "bob".into()], "[1]").unwrap();
        let other = tables[0].open("b.md", None, true, &[], "[]").unwrap();
        let all = tables[1].all().unwrap();
        let told: Vec<_> = all.iter().map(|open| (open.id, open.path.as_str(), open.lines, open.gone)).collect();
        assert_eq!(told, [(one, "a.md", Some((3, 5)), false), (other, "b.md", None, true)]);
        assert_eq!((all[0].readers.len(), all[1].readers.len()), (2, 0));
        assert_eq!((all[0].going_with.as_str(), all[1].going_with.as_str()), ("[1]", "[]"));
        tables[0].removed(other).unwrap();
        let removed = tables[1].all().unwrap();
        assert_eq!(removed.iter().map(|open| open.removed).collect::<Vec<_>>(), [false, true]);
        tables[0].leave_to_index(one).unwrap();
        assert_eq!((tables[1].all().unwrap()[0].path.as_str(), tables[1].all().unwrap()[0].removed), ("", true));
        tables[1].close(one).unwrap();
        assert_eq!(tables[0].all().unwrap().len(), 1);
    }
}
