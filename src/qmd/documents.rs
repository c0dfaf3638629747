//! The documents of an index in a small SQLite database, where other programs look up which file a hash means.
//!
//! It holds names, titles, hashes and times, of no private note, and is kept true by transactions with a rollback journal: a
//! program that has it open reads what was there before or after one. What stands in its place and is another program's is
//! renamed, never written.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Row, Transaction, TransactionBehavior, params};
use sha2::{Digest as _, Sha256};

use super::collection::QmdCollections;
use super::error::QmdError;
use super::place::IndexPlace;
use crate::config::CollectionConfig;
use crate::fs::{Context, FsError, create_private_dir, move_new};
use crate::note::{Note, Visibility};
use crate::path::VaultPath;
use crate::vault::{NoteRules, Outside, ReadError, Stamp, is_note, read, scan};

/// `vqmd`: whose database it is.
const APPLICATION: i64 = 0x7671_6d64;

/// How long a connection waits for another's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// As `[index] max_file_bytes` has it: what is longer is not indexed.
const MAX_FILE_BYTES: u64 = 20_000_000;

/// How often a file is looked at that is just being written, and how long after.
const LOOKS: usize = 5;
const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// How many files may be put aside that stood in the place of ours.
const MAX_SET_ASIDE: usize = 100;

const SCHEMA: &str = "
CREATE TABLE documents(
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL, hash TEXT NOT NULL,
    created_at TEXT NOT NULL, modified_at TEXT NOT NULL, active INTEGER NOT NULL DEFAULT 1, UNIQUE(collection, path));
CREATE INDEX documents_by_hash ON documents(hash);
CREATE TABLE stamps(
    document INTEGER PRIMARY KEY, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
    inode INTEGER NOT NULL);
";

const COLUMNS: &str = "collection, path, title, hash, modified_at";

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
    /// The name by which it is given: six digits of its hash.
    pub(crate) fn docid(&self) -> &str {
        &self.hash[..6]
    }

    /// Its address: `qmd://collection/path`.
    pub(crate) fn address(&self) -> String {
        format!("qmd://{}/{}", self.collection, self.path)
    }

    fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            collection: row.get(0)?,
            path: row.get(1)?,
            title: row.get(2)?,
            hash: row.get(3)?,
            modified_at: row.get(4)?,
        })
    }
}

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

/// The documents of one index.
pub(crate) struct QmdDocuments {
    connection: Connection,
    file: PathBuf,
    places: Outside,
    rules: NoteRules,
    root: PathBuf,
    names: BTreeMap<String, String>,
}

impl QmdDocuments {
    /// Opens the database of an index, and makes it where there is none.
    ///
    /// # Errors
    /// When it cannot be written, or the collections make no sense together.
    pub(crate) fn open(place: &IndexPlace, collections: &QmdCollections) -> Result<Self, QmdError> {
        let file = place.database.clone();
        create_private_dir(file.parent().unwrap_or(Path::new("/")))?;
        let connection = match is_ours(&file) {
            true => connect(&file)?,
            false => {
                let lock = place.folder.join("qmd.lock");
                let guard = File::options().write(true).create(true).truncate(false).open(&lock).on("open", &lock)?;
                guard.lock().on("lock", &lock)?;
                if !is_ours(&file) {
                    set_aside(&file)?;
                    make(&file)?;
                }
                connect(&file)?
            }
        };
        let config = |collection: &super::QmdCollection| CollectionConfig {
            name: collection.name_in_vault(),
            path: collection.path.clone(),
            pattern: collection.pattern.clone(),
            scope: None,
            overlap: true,
        };
        let configs: Vec<CollectionConfig> = collections.collections.iter().map(config).collect();
        let wrong = |error: String| QmdError::Collection(error);
        let places = Outside::new(&place.folder, &configs).map_err(|error| wrong(error.to_string()))?;
        let rules = NoteRules::new(&place.folder, &[]).map_err(|error| wrong(error.to_string()))?;
        let rules = rules.with_outside(places.clone());
        let names = collections.collections.iter();
        let names = names.map(|collection| (collection.name.clone(), collection.name_in_vault())).collect();
        Ok(Self { connection, file, places, rules, root: place.folder.clone(), names })
    }

    /// Where a document is on disk.
    pub(crate) fn on_disk(&self, document: &QmdDocument) -> Option<PathBuf> {
        Some(self.places.on_disk(&self.root, &self.vault_path(&document.collection, &document.path)?))
    }

    fn vault_path(&self, collection: &str, path: &str) -> Option<VaultPath> {
        VaultPath::new(format!("{}/{path}", self.names.get(collection)?)).ok()
    }

