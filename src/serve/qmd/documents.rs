//! The documents of an index in a small SQLite database, where other programs look up which file a hash means.
//!
//! It holds names, titles, hashes and times, of no note that a search would not give, and is kept true by transactions with a rollback journal: a
//! program that has it open reads what was there before or after one. What stands in its place and is another program's is
//! renamed, never written.

#[cfg(test)]
mod tests;

use std::cell::Cell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use rusqlite::types::Type;
use rusqlite::{Connection, Row, Transaction, params};
use sha2::{Digest as _, Sha256};

use super::collections::{AGENT, QmdCollections, page_of};
use super::database::{DocumentsDatabase, identity};
use super::place::{IndexPaths, QmdError};
use crate::access::rules::{Globs, Grant, Policy, Session, Subject, is_agents_elsewhere, may_read};
use crate::base::config::{CollectionConfig, Config};
use crate::base::path::VaultPath;
use crate::text::derive::note_sources;
use crate::text::note::Note;
use crate::vault::disk::{NoteRules, Outside, ReadError, Stamp, globs, is_note, read, scan};

/// What has changed since the documents were looked at last.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DocumentChanges {
    /// New ones.
    pub new: usize,
    /// Those whose text is another.
    pub updated: usize,
    /// Those that are as they were.
    pub unchanged: usize,
    /// Those that are gone, or private now.
    pub removed: usize,
}

impl fmt::Display for DocumentChanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { new, updated, unchanged, removed } = self;
        write!(f, "{new} new, {updated} updated, {unchanged} unchanged, {removed} removed")
    }
}

/// The documents of one index.
pub(crate) struct QmdDocuments {
    database: DocumentsDatabase,
    /// Whose rows are this index's: its folder. Another index may have the same file.
    owner: String,
    collections: Vec<CollectionConfig>,
    files: SeenFiles,
    names: BTreeMap<String, String>,
    /// Whether it is just being made anew.
    is_healing: Cell<bool>,
}

impl QmdDocuments {
    /// Opens the database of an index, and makes it where there is none.
    ///
    /// # Errors
    /// When it cannot be written, or the collections make no sense together.
    pub(crate) fn open(place: &IndexPaths, collections: &QmdCollections) -> Result<Self, QmdError> {
        let in_vault = collections.in_vault();
        let names = collections.collections.iter();
        let names = names.map(|collection| (collection.name.clone(), collection.name_in_vault())).collect();
        if place.database.symlink_metadata().is_err() {
            place.keep_from_repository()?;
        }
        Ok(Self {
            database: DocumentsDatabase::open(&place.database)?,
            owner: place.folder.to_string_lossy().into_owned(),
            files: SeenFiles::of(&place.folder, &in_vault)?,
            collections: in_vault,
            names,
            is_healing: Cell::new(false),
        })
    }

    /// Which file the database of an index is now, if there is one: its device and its inode.
    pub(crate) fn database_id(place: &IndexPaths) -> Option<(u64, u64)> {
        identity(&place.database)
    }

