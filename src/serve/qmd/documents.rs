//! The documents of an index in a small SQLite database, where other programs look up which file a hash means.
//!
//! It holds names, titles, hashes and times, of no note that a search would not give, and is kept true by transactions with a rollback journal: a
//! program that has it open reads what was there before or after one. What stands in its place and is another program's is
//! renamed, never written.

#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fmt, fs};

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_encode};
use rusqlite::types::Type;
use rusqlite::{Connection, OpenFlags, Row, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use super::collections::{AGENT, QmdCollections, page_of};
use super::place::{IndexPaths, QmdError};
use crate::access::rules::{Globs, Grant, Policy, Session, Subject, is_agents_elsewhere, may_read};
use crate::base::config::{CollectionConfig, Config};
use crate::base::fs::{Context, FsError, create_private_dir, move_new, write_beside};
use crate::base::path::VaultPath;
use crate::text::derive::note_sources;
use crate::text::note::Note;
use crate::vault::disk::{NoteRules, Outside, Stamp, globs, is_note, read, scan};

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
    files: SeenFiles,
    names: BTreeMap<String, String>,
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
            names,
        })
    }

    /// Which file the database of an index is now, if there is one.
    pub(crate) fn database_id(place: &IndexPaths) -> Option<DatabaseFileId> {
        identity(&place.database)
    }

    /// Compares all documents of an index with the files, where it has collections; gives the file of the database that has them.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn refresh_at(place: &IndexPaths) -> Result<Option<DatabaseFileId>, QmdError> {
        let Some(collections) = QmdCollections::load(place)? else { return Ok(Self::database_id(place)) };
        let documents = Self::open(place, &collections)?;
        documents.refresh()?;
        Ok(Some(documents.database.id()))
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
        let read = self.read(collection, path);
        let document = read.as_ref().map(|(document, _)| document);
        let known = self.ask("owner = ?1 AND collection = ?2 AND path = ?3", [&*self.owner, collection, path])?;
        if known.first() != document {
            self.write_changes(collection, document, document.is_none().then_some(path))?;
        }
        Ok(read)
    }

    /// The document that a file is, with its text; `None` for what is no note that programs may see.
    fn read(&self, collection: &str, path: &str) -> Option<(QmdDocument, String)> {
        let SeenText { text, title, stamp, derived } = self.files.read(&self.vault_path(collection, path)?)?;
        let hash = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        let modified_at = jiff::Timestamp::from_nanosecond(stamp.mtime_ns.into()).unwrap_or_default().to_string();
        let stamp = format!("{}{}", if derived { DERIVED } else { "" }, self.files.stamp(&stamp));
        let (collection, path) = (collection.to_owned(), path.to_owned());
        Some((QmdDocument { collection, path, title, hash, modified_at, stamp }, text))
    }

    /// Compares all documents with the files, and gives what has changed in each collection.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn refresh(&self) -> Result<BTreeMap<String, DocumentChanges>, QmdError> {
        loop {
            let (id, mut all) = (self.database.id(), BTreeMap::new());
            for (name, in_vault) in &self.names {
                let Ok(start) = VaultPath::new(in_vault.as_str()) else { continue };
                all.insert(name.clone(), self.compare_collection(name, &start)?);
            }
            self.drop_others()?;
            // Else it was damaged, and the one that took its place may have only some of them.
            if self.database.id() == id {
                return Ok(all);
            }
        }
    }

    /// Writes those documents of a collection that were read, and takes those away that are gone.
    fn write_changes<'d>(
        &self,
        collection: &str,
        fresh: impl IntoIterator<Item = &'d QmdDocument> + Clone,
        gone: impl IntoIterator<Item = &'d str> + Clone,
    ) -> Result<(), QmdError> {
        let is_now = |document: &QmdDocument| {
            let meta = self.on_disk(document).and_then(|path| path.symlink_metadata().ok());
            meta.is_some_and(|meta| document.stamp.ends_with(&self.files.stamp(&Stamp::of(&meta))))
        };
        self.database.ask(|connection| {
            let transaction = connection.transaction()?;
            let sql = "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, owner, stamp)
                       VALUES (?1, ?2, ?3, ?4, ?5, ?5, ?6, ?7)
                       ON CONFLICT(owner, collection, path) DO UPDATE
                       SET title = ?3, hash = ?4, modified_at = ?5, stamp = ?7";
            // What was changed since it was read, and may be private now, is looked at again by whoever notices that.
            for document in fresh.clone().into_iter().filter(|document| is_now(document)) {
                let QmdDocument { collection, path, title, hash, modified_at, stamp } = document;
                transaction.execute(sql, params![collection, path, title, hash, modified_at, self.owner, stamp])?;
            }
            let sql = "DELETE FROM documents WHERE owner = ? AND collection = ? AND path = ?";
            for path in gone.clone() {
                transaction.execute(sql, [&*self.owner, collection, path])?;
            }
            transaction.commit()
        })
    }

    /// Compares the documents of a collection with its files.
    fn compare_collection(&self, name: &str, start: &VaultPath) -> Result<DocumentChanges, QmdError> {
        let scan = scan(&self.files.root, &self.files.rules, Some(start));
        let within = |path: &VaultPath| {
            let below = path.as_str().strip_prefix(start.as_str())?;
            Some(below.trim_start_matches('/').to_owned())
        };
        let mut changes = DocumentChanges::default();
        let known = self.all(Some(name))?.into_iter().map(|document| (document.path.clone(), document));
        let mut known: BTreeMap<String, QmdDocument> = known.collect();
        let mut fresh = Vec::new();
        for found in &scan.files {
            let Some(path) = within(&found.path) else { continue };
            if known.get(&path).is_some_and(|before| before.stamp == self.files.stamp(&found.stamp)) {
                known.remove(&path);
                changes.unchanged += 1;
                continue;
            }
            let Some((document, _)) = self.read(name, &path) else { continue };
            let before = known.remove(&path);
            match &before {
                None => changes.new += 1,
                Some(before) if before.hash == document.hash => changes.unchanged += 1,
                Some(_) => changes.updated += 1,
            }
            fresh.extend((before.as_ref() != Some(&document)).then_some(document));
        }
        // While a folder cannot be listed, its files are unknown, not gone.
        let unreadable: Vec<String> = scan.unreadable.iter().filter_map(within).collect();
        known.retain(|path, _| {
            !unreadable.iter().any(|folder| folder.is_empty() || path.starts_with(&format!("{folder}/")))
        });
        changes.removed = known.len();
        if !(fresh.is_empty() && known.is_empty()) {
            self.write_changes(name, &fresh, known.keys().map(String::as_str))?;
        }
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
        self.database.ask(|connection| {
            let mut asked = connection.prepare_cached(sql)?;
            asked.query_map(params, &of)?.collect()
        })
    }

    fn ask(&self, condition: &str, params: impl rusqlite::Params + Copy) -> Result<Vec<QmdDocument>, QmdError> {
        let sql = format!("SELECT {COLUMNS} FROM documents WHERE {condition} ORDER BY collection, path");
        self.rows(&sql, params, QmdDocument::of)
    }

    /// Drops the documents of collections that there are no more, and tells how many; and what is left of indexes whose folder is gone.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn drop_others(&self) -> Result<usize, QmdError> {
        let sql = "SELECT DISTINCT owner, collection FROM documents";
        let listed: Vec<(String, String)> = self.rows(sql, [], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let mut dropped = 0;
        for (owner, name) in &listed {
            let is_own = *owner == self.owner;
            let stays = if is_own { self.names.contains_key(name) } else { Path::new(owner).exists() };
            if !stays {
                let sql = "DELETE FROM documents WHERE owner = ? AND collection = ?";
                let rows = self.database.ask(|all| all.execute(sql, [owner, name]))?;
                dropped += if is_own { rows } else { 0 };
            }
        }
        Ok(dropped)
    }

    /// Looks at every page; in the place of a database that is damaged anywhere there is an empty one then.
    ///
    /// # Errors
    /// When it cannot be used.
    pub(crate) fn check(&self) -> Result<(), QmdError> {
        self.database.ask(|connection| {
            let said: String = connection.query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))?;
            let corrupt = || rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT);
            if said == "ok" { Ok(()) } else { Err(rusqlite::Error::SqliteFailure(corrupt(), Some(said))) }
        })
    }
}