    /// The text of a document, as it is on disk; `None` where it is gone, or private now.
    ///
    /// # Errors
    /// When it cannot be read.
    pub(crate) fn text(&self, document: &QmdDocument) -> Result<Option<String>, QmdError> {
        let Some(path) = self.vault_path(&document.collection, &document.path) else { return Ok(None) };
        Ok(self.read(&path)?.map(|(text, ..)| text))
    }

    /// The text, its stamp and its title; `None` for what is no note that programs may see.
    fn read(&self, path: &VaultPath) -> Result<Option<(String, Stamp, String)>, QmdError> {
        // A link on the way leads out of the collection.
        if !is_note(&self.root, &self.rules, path) {
            return Ok(None);
        }
        let (folder, Some(within)) = self.places.place(&self.root, path) else { return Ok(None) };
        for _ in 0..LOOKS {
            match read(folder, &within, MAX_FILE_BYTES) {
                Ok(source) => {
                    let note = Note::parse(&source.text, path.stem());
                    let seen = note.visibility == Visibility::Public;
                    return Ok(seen.then_some((source.text, source.stamp, note.title)));
                }
                Err(ReadError::Changing) => std::thread::sleep(LOOK_AGAIN),
                Err(ReadError::Gone | ReadError::Unfit(_)) => break,
            }
        }
        Ok(None)
    }

