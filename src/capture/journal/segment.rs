//! A file of records, one after the other.

use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use super::super::event::Captured;
use super::record::{HEADER, Record};
use crate::fs::{Context, FsError};

const SUFFIX: &str = ".events";

/// What is known of a file of records.
#[derive(Debug)]
pub(super) struct Segment {
    pub(super) path: PathBuf,
    /// The number of the event after its last.
    pub(super) end: u64,
    pub(super) bytes: u64,
    /// What tells its events from others.
    pub(super) keys: Vec<u64>,
}

impl Segment {
    pub(super) fn new(path: PathBuf, first: u64) -> Self {
        Self { path, end: first, bytes: 0, keys: Vec::new() }
    }

    pub(super) fn takes(&mut self, record: &Record, bytes: u64) {
        self.bytes += bytes;
        self.end = record.end();
        self.keys.extend(record.events.iter().flatten().filter_map(|event| event.key));
    }

    /// The file's bytes without the events that are to go; `None` when it has none of those. Nothing in it changes its place.
    pub(super) fn without(&self, goes: impl Fn(u64, &Captured) -> bool) -> Result<Option<Vec<u8>>, FsError> {
        let mut bytes = std::fs::read(&self.path).on("read", &self.path)?;
        let mut records = Records::open(&self.path, 0)?;
        let mut changed = false;
        loop {
            let start = records.at as usize;
            let Some(mut record) = records.next() else { break };
            let mut fewer = false;
            for (number, event) in (record.first..).zip(&mut record.events) {
                fewer |= event.take_if(|event| goes(number, event)).is_some();
            }
            let place = start..records.at as usize;
            if let Some(place) = bytes.get_mut(place.clone()).filter(|_| fewer) {
                place.copy_from_slice(&record.encode_in(place.len()).on("encode", &self.path)?);
                changed = true;
            }
        }
        Ok(changed.then_some(bytes))
    }
}

/// Where the records from a number on are.
pub(super) fn path(folder: &Path, first: u64) -> PathBuf {
    folder.join(format!("{first:016x}{SUFFIX}"))
}

/// The files of records in a folder, with the numbers they begin at, in order.
pub(super) fn list(folder: &Path) -> Result<Vec<(u64, PathBuf)>, FsError> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.on("list", folder)?,
    };
    let mut found: Vec<(u64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name();
            let first = u64::from_str_radix(name.to_str()?.strip_suffix(SUFFIX)?, 16).ok()?;
            Some((first, entry.path()))
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

/// Reads one record after the other, and stops where there is none that is whole.
pub(super) struct Records {
    file: BufReader<File>,
    /// Where the next one begins.
    pub(super) at: u64,
}

impl Records {
    pub(super) fn open(path: &Path, at: u64) -> Result<Self, FsError> {
        let mut file = BufReader::new(File::open(path).on("read", path)?);
        file.seek(SeekFrom::Start(at)).on("read", path)?;
        Ok(Self { file, at })
    }

    pub(super) fn next(&mut self) -> Option<Record> {
        let mut header = [0; HEADER];
        self.file.read_exact(&mut header).ok()?;
        let mut payload = vec![0; Record::payload_length(&header)?];
        self.file.read_exact(&mut payload).ok()?;
        let record = Record::decode(&header, &payload)?;
        self.at += (HEADER + payload.len()) as u64;
        Some(record)
    }
}