/// What a document is read from.
const COLUMNS: &str = "collection, path, title, hash, modified_at, stamp";

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
    /// Another, where its file or the rules by which it is seen may be others.
    stamp: String,
}

/// How the stamp of a document begins that was made of other notes: it is seen where those are, though it is as it was.
const DERIVED: &str = "of others ";

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
        let (collection, path, title) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(Self { collection, path, title, hash, modified_at: row.get(4)?, stamp: row.get(5)? })
    }
}

/// What was read of a note that programs may see.
#[derive(Debug)]
struct SeenText {
    text: String,
    stamp: Stamp,
    title: String,
    /// Whether it was made of other notes.
    derived: bool,
}

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
            grant: policy.grant.map(|grant| grant.with_folders(collections)).filter(|_| counts),
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

    /// What says that a file, and the rules, are as they were.
    fn stamp(&self, Stamp { mtime_ns, ctime_ns, size, inode }: &Stamp) -> String {
        format!("{mtime_ns} {ctime_ns} {size} {inode} {}", self.rules_digest)
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
        let source = read(folder, &within, self.max_file_bytes).ok()?;
        let note = Note::parse(&source.text, path.stem());
        if !self.gives(path, &note) {
            return None;
        }
        above.insert(path.to_string());
        let elsewhere = self.places.of(path).map(|outside| &outside.name);
        let sources = note_sources(&note, &within, elsewhere, &source.text);
        for named in &sources {
            if !above.contains(named) {
                self.read_with_sources(&VaultPath::new(named.as_str()).ok()?, above)?;
            }
        }
        let derived = !sources.is_empty();
        Some(SeenText { text: source.text, stamp: source.stamp, title: note.title, derived })
    }
}