    /// The document at a path, looked at anew if its file is another; `None` where there is none to be seen.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn look(&mut self, collection: &str, path: &str) -> Result<Option<QmdDocument>, QmdError> {
        let Some(in_vault) = self.vault_path(collection, path) else { return Ok(None) };
        let on_disk = self.places.on_disk(&self.root, &in_vault);
        let stamp = on_disk.symlink_metadata().ok().map(|meta| Stamp::of(&meta));
        let known = self.at(collection, path)?;
        if let (Some((document, before)), Some(stamp)) = (&known, &stamp)
            && before == stamp
        {
            return Ok(Some(document.clone()));
        }
        let found = if self.rules.takes(&in_vault) { self.read(&in_vault)? } else { None };
        self.write(|transaction| match &found {
            Some((text, stamp, title)) => put(transaction, collection, path, title, text, *stamp),
            None => forget(transaction, collection, path).map(drop),
        })?;
        Ok(self.at(collection, path)?.map(|(document, _)| document))
    }

    /// Compares all documents with the files, and gives what has changed in each collection.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn refresh(&mut self) -> Result<BTreeMap<String, DocumentChanges>, QmdError> {
        let mut all = BTreeMap::new();
        for (name, in_vault) in self.names.clone() {
            let Ok(start) = VaultPath::new(in_vault.as_str()) else { continue };
            let scan = scan(&self.root, &self.rules, Some(&start));
            let mut changes = DocumentChanges::default();
            let known = self.stamps(&name)?;
            let (mut fresh, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
            for found in &scan.files {
                let Some(path) = found.path.as_str().strip_prefix(start.as_str()).map(|rest| &rest[1..]) else {
                    continue;
                };
                match known.get(path) {
                    Some(stamp) if *stamp == found.stamp => changes.unchanged += 1,
                    before => match self.read(&found.path)? {
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
            let gone: Vec<&String> = known.keys().filter(|path| !seen.contains(*path) && !unknown(path)).collect();
            changes.removed = gone.len();
            if !fresh.is_empty() || !gone.is_empty() {
                self.write(|transaction| {
                    for (path, (text, stamp, title)) in &fresh {
                        put(transaction, &name, path, title, text, *stamp)?;
                    }
                    gone.iter().try_for_each(|path| forget(transaction, &name, path).map(drop))
                })?;
            }
            all.insert(name, changes);
        }
        self.drop_other_collections()?;
        Ok(all)
    }

    /// Drops the documents of collections that there are no more. Tells how many.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn drop_other_collections(&mut self) -> Result<usize, QmdError> {
        let listed: Vec<String> = {
            let refused = QmdError::of(&self.file);
            let mut asked = self.connection.prepare("SELECT DISTINCT collection FROM documents").map_err(&refused)?;
            let rows = asked.query_map([], |row| row.get(0)).map_err(&refused)?;
            rows.collect::<Result<_, _>>().map_err(&refused)?
        };
        let others: Vec<String> = listed.into_iter().filter(|name| !self.names.contains_key(name)).collect();
        if others.is_empty() {
            return Ok(0);
        }
        self.write(|transaction| {
            let mut dropped = 0;
            for name in &others {
                transaction.execute(
                    "DELETE FROM stamps WHERE document IN (SELECT id FROM documents WHERE collection = ?)",
                    [name],
                )?;
                dropped += transaction.execute("DELETE FROM documents WHERE collection = ?", [name])?;
            }
            Ok(dropped)
        })
    }

    /// Gives back the room of what was dropped.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn shrink(&self) -> Result<(), QmdError> {
        self.connection.execute_batch("VACUUM").map_err(QmdError::of(&self.file))
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
        self.ask("hash >= ?1 AND hash < ?2", params![first, end])
    }

    /// All, or those of a collection, by their paths.
    ///
    /// # Errors
    /// When the database cannot be used.
    pub(crate) fn all(&self, collection: Option<&str>) -> Result<Vec<QmdDocument>, QmdError> {
        self.ask("(?1 IS NULL OR collection = ?1)", params![collection])
    }

    fn ask(&self, condition: &str, params: impl rusqlite::Params) -> Result<Vec<QmdDocument>, QmdError> {
        let refused = QmdError::of(&self.file);
        let sql = format!("SELECT {COLUMNS} FROM documents WHERE {condition} ORDER BY collection, path");
        let mut asked = self.connection.prepare_cached(&sql).map_err(&refused)?;
        let rows = asked.query_map(params, QmdDocument::of).map_err(&refused)?;
        rows.collect::<Result<_, _>>().map_err(&refused)
    }

    fn at(&self, collection: &str, path: &str) -> Result<Option<(QmdDocument, Stamp)>, QmdError> {
        let sql = "SELECT collection, path, title, hash, modified_at, mtime_ns, ctime_ns, size, inode
                   FROM documents JOIN stamps ON document = id WHERE collection = ?1 AND path = ?2";
        let row = |row: &Row<'_>| Ok((QmdDocument::of(row)?, stamp(row, 5)?));
        let found = self.connection.prepare_cached(sql).and_then(|mut asked| {
            let found = asked.query_row([collection, path], row);
            found.optional()
        });
        found.map_err(QmdError::of(&self.file))
    }

    fn stamps(&self, collection: &str) -> Result<BTreeMap<String, Stamp>, QmdError> {
        let refused = QmdError::of(&self.file);
        let sql = "SELECT path, mtime_ns, ctime_ns, size, inode FROM documents JOIN stamps ON document = id
                   WHERE collection = ?";
        let mut asked = self.connection.prepare_cached(sql).map_err(&refused)?;
        let rows = asked.query_map([collection], |row| Ok((row.get(0)?, stamp(row, 1)?))).map_err(&refused)?;
        rows.collect::<Result<_, _>>().map_err(&refused)
    }

    fn write<T>(&mut self, change: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, QmdError> {
        let written = self.connection.transaction().and_then(|transaction| {
            let done = change(&transaction)?;
            transaction.commit()?;
            Ok(done)
        });
        written.map_err(QmdError::of(&self.file))
    }
}

/// Whether a database of ours is at a path, by its first page: SQLite would refuse to read one whose writer was killed, and wait for one that
/// is being written.
fn is_ours(file: &Path) -> bool {
    const APPLICATION_AT: usize = 68;
    let mut head = [0_u8; APPLICATION_AT + 4];
    let is_file = file.symlink_metadata().is_ok_and(|meta| meta.is_file());
    is_file
        && File::open(file).and_then(|mut file| file.read_exact(&mut head)).is_ok()
        && head.starts_with(b"SQLite format 3\0")
        && head[APPLICATION_AT..] == (APPLICATION as u32).to_be_bytes()
}

fn connect(file: &Path) -> Result<Connection, QmdError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connect = || {
        let mut connection = Connection::open_with_flags(file, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_transaction_behavior(TransactionBehavior::Immediate);
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        Ok(connection)
    };
    connect().map_err(QmdError::of(file))
}

/// Makes the database beside its place and moves it there whole.
fn make(file: &Path) -> Result<(), QmdError> {
    let beside = crate::fs::write_beside(file.parent().unwrap_or(Path::new("/")), b"", Some(0o600))?;
    let made = Connection::open(&beside).and_then(|connection| {
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.execute_batch(SCHEMA)
    });
    if let Err(error) = made {
        drop(fs::remove_file(&beside));
        return Err(QmdError::of(file)(error));
    }
    Ok(move_new(&beside, file)?)
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
                tracing::warn!("{} is another program's, and is now {}", file.display(), to.display());
                return Ok(());
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into()).on("rename", file)
}

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

