//! What was forgotten for good, as digests: enough to know it again, and nothing of what it said.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use jiff::Timestamp;
use rusqlite::{Connection, OptionalExtension, params};
use serde::{Deserialize, Serialize};

use super::error::StateError;
use super::key::{Digest, DigestKey, KEY, keys_of};
use super::schema::checksum;
use super::store::{Durability, Handle, State};
use crate::fs::{Context, create_private_dir, write_atomically};

/// What a digest is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ForgottenKind {
    /// A text: all that went, a paragraph, a list item, a turn.
    Text,
    /// A sentence.
    Sentence,
    /// A fact, by its scope, key and value.
    Fact,
}

/// What was forgotten at one time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "is_first")]
    pub key: usize,
}

fn is_first(key: &usize) -> bool {
    *key == 0
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

    /// Adds one, which is safe on disk when this returns; gives its name. Digests that are there twice count once.
    ///
    /// # Errors
    /// When the state cannot be written.
    pub fn add(
        &self,
        at: Timestamp,
        place: &str,
        about: &str,
        digests: &[(ForgottenKind, Digest)],
    ) -> Result<i64, StateError> {
        // Nothing counts without the key that it was made with.
        let key = self.handle.state().key_or_new()?.name();
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            let id = insert(&transaction, None, key, &at.to_string(), place, about, digests)?;
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
        for (count, what) in [(damaged, "is damaged"), (keyless, "was made with another key than forgotten.key has")] {
            if count > 0 {
                state.say(format!("{file}: {count} of what was forgotten for good {what}, and is not known again"));
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
    id: Option<i64>,
    key: i64,
    at: &str,
    place: &str,
    about: &str,
    digests: &[(ForgottenKind, Digest)],
) -> rusqlite::Result<i64> {
    transaction.execute(
        "INSERT INTO tombstones(id, at, place, about, key, checksum, revision) VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0)",
        params![id, at, place, about, key, sum(key, at, place, about)],
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

/// What an archive carries of it: the file's name in the vault's state.
const FILE: &str = "forgotten.json";

impl TombstoneTable {
    /// All of them and the key, as files below the vault's state; none where nothing was forgotten.
    ///
    /// # Errors
    /// When the state cannot be read.
    pub fn as_files(&self) -> Result<Vec<(&'static str, Vec<u8>)>, StateError> {
        let all = self.all()?;
        let keys = self.handle.state().key_bytes()?;
        if all.all.is_empty() || keys.is_empty() {
            return Ok(Vec::new());
        }
        let json = serde_json::to_vec(&all.all).map_err(std::io::Error::other);
        Ok(vec![(KEY, keys.concat()), (FILE, json.on("encode", self.handle.state().file())?)])
    }
}

/// The name of what an archive brings.
pub(super) const BROUGHT: &str = FILE;

/// Takes over what an archive has brought; it was made with the keys that came along, by their names.
pub(super) fn take_over(
    transaction: &Connection,
    keys: &[i64],
    bytes: &[u8],
) -> Result<rusqlite::Result<()>, serde_json::Error> {
    let brought: Vec<Tombstone> = numbered(serde_json::from_slice(bytes)?);
    let key_of = |tombstone: &Tombstone| keys.get(tombstone.key).copied();
    if brought.iter().any(|tombstone| key_of(tombstone).is_none()) {
        return Err(serde::de::Error::custom("a key of it is missing"));
    }
    let is_first = match transaction.query_row("SELECT count(*) FROM tombstones", [], |row| row.get::<_, i64>(0)) {
        Ok(there) => there == 0,
        Err(error) => return Ok(Err(error)),
    };
    let insert = |tombstone: &Tombstone| {
        let Tombstone { id, at, place, about, digests, .. } = tombstone;
        let key = key_of(tombstone).unwrap_or_default();
        insert(transaction, is_first.then_some(*id), key, &at.to_string(), place, about, digests).map(drop)
    };
    Ok(brought.iter().try_for_each(insert))
}

/// Maximum number that a tombstone may bring along, exclusive: beyond it there would soon be none left.
const MAX_BROUGHT_ID: i64 = 1 << 40;

/// Each with a number of its own, which is the one that it had where nothing speaks against it.
fn numbered(mut all: Vec<Tombstone>) -> Vec<Tombstone> {
    let known = all.iter().map(|tombstone| tombstone.id).filter(|id| *id < MAX_BROUGHT_ID);
    let (mut next, mut taken) = (known.max().unwrap_or_default().max(0) + 1, std::collections::HashSet::new());
    for tombstone in &mut all {
        if !(1..MAX_BROUGHT_ID).contains(&tombstone.id) || !taken.insert(tombstone.id) {
            tombstone.id = next;
            taken.insert(next);
            next += 1;
        }
    }
    all
}

/// What was forgotten, to be asked, with the keys that it was made with.
pub type KnownTombstones = (Arc<Tombstones>, Vec<DigestKey>);

/// What was forgotten, and the bytes of the keys that it was made with.
type KeyedTombstones = (Vec<Tombstone>, Vec<[u8; 32]>);

/// What an archive has brought, and the keys that it was made with; nothing where it brings nothing of the kind.
fn brought(file: &Path, key_file: &Path) -> Result<KeyedTombstones, StateError> {
    let bytes = match std::fs::read(file) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok((Vec::new(), Vec::new())),
        read => read.on("read", file)?,
    };
    let damaged = |path: &Path, reason: String| StateError::Damaged { path: path.to_owned(), reason };
    let all: Vec<Tombstone> = serde_json::from_slice(&bytes).map_err(|error| damaged(file, error.to_string()))?;
    if all.is_empty() {
        return Ok((Vec::new(), Vec::new()));
    }
    let keys = std::fs::read(key_file).on("read", key_file)?;
    let keys = keys_of(&keys).ok_or_else(|| damaged(key_file, "it is no key".into()))?;
    match all.iter().find(|tombstone| tombstone.key >= keys.len()) {
        Some(_) => Err(damaged(key_file, "a key is missing".into())),
        None => Ok((all, keys)),
    }
}

/// What an archive has brought as files in `folder`, and what was forgotten in the vault of a `state`, which the vault that is made will
/// know: those files are written anew with all of it. `None` where nothing was forgotten.
///
/// # Errors
/// When it cannot be read or written.
pub fn join_brought(folder: &Path, state: Option<&Arc<State>>) -> Result<Option<KnownTombstones>, StateError> {
    let (file, key_file) = (folder.join(FILE), folder.join(KEY));
    let (mut all, mut keys) = brought(&file, &key_file)?;
    let before = all.len();
    if let Some(state) = state {
        let (known, known_keys) = (TombstoneTable::new(state).all()?, state.key_bytes()?);
        let place = |keys: &mut Vec<[u8; 32]>, key: &[u8; 32]| {
            keys.iter().position(|known| known == key).unwrap_or_else(|| {
                keys.push(*key);
                keys.len() - 1
            })
        };
        for tombstone in &known.all {
            let Some(key) = known_keys.get(tombstone.key) else { continue };
            let one = Tombstone { key: place(&mut keys, key), ..tombstone.clone() };
            let is_same =
                |other: &Tombstone| (other.at, other.key) == (one.at, one.key) && other.digests == one.digests;
            if !all[..before].iter().any(is_same) {
                all.push(one);
            }
        }
    }
    if all.len() > before {
        all = numbered(all);
        create_private_dir(folder)?;
        let json = serde_json::to_vec(&all).map_err(std::io::Error::other).on("encode", &file)?;
        write_atomically(&key_file, &keys.concat(), 0o600)?;
        write_atomically(&file, &json, 0o600)?;
    }
    let keys = keys.into_iter().map(DigestKey::new).collect();
    Ok((!all.is_empty()).then(|| (Arc::new(Tombstones::new(numbered(all))), keys)))
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
        let id = tables[0].add(Timestamp::now(), "a.md", "{}", &digests).unwrap();
        let all = tables[1].all().unwrap();
        assert_eq!(all.with(&two).map(|found| found.id).collect::<Vec<_>>(), [id]);
        assert_eq!(all.all[0].digests, digests);
        tables[1].set_place(id, "notes/", "[]").unwrap();
        assert_eq!(tables[0].all().unwrap().all[0].place, "notes/");
        assert!(tables[1].remove(id).unwrap() && !tables[0].remove(id).unwrap());
        assert_eq!(tables[0].all().unwrap().with(&one).count(), 0);
        assert_ne!(tables[0].add(Timestamp::now(), "a.md", "{}", &digests).unwrap(), id, "no number is given twice");
    }

    #[test]
    fn the_key_is_its_own_file_and_without_it_nothing_is_known_again() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let table = TombstoneTable::new(&state);
        let digest = state.key_or_new().unwrap().digest("x", &[b"one"]);
        table.add(Timestamp::now(), "a.md", "{}", &[(ForgottenKind::Text, digest)]).unwrap();
        let path = folder.path().join(KEY_FILE);
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let key = std::fs::read(&path).unwrap();
        let database = std::fs::read(state.file()).unwrap();
        assert!(!database.windows(key.len()).any(|bytes| bytes == key), "it lies apart");
        std::fs::write(&path, "cut").unwrap();
        let other = State::in_folder(folder.path());
        assert_ne!(other.key_or_new().unwrap().digest("x", &[b"one"]), digest);
        assert!(TombstoneTable::new(&other).all().unwrap().all.is_empty());
        assert!(other.trouble().unwrap().contains("another key"), "{:?}", other.trouble());
        std::fs::write(&path, key).unwrap();
        assert_eq!(TombstoneTable::new(&State::in_folder(folder.path())).all().unwrap().all.len(), 1);
    }

    #[test]
    fn what_an_archive_brings_and_cannot_be_read_is_no_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, bytes: &[u8]| std::fs::write(folder.path().join(name), bytes).unwrap();
        let brought = || join_brought(folder.path(), None).map(|found| found.map(|(all, _)| all.all.len()));
        assert_eq!(brought().unwrap(), None);
        write(FILE, b"[]");
        assert_eq!(brought().unwrap(), None);
        let one = Tombstone {
            id: 1,
            at: Timestamp::now(),
            place: "a.md".into(),
            about: "{}".into(),
            digests: vec![],
            key: 0,
        };
        write(FILE, &serde_json::to_vec(&[one]).unwrap());
        assert!(brought().is_err(), "there is no key");
        write(KEY, b"short");
        assert!(brought().unwrap_err().to_string().contains("forgotten.key"));
        write(KEY, &[7; 32]);
        assert_eq!(brought().unwrap(), Some(1));
        write(FILE, b"{");
        assert!(brought().unwrap_err().to_string().contains("forgotten.json"));
    }

    const KEY_FILE: &str = KEY;

    /// Whoever unpacks an archive of a vault in another that has forgotten something, too.
    #[test]
    fn what_two_vaults_have_forgotten_is_known_each_by_its_key() {
        let folders = [(); 4].map(|()| tempfile::tempdir().unwrap());
        let states = folders.each_ref().map(|folder| State::in_folder(folder.path()));
        let forget = |state: &Arc<State>, text: &str| {
            let digest = state.key_or_new().unwrap().digest("x", &[text.as_bytes()]);
            TombstoneTable::new(state).add(Timestamp::now(), "a.md", "{}", &[(ForgottenKind::Text, digest)]).unwrap();
        };
        let knows = |state: &Arc<State>, text: &str| {
            let all = TombstoneTable::new(state).all().unwrap();
            state.keys().unwrap().iter().any(|key| all.with(&key.digest("x", &[text.as_bytes()])).count() == 1)
        };
        let unpack = |of: &Arc<State>, into: &tempfile::TempDir, by: &Arc<State>| {
            for (name, bytes) in TombstoneTable::new(of).as_files().unwrap() {
                std::fs::write(into.path().join(name), bytes).unwrap();
            }
            join_brought(into.path(), Some(by)).unwrap().unwrap()
        };
        forget(&states[0], "one");
        forget(&states[1], "two");
        let (all, keys) = unpack(&states[0], &folders[2], &states[1]);
        assert_eq!((all.all.len(), keys.len()), (2, 2));
        assert!(knows(&states[2], "one") && knows(&states[2], "two") && !knows(&states[0], "two"));
        assert!(!folders[2].path().join(FILE).exists(), "it was taken over");
        // What comes now has the first key, and all of it goes on to the next vault, each once.
        forget(&states[2], "three");
        let (all, _) = unpack(&states[2], &folders[3], &states[1]);
        assert_eq!(all.all.len(), 3);
        assert!(["one", "two", "three"].iter().all(|text| knows(&states[3], text)));
        let mut ids: Vec<i64> = all.all.iter().map(|tombstone| tombstone.id).collect();
        ids.dedup();
        assert_eq!(ids.len(), 3);
    }

    #[test]
    fn a_row_that_was_changed_by_another_hand_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        let state = State::in_folder(folder.path());
        let table = TombstoneTable::new(&state);
        table.add(Timestamp::now(), "a.md", "{}", &[]).unwrap();
        let hand = Connection::open(state.file()).unwrap();
        hand.execute("UPDATE tombstones SET place = 'b.md'", []).unwrap();
        assert!(TombstoneTable::new(&state).all().unwrap().all.is_empty());
        assert!(state.trouble().unwrap().contains("is damaged"));
    }
}
