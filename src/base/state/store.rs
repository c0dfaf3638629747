//! The file: where it is, how it is opened, and why it cannot be used. One that cannot be read is put aside under another name, so that it keeps
//! nobody out, and lets nobody in.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::types::Value;
use rusqlite::{
    Connection, ErrorCode, OpenFlags, OptionalExtension, Row, ToSql, TransactionBehavior, params_from_iter,
};

use super::schema;
use crate::base::fs::{Context, FsError, create_private_dir, remove_file, sync_folder};

/// What the file is called.
const NAME: &str = "state.db";
/// How long a connection waits for another's transaction.
pub(super) const BUSY_TIMEOUT: Duration = Duration::from_secs(5);

/// Pages in SQLite's log from which on a log's thread brings them into the database: more than the queue of events lets gather.
const LOG_PAGES: i64 = 8192;

/// The state of one vault. It is opened when it is needed, and made when something is to be kept.
#[derive(Debug)]
pub struct State {
    /// Where archives bring what they carry of it.
    pub(super) brought: PathBuf,
    pub(super) file: PathBuf,
    /// What was damaged since this was made.
    trouble: Mutex<BTreeSet<String>>,
}

/// The state cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// SQLite refused, or another version of this program wrote it.
    #[error("cannot use {}: {reason}", path.display())]
    Refused {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// The file is not as this program writes it.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
}

impl StateError {
    /// What SQLite said of the file at a path. A full disk is said as it is elsewhere.
    pub(super) fn of(path: &Path, source: rusqlite::Error) -> Self {
        let path = path.to_owned();
        match source.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => {
                let source = rustix::io::Errno::NOSPC.into();
                Self::Fs(FsError { operation: "write", path, source })
            }
            Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => {
                Self::Damaged { path, reason: source.to_string() }
            }
            _ => Self::Refused { path, reason: source.to_string() },
        }
    }

    /// Whether what the file holds is at fault, and not the disk, rights or another process.
    pub(super) fn is_damage(&self) -> bool {
        matches!(self, Self::Damaged { .. })
    }
}

/// How soon a transaction is safe on disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Durability {
    /// When it returns.
    Full,
    /// With the next one that is. A kill loses nothing of it, a power failure may.
    Later,
}

/// The file as it was opened.
#[derive(Debug)]
pub(super) struct OpenedState {
    pub(super) connection: Connection,
    /// Tells this opening from all others.
    pub(super) number: u64,
    identity: FileIdentity,
    durability: Durability,
}

/// Device and inode. While a file is open no other gets its number.
type FileIdentity = (u64, u64);

/// A connection that is opened when it is needed, and anew when the file is another.
#[derive(Debug)]
pub(super) struct Handle {
    state: Arc<State>,
    durability: Durability,
    opened: Mutex<Option<OpenedState>>,
}

impl State {
    /// The state in `folder`, where what an archive has brought into `brought` goes, too. Neither need be there.
    pub fn new(brought: PathBuf, folder: &Path) -> Self {
        Self { brought, file: folder.join(NAME), trouble: Mutex::default() }
    }

    /// The state in a folder.
    pub fn in_folder(folder: &Path) -> Arc<Self> {
        Arc::new(Self::new(folder.to_owned(), folder))
    }

    /// Where it is.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// What of it was damaged since this was made, and what became of it.
    pub fn trouble(&self) -> Option<String> {
        let trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        let trouble: Vec<&str> = trouble.iter().map(String::as_str).collect();
        (!trouble.is_empty()).then(|| trouble.join("; "))
    }

    /// Says that something of it was damaged, once.
    pub(super) fn say(&self, what: String) {
        let mut trouble = self.trouble.lock().unwrap_or_else(PoisonError::into_inner);
        if !trouble.contains(&what) {
            tracing::warn!("{what}");
            trouble.insert(what);
        }
    }

    /// Whether there is anything to be read.
    fn is_there(&self) -> bool {
        self.file.exists() || self.is_brought()
    }

