//! Follows rows of a damaged database over the pages that they spill over to.
//!
//! How much of a row is in its own page, and how the others are chained, is SQLite's
//! (<https://www.sqlite.org/fileformat2.html#cell_payload_overflow_pages>). A page may be in the database and in its log, in several
//! versions. Which is the right one nobody knows of a damaged file: both are tried, and the row's checksum decides.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::schema::PAGE_BYTES;

const PAGE: usize = PAGE_BYTES as usize;
/// The number of the next page stands before what a page has of a row.
const NEXT_BYTES: usize = 4;
/// Half a megabyte. What chance and damage make of a length is not followed for longer.
const MOST_PAGES: usize = 64;

const LOG_HEADER: u64 = 32;
const FRAME_HEADER: u64 = 24;

/// How many bytes of a row so long are in its page.
pub(super) fn bytes_in_leaf(bytes: usize) -> usize {
    let (most, least) = (PAGE - 35, (PAGE - 12) * 32 / 255 - 23);
    if bytes <= most {
        return bytes;
    }
    let rest = least + (bytes - least) % (PAGE - NEXT_BYTES);
    if rest <= most { rest } else { least }
}

/// The pages of a database and of its log.
pub(super) struct SalvagePages {
    database: Option<File>,
    /// With where it has each page last.
    log: Option<(File, HashMap<u32, u64>)>,
}

impl SalvagePages {
    /// Opens one of the two files, and gives it with the pages of both.
    pub(super) fn of(path: &Path) -> io::Result<(File, Self)> {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let (database, log) = match name.contains("-wal") {
            true => (name.replace("-wal", ""), name.clone().into_owned()),
            false => (name.clone().into_owned(), name.replace("catalog.db", "catalog.db-wal")),
        };
        let beside = |name: String| -> Option<File> { File::open(PathBuf::from(path).with_file_name(name)).ok() };
        let log = beside(log).and_then(|mut log| {
            let frames = frames(&mut log).ok()?;
            Some((log, frames))
        });
        Ok((File::open(path)?, Self { database: beside(database), log }))
    }

    /// What a row may be that begins like this and goes on in page `next`: as the log has it, and as the database does.
    pub(super) fn continued(&mut self, start: &[u8], bytes: usize, next: u32) -> Vec<Vec<u8>> {
        [true, false].into_iter().filter_map(|with_log| self.follow(start, bytes, next, with_log)).collect()
    }

    fn follow(&mut self, start: &[u8], bytes: usize, mut next: u32, with_log: bool) -> Option<Vec<u8>> {
        let mut whole = start.to_vec();
        for _ in 0..MOST_PAGES {
            if whole.len() == bytes {
                return Some(whole);
            }
            let page = self.page(next, with_log)?;
            let (number, content) = page.split_first_chunk::<NEXT_BYTES>()?;
            next = u32::from_be_bytes(*number);
            whole.extend_from_slice(&content[..content.len().min(bytes - whole.len())]);
        }
        (whole.len() == bytes).then_some(whole)
    }

    fn page(&mut self, number: u32, with_log: bool) -> Option<Vec<u8>> {
        let in_log = self.log.as_mut().filter(|_| with_log);
        if let Some((log, frames)) = in_log
            && let Some(at) = frames.get(&number)
        {
            return page_at(log, *at).ok();
        }
        let at = u64::from(number.checked_sub(1)?) * PAGE as u64;
        page_at(self.database.as_mut()?, at).ok()
    }
}

fn page_at(file: &mut File, at: u64) -> io::Result<Vec<u8>> {
    let mut page = vec![0; PAGE];
    file.seek(SeekFrom::Start(at))?;
    file.read_exact(&mut page)?;
    Ok(page)
}

/// Where a log has each page last: of the round that it is in, else of the one before.
fn frames(log: &mut File) -> io::Result<HashMap<u32, u64>> {
    let mut header = [0; LOG_HEADER as usize];
    log.read_exact(&mut header)?;
    let (mut current, mut former) = (HashMap::new(), HashMap::new());
    let mut at = LOG_HEADER;
    let mut frame = [0; FRAME_HEADER as usize];
    loop {
        log.seek(SeekFrom::Start(at))?;
        if log.read_exact(&mut frame).is_err() {
            break;
        }
        let [a, b, c, d, ..] = frame;
        let of = if frame[8..16] == header[16..24] { &mut current } else { &mut former };
        of.insert(u32::from_be_bytes([a, b, c, d]), at + FRAME_HEADER);
        at += FRAME_HEADER + PAGE as u64;
    }
    former.extend(current);
    Ok(former)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_in_its_page_as_far_as_sqlite_has_it() {
        assert_eq!((bytes_in_leaf(1), bytes_in_leaf(8157)), (1, 8157));
        // One byte more, and all but the least goes to a page of its own, which has room for 8,188.
        assert_eq!(
            (bytes_in_leaf(8158), bytes_in_leaf(1003 + 8188), bytes_in_leaf(1003 + 8188 + 9)),
            (1003, 1003, 1012)
        );
    }
}
