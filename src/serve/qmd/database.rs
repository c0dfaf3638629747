//! The file of the documents: told from another program's, made, and opened.

use std::cell::{Cell, RefCell};
use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::place::QmdError;
use crate::base::fs::{Context, FsError, create_private_dir, move_new};

/// `vqmd`: whose database it is.
const APPLICATION: i64 = 0x7671_6d64;

/// Raised when a table is another than before.
const VERSION: i64 = 4;

/// How long a connection waits for another's transaction.
const BUSY_TIMEOUT: Duration = Duration::from_secs(10);

/// Maximum number of files that are put aside because they stood in the place of ours.
const MAX_SET_ASIDE: usize = 100;

const SCHEMA: &str = "
CREATE TABLE documents(
    id INTEGER PRIMARY KEY, collection TEXT NOT NULL, path TEXT NOT NULL, title TEXT NOT NULL, hash TEXT NOT NULL,
    created_at TEXT NOT NULL, modified_at TEXT NOT NULL, active INTEGER NOT NULL DEFAULT 1, owner TEXT NOT NULL,
    UNIQUE(owner, collection, path));
CREATE INDEX documents_by_hash ON documents(hash);
CREATE TABLE stamps(
    document INTEGER PRIMARY KEY, mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, size INTEGER NOT NULL,
    inode INTEGER NOT NULL, derived INTEGER NOT NULL);
CREATE TRIGGER stamps_go AFTER DELETE ON documents BEGIN DELETE FROM stamps WHERE document = OLD.id; END;
CREATE TABLE rules(owner TEXT PRIMARY KEY, digest TEXT NOT NULL);
";

/// The database of the documents at a path, as it was when it was opened.
pub(super) struct DocumentsDatabase {
    file: PathBuf,
    connection: RefCell<Connection>,
    is: Cell<DatabaseFileId>,
}

/// Which file it is, by whatever name: its device and its inode.
type DatabaseFileId = (u64, u64);

impl DocumentsDatabase {
    /// Opens the one at a path, and makes it where there is none of ours.
    ///
    /// # Errors
    /// When it cannot be written.
    pub(super) fn open(file: &Path) -> Result<Self, QmdError> {
        let (connection, is) = open(file)?;
        Ok(Self { file: file.to_owned(), connection: RefCell::new(connection), is: Cell::new(is) })
    }

    /// Which file is open.
    pub(super) fn id(&self) -> (u64, u64) {
        self.is.get()
    }

    /// Asks it.
    ///
    /// # Errors
    /// When it cannot answer.
    pub(super) fn ask<T>(&self, ask: impl Fn(&mut Connection) -> rusqlite::Result<T>) -> Result<T, QmdError> {
        ask(&mut self.connection.borrow_mut()).map_err(QmdError::of(&self.file))
    }

    /// Puts the database that is open aside, which cannot be read, and opens one that is empty. Where another process was quicker, that is
    /// the one that it has made.
    ///
    /// # Errors
    /// When nothing can be renamed or written there.
    pub(super) fn put_damaged_aside(&self) -> Result<(), QmdError> {
        replace_unless(&self.file, || identity(&self.file) != Some(self.is.get()))?;
        let (connection, is) = open(&self.file)?;
        self.connection.replace(connection);
        self.is.set(is);
        Ok(())
    }
}

/// Which file stands at a path, if any.
pub(super) fn identity(file: &Path) -> Option<DatabaseFileId> {
    let meta = file.symlink_metadata().ok()?;
    Some((meta.dev(), meta.ino()))
}

fn open(file: &Path) -> Result<(Connection, DatabaseFileId), QmdError> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    create_private_dir(folder)?;
    loop {
        if !is_ours(file) {
            replace_unless(file, || is_ours(file))?;
        }
        // Else it was replaced while it was opened.
        let Some(before) = identity(file) else { continue };
        match connect(file) {
            Err(error) if error.is_damage() => replace_unless(file, || identity(file) != Some(before))?,
            connected => {
                let connection = connected?;
                if identity(file) == Some(before) {
                    return Ok((connection, before));
                }
            }
        }
    }
}

/// Puts what stands at a path aside and makes a database that is empty, unless that is not needed any more. Whoever has an index in this
/// folder waits for the same lock, so that nobody puts aside what another has just made.
fn replace_unless(file: &Path, is_fine: impl FnOnce() -> bool) -> Result<(), QmdError> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    let guard = File::open(folder).on("open", folder)?;
    guard.lock().on("lock", folder)?;
    if is_fine() {
        return Ok(());
    }
    set_aside(file)?;
    make(file)
}

/// Whether a database of ours is at a path. It is asked as one that does not change: so SQLite takes no lock, and reads the mark also where
/// a writer is at work or was killed. (To open and close the file beside SQLite would release the locks that this process has on it.)
fn is_ours(file: &Path) -> bool {
    if !file.symlink_metadata().is_ok_and(|meta| meta.is_file()) {
        return false;
    }
    let mut address = b"file://".to_vec();
    for byte in file.as_os_str().as_bytes() {
        match byte {
            b'%' | b'?' | b'#' => address.extend(format!("%{byte:02x}").bytes()),
            byte => address.push(*byte),
        }
    }
    address.extend(b"?immutable=1");
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mark = Connection::open_with_flags(std::ffi::OsString::from_vec(address), flags)
        .and_then(|connection| connection.pragma_query_value(None, "application_id", |row| row.get::<_, i64>(0)));
    mark.is_ok_and(|mark| mark == APPLICATION)
}