    /// Opens the file, one process and one thread after the other: it is made, brought up to date or put aside once.
    fn open(&self, durability: Durability) -> Result<OpenedState, StateError> {
        // On the mount point of a disk that is gone nothing is made: with a vault there is always this folder.
        if let Some(own) = self.brought.parent().filter(|own| own.ends_with(".vault") && !own.is_dir()) {
            Err(std::io::Error::from(ErrorKind::NotFound)).on("create the folder", own)?;
        }
        create_private_dir(self.folder())?;
        let _one = self.lock()?;
        self.make()?;
        let mut opened = match self.connect(durability) {
            Err(error) if error.is_damage() => {
                self.replace(&error)?;
                self.connect(durability)?
            }
            opened => opened?,
        };
        self.take_over(&mut opened.connection)?;
        Ok(opened)
    }

    /// Puts the file aside in which damage was found, unless somebody has done so.
    fn mend(&self, found: FileIdentity, damage: &StateError) -> Result<(), StateError> {
        let _one = self.lock()?;
        if identity(&self.file) == Some(found) { self.replace(damage) } else { Ok(()) }
    }

    pub(super) fn folder(&self) -> &Path {
        self.file.parent().unwrap_or(Path::new("."))
    }

    pub(super) fn lock(&self) -> Result<File, FsError> {
        let path = self.lock_file();
        let mut options = File::options();
        let lock = options.write(true).create(true).truncate(false).open(&path).on("open", &path)?;
        lock.lock().on("lock", &path)?;
        Ok(lock)
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.file.with_extension("lock")
    }

    /// Makes an empty file for its owner alone, where there is none. SQLite gives its log the same permissions.
    pub(super) fn make(&self) -> Result<(), FsError> {
        match File::options().write(true).create_new(true).mode(0o600).open(&self.file) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made.map(drop).on("write", &self.file),
        }
    }

    pub(super) fn connect(&self, durability: Durability) -> Result<OpenedState, StateError> {
        static OPENINGS: AtomicU64 = AtomicU64::new(0);
        // SQLite would take what is shorter than a header for a new file, and write over it.
        const HEADER: u64 = 100;
        if self.file.metadata().is_ok_and(|meta| (1..HEADER).contains(&meta.len())) {
            return Err(schema::damaged(&self.file, "it is cut short"));
        }
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connect = || {
            let mut connection = Connection::open_with_flags(&self.file, flags)?;
            connection.busy_timeout(BUSY_TIMEOUT)?;
            connection.set_transaction_behavior(TransactionBehavior::Immediate);
            connection.set_prepared_statement_cache_capacity(32);
            connection.pragma_update(None, "journal_mode", "WAL")?;
            connection.pragma_update(None, "synchronous", durability.name())?;
            connection.pragma_update(None, "secure_delete", "ON")?;
            if durability == Durability::Full {
                // Who waits for the disk does not wait for this, too: see `EventQueue::tidy`. The last to close the file does it.
                connection.pragma_update(None, "wal_autocheckpoint", 0)?;
            } else {
                // A log's thread does so where nobody else has: with every row, the queue would wait for it.
                connection.pragma_update(None, "wal_autocheckpoint", LOG_PAGES)?;
            }
            connection.pragma_update(None, "cache_size", -2_000)?;
            Ok(connection)
        };
        let connection = connect().map_err(|error| StateError::of(&self.file, error))?;
        schema::make(&connection, &self.file)?;
        let gone = || std::io::Error::from(ErrorKind::NotFound);
        let identity = identity(&self.file).ok_or_else(gone).on("open", &self.file)?;
        Ok(OpenedState { connection, identity, number: OPENINGS.fetch_add(1, Ordering::Relaxed), durability })
    }

    /// SQLite's log, which holds what is not in the file yet.
    pub(super) fn log(&self) -> PathBuf {
        with(&self.file, "-wal")
    }
}

impl Durability {
    fn name(self) -> &'static str {
        match self {
            Self::Full => "FULL",
            Self::Later => "NORMAL",
        }
    }
}

impl OpenedState {
    /// How soon the next transactions are safe on disk.
    pub(super) fn set_durability(&mut self, durability: Durability) -> rusqlite::Result<()> {
        if self.durability != durability {
            self.connection.pragma_update(None, "synchronous", durability.name())?;
            self.durability = durability;
        }
        Ok(())
    }
}

impl Handle {
    pub(super) fn new(state: &Arc<State>, durability: Durability) -> Self {
        Self { state: Arc::clone(state), durability, opened: Mutex::default() }
    }