    /// Compares all documents of an index with the files, where it has collections; gives the file of the database that has them.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn refresh_at(place: &IndexPaths) -> Result<Option<(u64, u64)>, QmdError> {
        let Some(collections) = QmdCollections::load(place)? else { return Ok(Self::database_id(place)) };
        let documents = Self::open(place, &collections)?;
        documents.compare()?;
        Ok(Some(documents.database.id()))
    }

    /// Whether all documents of the database were looked at by the rules of now.
    fn is_current(&self) -> Result<bool, QmdError> {
        let digests = self.rows("SELECT digest FROM rules WHERE owner = ?", [&self.owner], |row| row.get(0))?;
        Ok(digests.first() == Some(&self.files.rules_digest))
    }

    /// Asks the database. One that turns out to be damaged is put aside, made anew from the files, and asked again: all of it is derived.
    fn ask_whole<T>(&self, ask: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> Result<T, QmdError> {
        match self.database.ask(&ask) {
            Err(error) if error.is_damage() && !self.is_healing.replace(true) => {
                let healed = self.database.put_damaged_aside().and_then(|()| self.compare().map(drop));
                self.is_healing.set(false);
                healed?;
                self.database.ask(&ask)
            }
            asked => asked,
        }
    }

    /// Where a document is on disk.
    pub(crate) fn on_disk(&self, document: &QmdDocument) -> Option<PathBuf> {
        Some(self.files.on_disk(&self.vault_path(&document.collection, &document.path)?))
    }

    fn vault_path(&self, collection: &str, path: &str) -> Option<VaultPath> {
        VaultPath::new(format!("{}/{path}", self.names.get(collection)?)).ok()
    }

    /// The document at a path with its text, as its file is now; `None` where there is none to be seen. The table follows.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn look(&self, collection: &str, path: &str) -> Result<Option<(QmdDocument, String)>, QmdError> {
        let Some(in_vault) = self.vault_path(collection, path) else { return Ok(None) };
        let mut fresh: Vec<_> = self.files.read(&in_vault).map(|read| (path.to_owned(), read)).into_iter().collect();
        let document = fresh.first().map(|(path, read)| QmdDocument::of_read(collection, path, read));
        let known = self.ask("owner = ?1 AND collection = ?2 AND path = ?3", [&*self.owner, collection, path])?.pop();
        if known != document {
            let gone = if fresh.is_empty() { vec![path.to_owned()] } else { Vec::new() };
            self.write_changes(collection, &fresh, &gone)?;
        }
        Ok(document.zip(fresh.pop().map(|(_, read)| read.text)))
    }

    /// Compares all documents with the files, and gives what has changed in each collection.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn refresh(&mut self) -> Result<BTreeMap<String, DocumentChanges>, QmdError> {
        // The person may have changed them.
        self.files = SeenFiles::of(&self.files.root, &self.collections)?;
        self.compare()
    }

    /// The same, by the rules as they were read last.
    fn compare(&self) -> Result<BTreeMap<String, DocumentChanges>, QmdError> {
        let is_current = self.is_current()?;
        let mut all = BTreeMap::new();
        for (name, in_vault) in &self.names {
            let Ok(start) = VaultPath::new(in_vault.as_str()) else { continue };
            all.insert(name.clone(), self.compare_collection(name, &start, is_current)?);
        }
        self.drop_other_collections()?;
        self.drop_other_indexes()?;
        if !is_current {
            let row = [&self.owner, &self.files.rules_digest];
            self.write(|transaction| transaction.execute("INSERT OR REPLACE INTO rules VALUES (?1, ?2)", row))?;
        }
        Ok(all)
    }

    /// Writes those documents of a collection that were read, and takes those away that are gone.
    fn write_changes(&self, collection: &str, fresh: &[(String, SeenText)], gone: &[String]) -> Result<(), QmdError> {
        if fresh.is_empty() && gone.is_empty() {
            return Ok(());
        }
        let is_now = |path: &str, stamp: &Stamp| {
            let on_disk = self.vault_path(collection, path).map(|path| self.files.on_disk(&path));
            let meta = on_disk.and_then(|path| path.symlink_metadata().ok());
            meta.is_some_and(|meta| Stamp::of(&meta) == *stamp)
        };
        self.write(|transaction| {
            // What was changed since it was read, and may be private now, is looked at again by whoever notices that.
            for (path, read) in fresh.iter().filter(|(path, read)| is_now(path, &read.stamp)) {
                put(transaction, &self.owner, &QmdDocument::of_read(collection, path, read), read)?;
            }
            // Their stamps go with them.
            let sql = "DELETE FROM documents WHERE owner = ? AND collection = ? AND path = ?";
            gone.iter().try_for_each(|path| transaction.execute(sql, [&*self.owner, collection, path]).map(drop))
        })
    }

    /// Compares the documents of a collection with its files.
    fn compare_collection(&self, name: &str, start: &VaultPath, is_current: bool) -> Result<DocumentChanges, QmdError> {
        let scan = scan(&self.files.root, &self.files.rules, Some(start));
        let mut changes = DocumentChanges::default();
        let known = self.stamps(name)?;
        let (mut fresh, mut seen) = (Vec::new(), BTreeSet::new());
        for found in &scan.files {
            let Some(path) = found.path.as_str().strip_prefix(start.as_str()).map(|rest| &rest[1..]) else {
                continue;
            };
            match known.get(path) {
                Some((stamp, derived)) if *stamp == found.stamp && is_current && !derived => {
                    changes.unchanged += 1;
                }
                before => match self.files.read(&found.path) {
                    // By other rules, or as what it was made of is seen still.
                    Some(read) if before.is_some_and(|(stamp, _)| *stamp == read.stamp) => changes.unchanged += 1,
                    Some(read) => {
                        *if before.is_some() { &mut changes.updated } else { &mut changes.new } += 1;
                        fresh.push((path.to_owned(), read));
                    }
                    None => continue,
                },
            }
            seen.insert(path.to_owned());
        }
        // While a folder cannot be listed, its files are unknown, not gone.
        let unknown = |path: &str| {
            scan.unreadable.iter().any(|folder| {
                let rest = folder.as_str().strip_prefix(start.as_str()).map(|rest| rest.trim_start_matches('/'));
                rest.is_some_and(|rest| rest.is_empty() || path.starts_with(&format!("{rest}/")))
            })
        };
        let gone: Vec<String> = known.into_keys().filter(|path| !seen.contains(path) && !unknown(path)).collect();
        changes.removed = gone.len();
        self.write_changes(name, &fresh, &gone)?;
        Ok(changes)
    }

    /// Those whose hash begins so.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn by_hash(&self, prefix: &str) -> Result<Vec<QmdDocument>, QmdError> {
        if prefix.is_empty() || !prefix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Vec::new());
        }
        let (first, end) = (prefix.to_ascii_lowercase(), format!("{}g", prefix.to_ascii_lowercase()));
        self.ask("owner = ?1 AND hash >= ?2 AND hash < ?3", params![self.owner, first, end])
    }

    /// All, or those of a collection, by their paths.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn all(&self, collection: Option<&str>) -> Result<Vec<QmdDocument>, QmdError> {
        self.ask("owner = ?1 AND (?2 IS NULL OR collection = ?2)", params![self.owner, collection])
    }

    /// What an answer of the database has in its rows.
    fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params + Copy,
        of: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, QmdError> {
        self.ask_whole(|connection| {
            let mut asked = connection.prepare_cached(sql)?;
            asked.query_map(params, &of)?.collect()
        })
    }

    fn ask(&self, condition: &str, params: impl rusqlite::Params + Copy) -> Result<Vec<QmdDocument>, QmdError> {
        let sql = format!("SELECT {COLUMNS} FROM documents WHERE {condition} ORDER BY collection, path");
        self.rows(&sql, params, QmdDocument::of)
    }

    /// The stamp of each document of a collection, and whether it was made of others.
    fn stamps(&self, collection: &str) -> Result<BTreeMap<String, (Stamp, bool)>, QmdError> {
        let sql = "SELECT path, mtime_ns, ctime_ns, size, inode, derived FROM documents JOIN stamps ON document = id
                   WHERE owner = ? AND collection = ?";
        let row = |row: &Row<'_>| Ok((row.get(0)?, (stamp(row, 1)?, row.get(5)?)));
        Ok(self.rows(sql, [&*self.owner, collection], row)?.into_iter().collect())
    }

    fn write<T>(&self, change: impl Fn(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, QmdError> {
        self.ask_whole(|connection| {
            let transaction = connection.transaction()?;
            let done = change(&transaction)?;
            transaction.commit()?;
            Ok(done)
        })
    }

    /// Drops what is left of indexes whose folder is gone.
    fn drop_other_indexes(&self) -> Result<(), QmdError> {
        let sql = "SELECT DISTINCT owner FROM documents WHERE owner <> ?";
        let owners: Vec<String> = self.rows(sql, [&self.owner], |row| row.get(0))?;
        owners.iter().filter(|owner| !Path::new(owner).exists()).try_for_each(|owner| {
            self.write(|transaction| {
                transaction.execute("DELETE FROM rules WHERE owner = ?", [owner])?;
                transaction.execute("DELETE FROM documents WHERE owner = ?", [owner]).map(drop)
            })
        })
    }

    /// Drops the documents of collections that there are no more. Tells how many.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn drop_other_collections(&self) -> Result<usize, QmdError> {
        let mut dropped = 0;
        let sql = "SELECT DISTINCT collection FROM documents WHERE owner = ?";
        let listed: Vec<String> = self.rows(sql, [&self.owner], |row| row.get(0))?;
        for name in listed.iter().filter(|name| !self.names.contains_key(*name)) {
            let sql = "DELETE FROM documents WHERE owner = ? AND collection = ?";
            dropped += self.write(|transaction| transaction.execute(sql, [&self.owner, name]))?;
        }
        Ok(dropped)
    }

    /// Looks at every page; a database that is damaged anywhere is made anew.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn check(&self) -> Result<(), QmdError> {
        self.ask_whole(|connection| {
            let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            let corrupt = || rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            if said == "ok" { Ok(()) } else { Err(rusqlite::Error::SqliteFailure(corrupt(), Some(said))) }
        })
    }
}