/// Connects to a database of ours; one of another version is emptied, as all of it is derived.
fn connect(file: &Path) -> Result<Connection, QmdError> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connect = || {
        let mut connection = Connection::open_with_flags(file, flags)?;
        connection.busy_timeout(BUSY_TIMEOUT)?;
        connection.set_transaction_behavior(TransactionBehavior::Immediate);
        connection.pragma_update(None, "journal_mode", "DELETE")?;
        connection.pragma_update(None, "synchronous", "NORMAL")?;
        connection.pragma_update(None, "secure_delete", "ON")?;
        if version(&connection)? != VERSION {
            let transaction = connection.transaction()?;
            // Another process may have been quicker.
            if version(&transaction)? != VERSION {
                transaction.execute_batch(
                    "DROP TABLE IF EXISTS documents; DROP TABLE IF EXISTS stamps;
                     DROP TABLE IF EXISTS rules;",
                )?;
                transaction.execute_batch(SCHEMA)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()?;
        }
        Ok(connection)
    };
    connect().map_err(QmdError::of(file))
}

fn version(connection: &Connection) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

/// Makes the database beside its place and moves it there whole.
fn make(file: &Path) -> Result<(), QmdError> {
    let beside = crate::base::fs::write_beside(file.parent().unwrap_or(Path::new("/")), b"", Some(0o600))?;
    let made = Connection::open(&beside).and_then(|connection| {
        connection.pragma_update(None, "application_id", APPLICATION)?;
        connection.pragma_update(None, "user_version", VERSION)?;
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
                tracing::warn!("{} cannot be used, and is now {}", file.display(), to.display());
                return Ok(());
            }
        }
    }
    Err(ErrorKind::AlreadyExists.into()).on("rename", file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_is_damaged_is_put_aside_and_another_serves() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("index.sqlite");
        drop(DocumentsDatabase::open(&file).unwrap());
        let mut bytes = fs::read(&file).unwrap();
        bytes[4096..].fill(0);
        fs::write(&file, &bytes).unwrap();
        let (one, other) = (DocumentsDatabase::open(&file).unwrap(), DocumentsDatabase::open(&file).unwrap());
        let asked = |database: &DocumentsDatabase| {
            database.ask(|all| all.query_row("SELECT COUNT(owner) FROM documents", [], |row| row.get::<_, i64>(0)))
        };
        for database in [&one, &other] {
            // Whoever comes second takes the one that is there.
            if asked(database).is_err_and(|error| error.is_damage()) {
                database.put_damaged_aside().unwrap();
            }
            assert_eq!(asked(database).unwrap(), 0);
            assert_eq!(identity(&file), Some(database.is.get()));
        }
        assert!(folder.path().join("index.sqlite.before").exists());
        assert!(!folder.path().join("index.sqlite.before-1").exists());
    }

    #[test]
    fn one_of_another_version_is_emptied_and_serves() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("index.sqlite");
        let former = DocumentsDatabase::open(&file).unwrap();
        let older = "DROP TABLE documents; CREATE TABLE documents(id); PRAGMA user_version = 1;";
        former.ask(|all| all.execute_batch(older)).unwrap();
        drop(former);
        let now = DocumentsDatabase::open(&file).unwrap();
        let rows = now.ask(|all| all.query_row("SELECT COUNT(owner) FROM documents", [], |row| row.get::<_, i64>(0)));
        assert_eq!(rows.unwrap(), 0);
        assert!(!folder.path().join("index.sqlite.before").exists());
    }

    #[test]
    fn what_is_another_program_s_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        // As people name folders.
        let place = folder.path().join("a?b#c%20/index.sqlite");
        create_private_dir(place.parent().unwrap()).unwrap();
        let foreign = Connection::open(&place).unwrap();
        foreign.execute_batch("CREATE TABLE documents(x); INSERT INTO documents VALUES (7)").unwrap();
        drop(foreign);
        let before = fs::read(&place).unwrap();
        drop(DocumentsDatabase::open(&place).unwrap());
        let aside = place.with_extension("sqlite.before");
        assert_eq!(fs::read(&aside).unwrap(), before);
        drop(DocumentsDatabase::open(&place).unwrap());
        assert!(!place.with_extension("sqlite.before-1").exists(), "ours is not");
        for foreign in ["not a database, and long enough to be none of SQLite's, whatever it looks like", ""] {
            fs::write(&place, foreign).unwrap();
            drop(DocumentsDatabase::open(&place).unwrap());
        }
        assert!(place.with_extension("sqlite.before-2").exists());
        // A link leads nowhere that is written.
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &place).unwrap();
        drop(DocumentsDatabase::open(&place).unwrap());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    }
}