fn put(
    transaction: &Transaction<'_>,
    collection: &str,
    path: &str,
    title: &str,
    text: &str,
    stamp: Stamp,
) -> rusqlite::Result<()> {
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let at = jiff::Timestamp::from_nanosecond(stamp.mtime_ns.into()).unwrap_or_default().to_string();
    let sql = "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, active)
               VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1)
               ON CONFLICT(collection, path) DO UPDATE SET title = ?3, hash = ?4, modified_at = ?5, active = 1
               RETURNING id";
    let id: i64 = transaction.query_row(sql, params![collection, path, title, hash, at], |row| row.get(0))?;
    let stamp = params![id, stamp.mtime_ns, stamp.ctime_ns, stamp.size as i64, stamp.inode as i64];
    transaction.execute("INSERT OR REPLACE INTO stamps VALUES (?1, ?2, ?3, ?4, ?5)", stamp).map(drop)
}

fn forget(transaction: &Transaction<'_>, collection: &str, path: &str) -> rusqlite::Result<usize> {
    let sql = "DELETE FROM stamps WHERE document IN (SELECT id FROM documents WHERE collection = ?1 AND path = ?2)";
    transaction.execute(sql, [collection, path])?;
    transaction.execute("DELETE FROM documents WHERE collection = ?1 AND path = ?2", [collection, path])
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::super::{IndexVariables, QmdCollection};
    use super::*;

    fn index(folder: &Path) -> (IndexPlace, QmdCollections) {
        let notes = folder.join("notes");
        fs::create_dir_all(&notes).unwrap();
        let place = IndexPlace::of(None, &IndexVariables::default()).unwrap();
        let place = IndexPlace { folder: folder.join("index"), database: folder.join("cache/index.sqlite"), ..place };
        let mut all = QmdCollections::default();
        all.add(QmdCollection::new("notes", &notes, "**/*.md").unwrap()).unwrap();
        all.save(&place).unwrap();
        (place, all)
    }

    #[test]
    fn the_table_follows_the_files_and_has_no_private_note() {
        let folder = tempfile::tempdir().unwrap();
        let (place, all) = index(folder.path());
        let write = |name: &str, text: &str| fs::write(folder.path().join("notes").join(name), text).unwrap();
        write("a.md", "# One\n\nText.\n");
        write("b.md", "---\nprivate: true\n---\n# Mine\n");
        let mut documents = QmdDocuments::open(&place, &all).unwrap();
        let changes = documents.refresh().unwrap();
        assert_eq!(changes["notes"], DocumentChanges { new: 1, ..DocumentChanges::default() });
        let [one] = &documents.all(None).unwrap()[..] else { panic!("one document") };
        assert_eq!((&*one.title, &*one.path, one.hash.len()), ("One", "a.md", 64));
        assert_eq!(
            documents.by_hash(&one.hash[..6]).unwrap(),
            documents.by_hash(&one.hash.to_uppercase()[..9]).unwrap()
        );
        assert!(documents.by_hash("%").unwrap().is_empty() && documents.by_hash("").unwrap().is_empty());
        assert_eq!(documents.refresh().unwrap()["notes"].unchanged, 1);
        // What became private is gone to the letter.
        write("a.md", "---\nprivate: true\n---\n# One more word\n");
        assert_eq!(documents.look("notes", "a.md").unwrap(), None);
        assert!(documents.all(None).unwrap().is_empty());
        let bytes = fs::read(&place.database).unwrap();
        assert!(!bytes.windows(3).any(|part| part == b"One"), "its title is not in the file any more");
        assert_eq!(place.database.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(documents.look("notes", "../index/qmd.json").unwrap(), None);
        assert_eq!(documents.look("other", "a.md").unwrap(), None);
    }

    #[test]
    fn what_is_another_program_s_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let (place, all) = index(folder.path());
        create_private_dir(place.database.parent().unwrap()).unwrap();
        let foreign = Connection::open(&place.database).unwrap();
        foreign.execute_batch("CREATE TABLE documents(x); INSERT INTO documents VALUES (7)").unwrap();
        drop(foreign);
        let before = fs::read(&place.database).unwrap();
        drop(QmdDocuments::open(&place, &all).unwrap());
        let aside = place.database.with_extension("sqlite.before");
        assert_eq!(fs::read(&aside).unwrap(), before);
        drop(QmdDocuments::open(&place, &all).unwrap());
        assert!(!place.database.with_extension("sqlite.before-1").exists(), "ours is not");
        for foreign in ["not a database, and long enough to be none of SQLite's, whatever it looks like", ""] {
            fs::write(&place.database, foreign).unwrap();
            QmdDocuments::open(&place, &all).unwrap().refresh().unwrap();
        }
        assert!(place.database.with_extension("sqlite.before-2").exists());
        // A link leads nowhere that is written.
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        fs::remove_file(&place.database).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &place.database).unwrap();
        drop(QmdDocuments::open(&place, &all).unwrap());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    }
}