/// What a document is read from.
const COLUMNS: &str = "collection, path, title, hash, modified_at";

/// SHA-256 in hex.
const HASH_DIGITS: usize = 64;

/// A file of a collection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QmdDocument {
    /// Its collection.
    pub collection: String,
    /// Its path there.
    pub path: String,
    /// Its title.
    pub title: String,
    /// SHA-256 of its bytes, 64 hex digits.
    pub hash: String,
    /// When it was last changed, as RFC 3339.
    pub modified_at: String,
}

impl QmdDocument {
    /// The name by which it is given: `#` and six digits of its hash.
    pub(crate) fn docid(&self) -> String {
        format!("#{}", &self.hash[..6])
    }

    /// Its collection and its path there.
    pub(crate) fn name(&self) -> String {
        format!("{}/{}", self.collection, self.path)
    }

    /// Its address: `qmd://collection/path`.
    pub(crate) fn address(&self) -> String {
        format!("qmd://{}", self.name())
    }

    /// That of a file that was read.
    fn of_read(collection: &str, path: &str, read: &SeenText) -> Self {
        let SeenText { text, stamp, title, .. } = read;
        let hash = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let modified_at = jiff::Timestamp::from_nanosecond(stamp.mtime_ns.into()).unwrap_or_default().to_string();
        Self { collection: collection.to_owned(), path: path.to_owned(), title: title.clone(), hash, modified_at }
    }