    /// Works with the file, which is made where there is none. Damage is mended, and the work done again.
    pub(super) fn with<T>(
        &self,
        work: impl FnMut(&mut OpenedState) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StateError> {
        self.work(self.opened(), work)
    }

    /// The same where there is something, and nothing where there is not.
    pub(super) fn if_there<T>(
        &self,
        work: impl FnMut(&mut OpenedState) -> Result<T, rusqlite::Error>,
    ) -> Result<Option<T>, StateError> {
        let mut opened = self.opened();
        if !self.state.is_there() {
            *opened = None;
            return Ok(None);
        }
        self.work(opened, work).map(Some)
    }

    /// What a statement selects; nothing where there is no file.
    pub(super) fn rows<T>(
        &self,
        select: &str,
        params: &[&dyn ToSql],
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>, StateError> {
        let rows = self.if_there(|opened| {
            opened.connection.prepare_cached(select)?.query_map(params, &read)?.collect::<rusqlite::Result<Vec<T>>>()
        });
        Ok(rows?.unwrap_or_default())
    }

    /// The first row of that.
    pub(super) fn row<T>(
        &self,
        select: &str,
        params: &[&dyn ToSql],
        read: impl Fn(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>, StateError> {
        let row = self.if_there(|opened| opened.connection.prepare_cached(select)?.query_row(params, &read).optional());
        Ok(row?.flatten())
    }

    /// Executes a statement.
    pub(super) fn execute(&self, statement: &str, params: &[&dyn ToSql]) -> Result<(), StateError> {
        self.with(|opened| opened.connection.prepare_cached(statement)?.execute(params).map(drop))
    }

    /// The state that it is of.
    pub(super) fn state(&self) -> &State {
        &self.state
    }

    /// Whether it is open, and the file is still the one that was opened.
    pub(super) fn is_open(&self) -> bool {
        self.opened().as_ref().is_some_and(|opened| identity(&self.state.file) == Some(opened.identity))
    }

    fn opened(&self) -> MutexGuard<'_, Option<OpenedState>> {
        self.opened.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work<T>(
        &self,
        mut opened: MutexGuard<'_, Option<OpenedState>>,
        mut work: impl FnMut(&mut OpenedState) -> Result<T, rusqlite::Error>,
    ) -> Result<T, StateError> {
        let path = &self.state.file;
        let mut mended = false;
        loop {
            let open = match opened.take().filter(|opened| identity(path) == Some(opened.identity)) {
                Some(open) => open,
                None => self.state.open(self.durability)?,
            };
            let open = opened.insert(open);
            let error = match work(open) {
                Ok(done) => return Ok(done),
                Err(error) => StateError::of(path, error),
            };
            if !error.is_damage() || std::mem::replace(&mut mended, true) {
                return Err(error);
            }
            let found = open.identity;
            *opened = None;
            self.state.mend(found, &error)?;
        }
    }
}

fn identity(path: &Path) -> Option<FileIdentity> {
    let meta = path.metadata().ok()?;
    Some((meta.dev(), meta.ino()))
}

impl State {
    /// Where the last file is that could not be read, if there is one.
    pub fn put_aside(&self) -> Option<PathBuf> {
        let aside = aside(&self.file);
        aside.exists().then_some(aside)
    }

    /// Puts the file aside, and begins another. Tokens are not taken out of what is damaged: who had one, and whose was taken
    /// back, is not certain there.
    pub(super) fn replace(&self, damage: &StateError) -> Result<(), StateError> {
        let aside = aside(&self.file);
        self.say(format!(
            "{damage}. It was moved to {}; agents and programs need new tokens (`vault agent rotate`, `vault token add`)",
            aside.display()
        ));
        // The file goes before its log: without the log it might read as it was before its last changes.
        rename(&self.file, &aside)?;
        rename(&with(&self.file, "-wal"), &with(&aside, "-wal"))?;
        remove_file(&with(&self.file, "-shm"))?;
        sync_folder(&self.file)?;
        self.make()?;
        let mut opened = self.connect(Durability::Full)?;
        if let Err(error) = salvage(&aside, &mut opened.connection) {
            tracing::warn!("nothing could be taken out of {}: {error}", aside.display());
        }
        Ok(())
    }
}

/// What is taken over row by row: events on their way, what agents asked, what was given how often, what was changed and what was forgotten,
/// what was imported or kept of sessions, so that it does not come twice, and what was done.
/// Each row of an event or a tombstone says itself whether it is whole.
const SALVAGED: [&str; 18] = [
    "events", "events_seen", "events_plan", "read_log", "usage", "tombstones", "tombstone_digests", "left_out",
    "changes", "imports", "import_keys", "import_files", "import_notes", "jobs_done", "session_sources",
    "session_notes", "open_purges", "facts_seen",
];

/// Takes over what can be read: from the beginning up to where the damage is, and from the end back to it.
fn salvage(damaged: &Path, into: &mut Connection) -> rusqlite::Result<()> {
    let from = Connection::open(damaged)?;
    let transaction = into.transaction()?;
    let mut failed = None;
    for table in SALVAGED {
        let columns = "SELECT group_concat(name, ', ') FROM pragma_table_info(?1)";
        let columns: String = transaction.query_row(columns, [table], |row| row.get(0))?;
        // These have no other key that says in which order they came.
        let columns = match table {
            "events_plan" | "tombstone_digests" => format!("rowid, {columns}"),
            _ => columns,
        };
        let first = columns.split(", ").next().unwrap_or("rowid");
        for order in ["ASC", "DESC"] {
            let select = format!("SELECT {columns} FROM {table} ORDER BY {first} {order}");
            // A row that fits no more is as good as none.
            match copy_rows((&from, &select), &transaction, (table, &columns), true) {
                Ok(_) => break,
                Err(error) => failed = Some(error),
            }
        }
    }
    transaction.commit()?;
    failed.map_or(Ok(()), Err)
}

/// Copies the rows that a statement selects into columns of a table; gives how many. What is there already stays as it is, and what does not
/// fit `may_fail`.
pub(super) fn copy_rows(
    (from, select): (&Connection, &str),
    into: &Connection,
    (table, columns): (&str, &str),
    may_fail: bool,
) -> rusqlite::Result<usize> {
    let count = columns.split(", ").count();
    let places = vec!["?"; count].join(", ");
    let mut insert = into.prepare(&format!("INSERT OR IGNORE INTO {table}({columns}) VALUES ({places})"))?;
    let mut select = from.prepare(select)?;
    let (mut rows, mut copied) = (select.query([])?, 0);
    while let Some(row) = rows.next()? {
        let values = (0..count).map(|at| row.get(at)).collect::<rusqlite::Result<Vec<Value>>>()?;
        match insert.execute(params_from_iter(values)) {
            Err(error) if !may_fail => return Err(error),
            inserted => copied += inserted.unwrap_or(0),
        }
    }
    Ok(copied)
}

/// Where a file is put.
pub(super) fn aside(file: &Path) -> PathBuf {
    with(file, ".damaged")
}

/// A path with something at its end.
pub(super) fn with(file: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(end);
    name.into()
}

fn rename(from: &Path, to: &Path) -> Result<(), FsError> {
    match std::fs::rename(from, to) {
        Err(error) if error.kind() == ErrorKind::NotFound => remove_file(to),
        renamed => renamed.on("rename", from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_imported_and_done_is_known_after_damage() {
        let rows = [
            ("imports", "1, 'chatgpt', 'export.zip', 7, 1"),
            ("import_keys", "7, 1"),
            ("import_files", "1, 'conversations/a.md', NULL, 'hash'"),
            ("import_notes", "8, 1, 'notes/a.md', 'a.md', 'hash', '/theirs/a.md'"),
            ("jobs_done", "'extraction', x'01', x'02', 5"),
            ("session_sources", "x'01', x'02', x'03', 7, 8, 7, x'04', 1, x'05', 0, 0, 'direct', 'telegram'"),
            ("session_notes", "x'01', 0, 0, 'conversations/a.md', 'hash', '', 1, 0, 0"),
        ];
        let folder = tempfile::tempdir().unwrap();
        let connected = |name: &str| {
            std::fs::create_dir(folder.path().join(name)).unwrap();
            let state = State::in_folder(&folder.path().join(name));
            state.make().unwrap();
            (state.file().to_owned(), state.connect(Durability::Full).unwrap().connection)
        };
        let (damaged, from) = connected("damaged");
        let (_, mut into) = connected("new");
        for (table, values) in rows {
            from.execute(&format!("INSERT INTO {table} VALUES ({values})"), []).unwrap();
        }
        salvage(&damaged, &mut into).unwrap();
        for (table, _) in rows {
            let count = into.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get::<_, i64>(0));
            assert_eq!(count.unwrap(), 1, "{table}");
        }
    }
}
