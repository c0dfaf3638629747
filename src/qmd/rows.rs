//! The rows of the documents: what each holds, and how one is written and taken away.

use rusqlite::types::Type;
use rusqlite::{Row, Transaction, params};
use sha2::{Digest as _, Sha256};

use crate::vault::Stamp;

/// What a document is read from.
pub(super) const COLUMNS: &str = "collection, path, title, hash, modified_at";

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
    /// The name by which it is given: six digits of its hash.
    pub(crate) fn docid(&self) -> &str {
        &self.hash[..6]
    }

    /// Its address: `qmd://collection/path`.
    pub(crate) fn address(&self) -> String {
        format!("qmd://{}/{}", self.collection, self.path)
    }

    /// That of a row which begins with [`COLUMNS`].
    ///
    /// # Errors
    /// When it holds none.
    pub(super) fn of(row: &Row<'_>) -> rusqlite::Result<Self> {
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
pub(super) struct SeenText {
    pub(super) text: String,
    pub(super) stamp: Stamp,
    pub(super) title: String,
    /// Whether it was made of other notes, so that it is seen where those are, though it is as it was.
    pub(super) derived: bool,
}

/// Whose a document is, its collection and its path there.
pub(super) type DocumentPlace<'a> = (String, &'a str, &'a str);

/// A stamp, from a column on.
///
/// # Errors
/// When the columns hold none.
pub(super) fn stamp(row: &Row<'_>, at: usize) -> rusqlite::Result<Stamp> {
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
pub(super) fn put(
    transaction: &Transaction<'_>,
    (owner, collection, path): &DocumentPlace<'_>,
    read: &SeenText,
) -> rusqlite::Result<()> {
    let SeenText { text, stamp, title, derived } = read;
    let hash: String = Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
    let at = jiff::Timestamp::from_nanosecond(stamp.mtime_ns.into()).unwrap_or_default().to_string();
    let sql = "INSERT INTO documents(collection, path, title, hash, created_at, modified_at, active, owner)
               VALUES (?1, ?2, ?3, ?4, ?5, ?5, 1, ?6)
               ON CONFLICT(owner, collection, path) DO UPDATE SET title = ?3, hash = ?4, modified_at = ?5, active = 1
               RETURNING id";
    let id: i64 = transaction.query_row(sql, params![collection, path, title, hash, at, owner], |row| row.get(0))?;
    let stamp = params![id, stamp.mtime_ns, stamp.ctime_ns, stamp.size as i64, stamp.inode as i64, derived];
    transaction.execute("INSERT OR REPLACE INTO stamps VALUES (?1, ?2, ?3, ?4, ?5, ?6)", stamp).map(drop)
}

/// Takes a document away.
///
/// # Errors
/// When the database cannot be written.
pub(super) fn forget(
    transaction: &Transaction<'_>,
    (owner, collection, path): &DocumentPlace<'_>,
) -> rusqlite::Result<()> {
    let sql = "DELETE FROM stamps WHERE document IN
               (SELECT id FROM documents WHERE owner = ?1 AND collection = ?2 AND path = ?3)";
    transaction.execute(sql, [owner, *collection, *path])?;
    let sql = "DELETE FROM documents WHERE owner = ?1 AND collection = ?2 AND path = ?3";
    transaction.execute(sql, [owner, *collection, *path]).map(drop)
}
