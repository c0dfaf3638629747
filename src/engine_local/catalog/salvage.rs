//! Takes the embeddings out of a damaged database.
//!
//! They are the one thing in the index that is dear to make again: an hour of computing for 50,000 notes. SQLite reads a
//! damaged database as far as the first page that it cannot follow. But a row that proves itself needs no page to lead to
//! it: here the bytes of the file are searched for anything of the shape of an embedding's row, and its checksum says
//! whether it is one. So a flipped bit costs the row it hits, whatever else it breaks.
//!
//! The shape is SQLite's record format (<https://www.sqlite.org/fileformat2.html#record_format>): a header of its own length and
//! one code a column, then the columns. A row that spills over its page is passed over; it would have over 5,000 dimensions.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::{Transaction, params};

use super::error::CatalogError;
use super::vectors::StoredVector;
use super::writer::Catalog;
use crate::fs::{Context, FsError};

/// Where damaged databases wait.
pub(crate) const FOLDER: &str = "salvage";

/// Bytes that are read at a time; rows are looked for at every byte of it.
const WINDOW_BYTES: u64 = 4 << 20;
/// No row is longer.
const MAX_ROW_BYTES: usize = 8192;

/// Moves a database and its log aside, to be salvaged. What was moved before stays.
pub(crate) fn set_aside(index: &Path) -> Result<(), FsError> {
    let folder = index.join(FOLDER);
    for name in ["catalog.db", "catalog.db-wal"] {
        let path = index.join(name);
        if !path.is_file() {
            continue;
        }
        crate::fs::create_private_dir(&folder)?;
        let free = (0u32..).map(|number| folder.join(format!("{name}.{number}"))).find(|path| !path.exists());
        fs::rename(&path, free.unwrap_or_else(|| folder.join(name))).on("set aside", &path)?;
    }
    Ok(())
}

/// The databases that wait in a folder.
fn waiting(index: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(index.join(FOLDER)) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_file()).collect()
}

impl Catalog {
    /// Takes over the whole embeddings of databases that were set aside, and removes them. Says how many there were.
    ///
    /// # Errors
    /// When it cannot be written; what is left is salvaged next time.
    pub fn salvage(&mut self, index: &Path) -> Result<usize, CatalogError> {
        let mut count = 0;
        for path in waiting(index) {
            // What cannot be read cannot be read next time either.
            let Ok(mut file) = File::open(&path) else { continue };
            let mut window = Vec::new();
            loop {
                let read = file.by_ref().take(WINDOW_BYTES).read_to_end(&mut window);
                let last = read.map_or(true, |read| read == 0);
                let searched = if last { window.len() } else { window.len().saturating_sub(MAX_ROW_BYTES) };
                let transaction = self.connection.transaction()?;
                for at in 0..searched {
                    if let Some(row) = row(&window[at..]).filter(StoredVector::is_whole) {
                        count += insert(&transaction, &row)?;
                    }
                }
                transaction.commit()?;
                window.drain(..searched);
                if last {
                    break;
                }
            }
            let _ = fs::remove_file(&path);
        }
        let _ = fs::remove_dir_all(index.join(FOLDER));
        Ok(count)
    }
}

fn insert(transaction: &Transaction<'_>, vector: &StoredVector<'_>) -> Result<usize, CatalogError> {
    let StoredVector { model, content, checksum, bytes } = vector;
    let mut insert = transaction
        .prepare_cached("INSERT OR IGNORE INTO vectors(model, content, checksum, vector) VALUES (?1, ?2, ?3, ?4)")?;
    Ok(insert.execute(params![model, content, checksum, bytes])?)
}

/// Reads what has the shape of a row of `vectors`: no id (it is the row's), a model of four bytes, a content hash of sixteen, a
/// checksum and a blob.
#[inline]
fn row(bytes: &[u8]) -> Option<StoredVector<'_>> {
    const NULL: u8 = 0;
    const FOUR_BYTES: u8 = 4;
    const SIXTEEN_BYTE_BLOB: u8 = 12 + 2 * 16;
    let [header, NULL, FOUR_BYTES, SIXTEEN_BYTE_BLOB, sum_code, rest @ ..] = bytes else { return None };
    let sum_bytes = match sum_code {
        1..=4 => usize::from(*sum_code),
        5 => 6,
        6 => 8,
        _ => return None,
    };
    let (code, code_bytes) = match rest {
        [low @ 0..=0x7f, ..] => (usize::from(*low), 1),
        [high, low @ 0..=0x7f, ..] => (usize::from(high & 0x7f) << 7 | usize::from(*low), 2),
        [top, high, low @ 0..=0x7f, ..] => {
            (usize::from(top & 0x7f) << 14 | usize::from(high & 0x7f) << 7 | usize::from(*low), 3)
        }
        _ => return None,
    };
    if usize::from(*header) != 5 + code_bytes || code < 12 || code % 2 != 0 {
        return None;
    }
    let (model, rest) = rest.get(code_bytes..)?.split_first_chunk::<4>()?;
    let (content, rest) = rest.split_at_checked(16)?;
    let (sum, rest) = rest.split_at_checked(sum_bytes)?;
    let checksum = sum.iter().fold(0i64, |number, byte| number << 8 | i64::from(*byte));
    let bytes = rest.get(..(code - 12) / 2)?;
    Some(StoredVector { model: i64::from(i32::from_be_bytes(*model)), content, checksum, bytes })
}
