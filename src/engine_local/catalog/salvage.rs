//! Takes the embeddings out of a damaged database.
//!
//! They are the one thing in the index that is dear to make again: an hour of computing for 50,000 notes. SQLite reads a
//! damaged database as far as the first page that it cannot follow. But a row that proves itself needs no page to lead to
//! it: here the bytes of the file are searched for anything of the shape of an embedding's row, and its checksum says
//! whether it is one. So a flipped bit costs the row it hits, whatever else it breaks.
//!
//! The shape is SQLite's record format (<https://www.sqlite.org/fileformat2.html#record_format>): a header of its own length and
//! one code a column, then the columns. What does not fit into a page, as the tokens of a text by a model of many dimensions, goes on in
//! [pages of its own](super::salvage_pages).

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::{Transaction, params};

use super::error::CatalogError;
use super::salvage_pages::{SalvagePages, bytes_in_leaf};
use super::vectors::StoredVector;
use super::writer::Catalog;
use crate::fs::{Context, FsError};

/// Where damaged databases wait.
pub(crate) const FOLDER: &str = "salvage";

/// Bytes that are read at a time; rows are looked for at every byte of it.
const WINDOW_BYTES: u64 = 4 << 20;
/// Maximum length of what a page has of a row, in bytes.
const MAX_LOCAL_BYTES: usize = 8192;

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
            let Ok((mut file, mut pages)) = SalvagePages::of(&path) else { continue };
            let mut window = Vec::new();
            loop {
                let read = file.by_ref().take(WINDOW_BYTES).read_to_end(&mut window);
                let last = read.map_or(true, |read| read == 0);
                let searched = if last { window.len() } else { window.len().saturating_sub(MAX_LOCAL_BYTES) };
                let transaction = self.connection.transaction()?;
                for at in 0..searched {
                    count += match row(&window[at..]) {
                        Some(FoundRow::Here(row)) if row.is_whole() => insert(&transaction, &row)?,
                        Some(FoundRow::Spilled { start, bytes, next }) => {
                            let mut wholes = pages.continued(start.bytes, bytes, next).into_iter();
                            let whole = wholes.find(|bytes| StoredVector { bytes, ..start }.is_whole());
                            whole
                                .map_or(Ok(0), |bytes| insert(&transaction, &StoredVector { bytes: &bytes, ..start }))?
                        }
                        _ => 0,
                    };
                }
                transaction.commit()?;
                window.drain(..searched);
                if last {
                    break;
                }
            }
        }
        // Together, as a row in one may go on in the other.
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

/// What has the shape of a row.
enum FoundRow<'a> {
    Here(StoredVector<'a>),
    /// One that begins with these bytes of so many, and goes on in another page.
    Spilled {
        start: StoredVector<'a>,
        bytes: usize,
        next: u32,
    },
}

/// Reads what has the shape of a row of `vectors`: no id (it is the row's), a model of four bytes, a content hash of sixteen, a
/// checksum and a blob.
#[inline]
fn row(bytes: &[u8]) -> Option<FoundRow<'_>> {
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
    let (model, length) = (i64::from(i32::from_be_bytes(*model)), (code - 12) / 2);
    let before = usize::from(*header) + 4 + 16 + sum_bytes;
    let here = bytes_in_leaf(before + length) - before;
    let (bytes, after) = rest.split_at_checked(here)?;
    let start = StoredVector { model, content, checksum, bytes };
    if here == length {
        return Some(FoundRow::Here(start));
    }
    let next = u32::from_be_bytes(*after.first_chunk()?);
    Some(FoundRow::Spilled { start, bytes: length, next })
}

#[cfg(test)]
mod tests {
    use std::ops::Range;

    use half::f16;

    use super::*;
    use crate::engine::{ContentHash, packed_bytes};
    use crate::models::{EmbeddedText, PackedTokens};

    const DIMENSION: usize = 1536;

    /// The length of the tokens: short, as long as fits into a page and a byte longer, and over one page and several.
    fn lengths() -> Vec<usize> {
        let fits = 8157 - (8 + 4 + 16 + 8) - packed_bytes(DIMENSION);
        vec![0, 900, fits - 2, fits - 1, fits, fits + 1, 9_000, 30_000, 60_000, 7_000, 12_345]
    }

    fn text(at: usize, length: usize) -> (ContentHash, EmbeddedText) {
        let number = |row: usize| ((row * 31 + at * 17) % 199) as f32 / 199.0 - 0.5;
        let vector = (0..DIMENSION).map(|row| f16::from_f32(number(row))).collect();
        let tokens = PackedTokens::from_bytes((0..length).map(|row| ((row + at) % 251) as u8).collect());
        (ContentHash::from_bytes([at as u8; 16]), EmbeddedText { vector, tokens })
    }

    /// How many of the embeddings that were kept before `damage` are salvaged, each as it was.
    fn salvaged(is_in_log: bool, damage: impl Fn(&mut Vec<u8>)) -> usize {
        let folder = tempfile::tempdir().unwrap();
        let (index, moved) = (folder.path().join("index"), folder.path().join("moved"));
        fs::create_dir(&index).unwrap();
        fs::create_dir(&moved).unwrap();
        let mut catalog = Catalog::open(&index.join("catalog.db"), "here").unwrap();
        let texts: Vec<_> = lengths().into_iter().enumerate().map(|(at, length)| text(at, length)).collect();
        let half = texts.len() / 2;
        catalog.put_vectors(1 << 30, &texts[..half]).unwrap();
        catalog.checkpoint().unwrap();
        catalog.put_vectors(1 << 30, &texts[half..]).unwrap();
        if !is_in_log {
            catalog.checkpoint().unwrap();
        }
        for name in ["catalog.db", "catalog.db-wal"] {
            let mut bytes = fs::read(index.join(name)).unwrap();
            damage(&mut bytes);
            fs::write(moved.join(name), bytes).unwrap();
        }
        drop(catalog);
        set_aside(&moved).unwrap();
        let mut catalog = Catalog::open(&moved.join("catalog.db"), "here").unwrap();
        let count = catalog.salvage(&moved).unwrap();
        let reader = catalog.reader().unwrap();
        let whole = texts.iter().filter(|(content, text)| {
            let Some(vector) = catalog.vector(1 << 30, DIMENSION, content).unwrap() else { return false };
            let tokens = reader.tokens(1 << 30, DIMENSION, content).unwrap().unwrap_or_default();
            assert_eq!((vector.len(), &tokens), (DIMENSION, &text.tokens));
            true
        });
        assert_eq!(whole.count(), count);
        assert!(!moved.join(FOLDER).exists());
        count
    }

    #[test]
    fn rows_that_are_longer_than_a_page_are_salvaged_too() {
        assert_eq!(salvaged(false, |_| {}), lengths().len());
        assert_eq!(salvaged(true, |_| {}), lengths().len());
    }

    #[test]
    fn a_flipped_byte_costs_one_long_row_at_most() {
        // Of a text that is in one row alone: the middle of 60,000 bytes that count up.
        let of_the_longest: Range<u8> = 100..140;
        let bytes: Vec<u8> = of_the_longest.collect();
        let flip = |file: &mut Vec<u8>| {
            let found: Vec<usize> = (0..file.len()).filter(|at| file[*at..].starts_with(&bytes)).collect();
            if let Some(at) = found.get(found.len() / 2) {
                file[*at] ^= 1;
            }
        };
        for is_in_log in [false, true] {
            let left = salvaged(is_in_log, flip);
            // Each of the two files has one flipped byte.
            assert!(left + 2 >= lengths().len(), "{left}");
        }
    }
}