    /// That of a row which begins with [`COLUMNS`].
    ///
    /// # Errors
    /// When it holds none.
    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        let hash: String = row.get(3)?;
        if hash.len() != HASH_DIGITS || !hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let why = format!("{hash:?} is no hash").into();
            return Err(rusqlite::Error::FromSqlConversionFailure(3, Type::Text, why));
        }
        Ok(Self { collection: row.get(0)?, path: row.get(1)?, title: row.get(2)?, hash, modified_at: row.get(4)? })
    }
}

/// What was read of a note that programs may see.
#[derive(Debug)]
struct SeenText {
    text: String,
    stamp: Stamp,
    title: String,
    /// Whether it was made of other notes, so that it is seen where those are, though it is as it was.
    derived: bool,
}

/// A stamp, from a column on.
///
/// # Errors
/// When the columns hold none.
fn stamp(row: &Row<'_>, at: usize) -> rusqlite::Result<Stamp> {
    // SQLite has no numbers without a sign.
    let bits = |number: i64| number as u64;
    Ok(Stamp {
        mtime_ns: row.get(at)?,
        ctime_ns: row.get(at + 1)?,
        size: bits(row.get(at + 2)?),
        inode: bits(row.get(at + 3)?),
    })
}

/// Writes a document, with the stamp of the file that it was read from.
///
/// # Errors
/// When the database cannot be written.
fn put(transaction: &Transaction<'_>, owner: &str, document: &QmdDocument, read: &SeenText) -> rusqlite::Result<()> {
    let QmdDocument { collection, path, title, hash, modified_at: at } = document;
    let SeenText { stamp, derived, .. } = read;
    let sql = "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, active, owner)
               VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1, ?6)
               ON CONFLICT(owner, collection, path) DO UPDATE SET title = ?3, hash = ?4, modified_at = ?5, active = 1
               RETURNING id";
    let id: i64 = transaction.query_row(sql, params![collection, path, title, hash, at, owner], |row| row.get(0))?;
    let stamp = params![id, stamp.mtime_ns, stamp.ctime_ns, stamp.size as i64, stamp.inode as i64, derived];
    transaction.execute("INSERT OR REPLACE INTO stamps VALUES (?1, ?2, ?3, ?4, ?5, ?6)", stamp).map(drop)
}

/// How often a file is looked at that is just being written, and how long after.
const LOOKS: usize = 5;
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Maximum number of notes that one may have been made of, each of another: of more it is not known whether all are seen.
const MAX_SOURCES: usize = 500;