/// `vqmd`: whose database it is.
const APPLICATION: i64 = 0x7671_6d64;

/// Raised when the table is another than before.
const VERSION: i64 = 5;

/// How long a connection waits for another's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of files that are put aside because they stood in the place of ours.
const MAX_SET_ASIDE: usize = 100;

/// The first line drops what former versions had: all of it is derived.
const SCHEMA: &str = "
DROP TABLE IF EXISTS documents; DROP TABLE IF EXISTS stamps; DROP TABLE IF EXISTS rules;
CREATE TABLE documents(
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL, hash TEXT NOT NULL,
    created_at TEXT NOT NULL, modified_at TEXT NOT NULL, active INTEGER NOT NULL DEFAULT 1, owner TEXT NOT NULL,
    stamp TEXT NOT NULL, UNIQUE(owner, collection, path));
CREATE INDEX documents_by_hash ON documents(hash);
";

/// The database of the documents at a path.
struct DocumentsDatabase {
    file: PathBuf,
    /// The connection, and the file that it is of.
    open: RefCell<(Connection, DatabaseFileId)>,
}

/// Which file it is, by whatever name: its device and its inode.
pub(crate) type DatabaseFileId = (u64, u64);

impl DocumentsDatabase {
    /// Opens the one at a path, and makes it where there is none of ours.
    ///
    /// # Errors
    /// When it cannot be written.
    fn open(file: &Path) -> Result<Self, QmdError> {
        Ok(Self { file: file.to_owned(), open: RefCell::new(open(file, None)?) })
    }

    /// Which file is open.
    fn id(&self) -> DatabaseFileId {
        self.open.borrow().1
    }

