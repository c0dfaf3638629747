//! The tables, the checksums of their rows, and how a database is opened.

use std::fmt::Display;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OpenFlags, params};

use crate::base::fs::crash;
use crate::index::engine::{Damage, EngineError};

/// Counts up whenever the tables, the chunking, titles, labels, the names of embeddings or what counts as the sources of a note change; an
/// index of another format is rebuilt.
pub(super) const FORMAT: i64 = 25;

// A file's `checksum` answers for what is read at the start: its own row, and of each of its chunks what memory keeps. Its
// `details` answers for the rest of the row, but for the stamps: one that is not the file's has the file read again.
const TABLES: &str = "
CREATE TABLE meta(
    id INTEGER PRIMARY KEY, store TEXT NOT NULL, place TEXT NOT NULL, seq INTEGER NOT NULL,
    next_file INTEGER NOT NULL, next_chunk INTEGER NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE files(
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, seq INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, size INTEGER NOT NULL, inode INTEGER NOT NULL,
    read_ns INTEGER NOT NULL, hash BLOB NOT NULL,
    title TEXT NOT NULL, tags TEXT NOT NULL, private INTEGER NOT NULL, sources TEXT NOT NULL, metadata TEXT NOT NULL,
    doubtful TEXT NOT NULL, labels BLOB NOT NULL,
    created_ms INTEGER NOT NULL, updated_ms INTEGER NOT NULL, problems TEXT NOT NULL,
    checksum INTEGER NOT NULL, details INTEGER NOT NULL);
CREATE INDEX files_by_seq ON files(seq);
CREATE TABLE chunks(
    id INTEGER PRIMARY KEY, file INTEGER NOT NULL, ordinal INTEGER NOT NULL, hash INTEGER NOT NULL, content BLOB,
    heading_path TEXT NOT NULL, text TEXT NOT NULL, body_start INTEGER NOT NULL,
    prose_start INTEGER NOT NULL, prose_end INTEGER NOT NULL,
    line_start INTEGER NOT NULL, line_end INTEGER NOT NULL,
    words_body INTEGER NOT NULL, words_heading INTEGER NOT NULL, words_own INTEGER NOT NULL,
    checksum INTEGER NOT NULL);
CREATE INDEX chunks_by_file ON chunks(file, ordinal);
CREATE INDEX chunks_by_hash ON chunks(hash);
CREATE TABLE vectors(
    id INTEGER PRIMARY KEY, model INTEGER NOT NULL, content BLOB NOT NULL, checksum INTEGER NOT NULL,
    vector BLOB NOT NULL);
CREATE UNIQUE INDEX vectors_by_content ON vectors(content, model);
CREATE TABLE deletions(file INTEGER PRIMARY KEY, seq INTEGER NOT NULL);
CREATE TABLE skipped(path TEXT PRIMARY KEY, reason TEXT NOT NULL, checksum INTEGER NOT NULL) WITHOUT ROWID;
";

/// How long a connection waits for another's lock.
pub(super) const BUSY_TIMEOUT: std::time::Duration = std::time::Duration::from_secs(5);

pub(super) const PAGE_BYTES: u16 = 8192;

/// Looks at what SQLite would take for a database that may not be written, or of another shape.
fn check_header(path: &Path) -> Result<(), EngineError> {
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(20).read_to_end(&mut header));
    let [high, low] = PAGE_BYTES.to_be_bytes();
    // The name, the size of a page, and twice the number that stands for write-ahead logging.
    let expected = [b"SQLite format 3\0".as_slice(), &[high, low, 2, 2]].concat();
    match read {
        Ok(1..) if header != expected => Err(damaged("its header is wrong")),
        // SQLite says better what is wrong.
        _ => Ok(()),
    }
}

fn pragmas(connection: &Connection) -> rusqlite::Result<()> {
    // Thirteen embeddings fill a page of this size to the brim; of 4 kB pages a tenth would stay empty.
    connection.pragma_update(None, "page_size", PAGE_BYTES)?;
    connection.pragma_update(None, "journal_mode", "WAL")?;
    connection.pragma_update(None, "synchronous", "NORMAL")?;
    connection.pragma_update(None, "cache_size", -8_000)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(())
}

/// Opens the database for writing, or makes a new one, with the first row of `meta` that `new_meta` gives.
pub(super) fn open(path: &Path, new_meta: &Meta) -> Result<Connection, EngineError> {
    check_header(path)?;
    let mut connection = Connection::open(path)?;
    pragmas(&connection)?;
    let transaction = connection.transaction()?;
    let found: i64 = transaction.pragma_query_value(None, "user_version", |row| row.get(0))?;
    let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
    match (found, tables) {
        (0, 0) => {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "user_version", FORMAT)?;
            new_meta.write(&transaction)?;
            crash::point("catalog-made");
        }
        (FORMAT, _) => {}
        (found, _) => return Err(other_format(found)),
    }
    transaction.commit()?;
    Ok(connection)
}

