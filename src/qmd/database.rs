//! The file of the documents: told from another program's, made, and opened.

use std::fs::{self, File};
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::QmdError;
use crate::fs::{Context, FsError, create_private_dir, move_new};

/// `vqmd`: whose database it is.
const APPLICATION: i64 = 0x7671_6d64;

/// Raised when a table is another than before.
const VERSION: i64 = 3;

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
CREATE TABLE rules(owner TEXT PRIMARY KEY, digest TEXT NOT NULL);
";

/// Opens the database at a path, and makes it where there is none of ours. `folder` is the index's, in which its lock is.
///
/// # Errors
/// When it cannot be written.
pub(super) fn open(file: &Path, folder: &Path) -> Result<Connection, QmdError> {
    create_private_dir(file.parent().unwrap_or(Path::new("/")))?;
    if !is_ours(file) {
        let lock = folder.join("qmd.lock");
        let guard = File::options().write(true).create(true).truncate(false).open(&lock).on("open", &lock)?;
        guard.lock().on("lock", &lock)?;
        if !is_ours(file) {
            set_aside(file)?;
            make(file)?;
        }
    }
    connect(file)
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
    let beside = crate::fs::write_beside(file.parent().unwrap_or(Path::new("/")), b"", Some(0o600))?;
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
                tracing::warn!("{} is another program's, and is now {}", file.display(), to.display());
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
    fn one_of_another_version_is_emptied_and_serves() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("index.sqlite");
        let former = open(&file, folder.path()).unwrap();
        former.execute_batch("DROP TABLE documents; CREATE TABLE documents(id); PRAGMA user_version = 1;").unwrap();
        drop(former);
        let now = open(&file, folder.path()).unwrap();
        let rows: i64 = now.query_row("SELECT COUNT(owner) FROM documents", [], |row| row.get(0)).unwrap();
        assert_eq!(rows, 0);
        assert!(!folder.path().join("index.sqlite.before").exists());
    }

    #[test]
    fn what_is_another_program_s_is_set_aside() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("cache/index.sqlite");
        create_private_dir(place.parent().unwrap()).unwrap();
        let foreign = Connection::open(&place).unwrap();
        foreign.execute_batch("CREATE TABLE documents(x); INSERT INTO documents VALUES (7)").unwrap();
        drop(foreign);
        let before = fs::read(&place).unwrap();
        drop(open(&place, folder.path()).unwrap());
        let aside = place.with_extension("sqlite.before");
        assert_eq!(fs::read(&aside).unwrap(), before);
        drop(open(&place, folder.path()).unwrap());
        assert!(!place.with_extension("sqlite.before-1").exists(), "ours is not");
        for foreign in ["not a database, and long enough to be none of SQLite's, whatever it looks like", ""] {
            fs::write(&place, foreign).unwrap();
            drop(open(&place, folder.path()).unwrap());
        }
        assert!(place.with_extension("sqlite.before-2").exists());
        // A link leads nowhere that is written.
        let elsewhere = folder.path().join("elsewhere");
        fs::write(&elsewhere, "mine").unwrap();
        fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(&elsewhere, &place).unwrap();
        drop(open(&place, folder.path()).unwrap());
        assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
    }
}