/// The files of an index's collections, as far as programs may see them: by what the page of its agent gives, as its searches have it, and
/// by the rules as they were when this was made.
#[derive(Clone)]
struct SeenFiles {
    root: PathBuf,
    places: Outside,
    rules: NoteRules,
    /// `None` where nothing is given.
    grant: Option<Grant>,
    /// Private by their place.
    private: Globs,
    /// Another, where any rule is another.
    rules_digest: String,
    max_file_bytes: u64,
}

impl SeenFiles {
    /// Those of the collections of an index, by what its `memory.toml` and its agent's page say now. A page that cannot be read gives nothing.
    ///
    /// # Errors
    /// When the configuration cannot be read, or the collections make no sense together.
    fn of(root: &Path, collections: &[CollectionConfig]) -> Result<Self, QmdError> {
        let wrong = |error: &dyn std::fmt::Display| QmdError::Refused(error.to_string());
        let config = Config::load(root).map_err(|error| wrong(&error))?;
        let places = Outside::new(root, collections).map_err(|error| wrong(&error))?;
        let Config { index, access, .. } = &config;
        let rules = NoteRules::new(root, &index.exclude).map_err(|error| wrong(&error))?;
        let private = globs("access.private", &access.private).map_err(|error| wrong(&error))?;
        let page = fs::read_to_string(page_of(root)).unwrap_or_default();
        let policy = Policy::parse(&Note::parse(&page, AGENT).metadata);
        let counts = !policy.is_expired(jiff::Timestamp::now()) && may_read(&config.scope, &Session::direct());
        let all = format!("{counts} {page} {:?} {:?} {}", access.private, index.exclude, index.max_file_bytes);
        Ok(Self {
            root: root.to_owned(),
            rules: rules.with(&places, false),
            places,
            grant: policy.grant.map(|grant| grant.with_folders(&config.collections)).filter(|_| counts),
            private,
            rules_digest: blake3::hash(all.as_bytes()).to_hex().to_string(),
            max_file_bytes: index.max_file_bytes,
        })
    }

    /// Whether a note is given, whatever it was made of.
    fn gives(&self, path: &VaultPath, note: &Note) -> bool {
        let private = note.is_private() || self.private.is_match(path.as_str());
        let subject = Subject { path: path.as_str(), tags: &note.tags, doubtful: &note.doubtful, private };
        self.grant.as_ref().is_some_and(|grant| grant.refusal(&subject).is_none())
    }

    /// Where a file is.
    fn on_disk(&self, path: &VaultPath) -> PathBuf {
        self.places.on_disk(&self.root, path)
    }

    /// What is read of a file; `None` for what is no note that programs may see.
    fn read(&self, path: &VaultPath) -> Option<SeenText> {
        self.read_with_sources(path, &mut BTreeSet::new())
    }

    /// The same, given the notes that were made of it: in a circle each is seen where all others are.
    fn read_with_sources(&self, path: &VaultPath, above: &mut BTreeSet<String>) -> Option<SeenText> {
        // A link on the way leads out of the collection.
        if above.len() > MAX_SOURCES || !is_note(&self.root, &self.rules, path) {
            return None;
        }
        let (folder, Some(within)) = self.places.place(&self.root, path) else { return None };
        if is_agents_elsewhere(within.as_str()) {
            return None;
        }
        for _ in 0..LOOKS {
            match read(folder, &within, self.max_file_bytes) {
                Ok(source) => {
                    let note = Note::parse(&source.text, path.stem());
                    if !self.gives(path, &note) {
                        return None;
                    }
                    above.insert(path.to_string());
                    let elsewhere = self.places.of(path).map(|outside| &outside.name);
                    let sources = note_sources(&note, &within, elsewhere, &source.text);
                    for named in &sources {
                        if above.contains(named) {
                            continue;
                        }
                        self.read_with_sources(&VaultPath::new(named.as_str()).ok()?, above)?;
                    }
                    let derived = !sources.is_empty();
                    return Some(SeenText { text: source.text, stamp: source.stamp, title: note.title, derived });
                }
                Err(ReadError::Changing) => std::thread::sleep(LOOK_AGAIN),
                Err(ReadError::Gone | ReadError::Unfit(_)) => break,
            }
        }
        None
    }
}