    /// Asks it. Where it turns out to be damaged, an empty one takes its place and is asked: all of it comes from the files again.
    ///
    /// # Errors
    /// When it cannot answer.
    pub(super) fn ask<T>(&self, ask: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> Result<T, QmdError> {
        let (mut open_now, wrong) = (self.open.borrow_mut(), QmdError::of(&self.file));
        match ask(&mut open_now.0).map_err(&wrong) {
            // What another process put aside in the middle of this fails in ways of its own.
            Err(error) if error.is_damage() || identity(&self.file) != Some(open_now.1) => {
                *open_now = open(&self.file, Some(open_now.1))?;
                ask(&mut open_now.0).map_err(wrong)
            }
            asked => asked,
        }
    }
}

/// Which file stands at a path, if any; a folder or a link is none.
fn identity(file: &Path) -> Option<DatabaseFileId> {
    let meta = file.symlink_metadata().ok()?;
    meta.is_file().then(|| (meta.dev(), meta.ino()))
}

/// Opens the database at a path. What cannot be one of ours, or is the one that is `damaged`, is put aside, and an empty one is made. Whoever
/// has an index in this folder waits for the same lock, so that nobody puts aside what another has just made.
fn open(file: &Path, damaged: Option<DatabaseFileId>) -> Result<(Connection, DatabaseFileId), QmdError> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    create_private_dir(folder)?;
    let guard = File::open(folder).on("open", folder)?;
    guard.lock().on("lock", folder)?;
    // Known before it is opened: what takes its place meanwhile is seen to be another.
    if let Some(id) = identity(file).filter(|id| Some(*id) != damaged && is_ours(file)) {
        match connect(file) {
            Err(error) if error.is_damage() => {}
            connected => return Ok((connected?, id)),
        }
    }
    set_aside(file)?;
    move_new(&write_beside(folder, b"", Some(0o600))?, file)?;
    let id = identity(file).unwrap_or_default();
    Ok((connect(file)?, id))
}

/// What of a path is written as it is in the address of a database.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'/');

/// Whether a database of ours is at a path. It is asked as one that does not change: so SQLite takes no lock, and reads the mark also where
/// a writer is at work or was killed. (To open and close the file beside SQLite would release the locks that this process has on it.)
fn is_ours(file: &Path) -> bool {
    let address = format!("file://{}?immutable=1", percent_encode(file.as_os_str().as_bytes(), PLAIN));
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mark = Connection::open_with_flags(address, flags)
        .and_then(|connection| connection.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0)));
    mark.is_ok_and(|mark| mark == APPLICATION)
}

/// Connects to a database of ours; one that is new or of another version gets its table.
fn connect(file: &Path) -> Result<Connection, QmdError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connect = || {
        let mut connection = Connection::open_with_flags(file, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_transaction_behavior(TransactionBehavior::Immediate);
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        let version: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
        if version != VERSION {
            let transaction = connection.transaction()?;
            transaction.execute_batch(SCHEMA)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()?;
        }
        Ok(connection)
    };
    connect().map_err(QmdError::of(file))
}

/// Renames what stands at a path, with what SQLite keeps beside it.
fn set_aside(file: &Path) -> Result<(), FsError> {
    if file.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
        return Ok(());
    }
    let with = |path: &Path, end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    for number in 0..MAX_SET_ASIDE {
        let to = with(file, &if number == 0 { ".before".into() } else { format!(".before-{number}") });
        match move_new(file, &to) {
            Err(error) if error.source.kind() == ErrorKind::AlreadyExists => {}
            moved => {
                moved?;
                for end in ["-wal", "-shm", "-journal"] {
                    // Most of them are not there.
                    drop(move_new(&with(file, end), &with(&to, end)));
                }
                tracing::warn!("{} cannot be used, and is now {}", file.display(), to.display());
                return Ok(());
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into()).on("rename", file)
}