/// Opens the database for reading.
pub(super) fn open_reader(path: &Path) -> Result<Connection, EngineError> {
    check_header(path)?;
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.pragma_update(None, "cache_size", -2_000)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    connection.set_prepared_statement_cache_capacity(32);
    let found: i64 = connection.pragma_query_value(None, "user_version", |row| row.get(0))?;
    if found != FORMAT {
        return Err(other_format(found));
    }
    Ok(connection)
}

/// What a catalog says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::index::local) struct Meta {
    /// Tells it from every other catalog.
    pub store: String,
    /// The machine and the vault that it was made for.
    pub place: String,
    /// The number of the last batch.
    pub seq: u64,
    pub next_file: u32,
    pub next_chunk: u64,
}

impl Meta {
    /// Of a catalog without files.
    pub(super) fn new(place: &str) -> Self {
        let now = std::time::UNIX_EPOCH.elapsed().unwrap_or_default().as_nanos();
        let store = blake3::hash(&now.to_le_bytes()).to_hex()[..16].to_owned();
        Self { store, place: place.to_owned(), seq: 0, next_file: 1, next_chunk: 1 }
    }

    pub(super) fn read(connection: &Connection) -> Result<Self, EngineError> {
        let select = "SELECT store, place, seq, next_file, next_chunk, checksum FROM meta WHERE id = 1";
        let (meta, checksum) = connection.query_row(select, [], |row| {
            let (seq, next_chunk): (i64, i64) = (row.get(2)?, row.get(4)?);
            let (store, place, next_file) = (row.get(0)?, row.get(1)?, row.get(3)?);
            let meta = Self { store, place, seq: seq as u64, next_file, next_chunk: next_chunk as u64 };
            Ok((meta, row.get::<_, i32>(5)?))
        })?;
        if meta.checksum() != checksum {
            return Err(damaged("its own description fails its checksum"));
        }
        Ok(meta)
    }

    pub(super) fn write(&self, connection: &Connection) -> Result<(), EngineError> {
        let Self { store, place, seq, next_file, next_chunk } = self;
        connection
            .prepare_cached("INSERT OR REPLACE INTO meta VALUES (1, ?1, ?2, ?3, ?4, ?5, ?6)")?
            .execute(params![store, place, *seq as i64, next_file, *next_chunk as i64, self.checksum()])?;
        Ok(())
    }

    fn checksum(&self) -> i32 {
        let mut sum = Checksum::default();
        sum.text(&self.store).text(&self.place).number(self.seq as i64).number(self.next_file);
        sum.number(self.next_chunk as i64).short()
    }
}

/// A row does not hold what it should.
pub(in crate::index::local) fn damaged(what: impl Display) -> EngineError {
    damage(format!("the catalog is damaged: {what}"))
}

/// It was written by a version with other tables.
fn other_format(found: i64) -> EngineError {
    damage(format!("the catalog has format {found}; this version reads {FORMAT}"))
}

fn damage(reason: String) -> EngineError {
    EngineError::damaged(reason.clone(), Damage::Catalog(reason))
}

/// What says nothing of the file's content, but of the disk, rights or another process.
const ENVIRONMENT: [ErrorCode; 9] = [
    ErrorCode::CannotOpen,
    ErrorCode::DatabaseBusy,
    ErrorCode::DatabaseLocked,
    ErrorCode::DiskFull,
    ErrorCode::FileLockingProtocolFailed,
    ErrorCode::OutOfMemory,
    ErrorCode::PermissionDenied,
    ErrorCode::ReadOnly,
    ErrorCode::SystemIoFailure,
];

impl From<rusqlite::Error> for EngineError {
    fn from(error: rusqlite::Error) -> Self {
        let reason = format!("the catalog: {error}");
        match error.sqlite_error_code().is_some_and(|code| ENVIRONMENT.contains(&code)) {
            true => Self::other(reason),
            false => damage(reason),
        }
    }
}

/// Gathers what a row holds, for its checksum: SQLite does not notice a flipped bit there. Every value says its own length, so that no two rows gather the same bytes.
#[derive(Default)]
pub(super) struct Checksum {
    bytes: Vec<u8>,
}

impl Checksum {
    pub(super) fn number(&mut self, number: impl Into<i64>) -> &mut Self {
        self.bytes.extend(number.into().to_le_bytes());
        self
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend((bytes.len() as u64).to_le_bytes());
        self.bytes.extend(bytes);
        self
    }

    pub(super) fn text(&mut self, text: &str) -> &mut Self {
        self.bytes(text.as_bytes())
    }

    /// 32 bits of BLAKE3, which SQLite keeps in four bytes.
    pub(super) fn short(&self) -> i32 {
        let [a, b, c, d, ..] = *blake3::hash(&self.bytes).as_bytes();
        i32::from_le_bytes([a, b, c, d])
    }

    /// 63 bits: for what is told from arbitrary bytes by nothing else.
    pub(super) fn long(&self) -> i64 {
        let [a, b, c, d, e, f, g, h, ..] = *blake3::hash(&self.bytes).as_bytes();
        (u64::from_le_bytes([a, b, c, d, e, f, g, h]) >> 1) as i64
    }
}
