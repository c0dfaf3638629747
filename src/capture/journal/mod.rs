//! Events that are accepted and not yet in their files: an append-only journal, safe on disk before the sender hears of it.

mod commit;
mod record;
mod seen;
mod segment;

use std::collections::{HashSet, VecDeque};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use seen::Seen;
use segment::{Records, Segment};

use super::event::Captured;
use super::event::takes;
use super::progress::Progress;
use crate::config::CaptureConfig;
use crate::fs::{Context, FsError, crash, create_private_dir, sync_folder, write_atomically};
use crate::vault::Identity;

pub(super) use commit::{Commit, Queue, Waiting};
pub(super) use record::Record;

/// A file of records that is longer is followed by the next one.
const SEGMENT_BYTES: u64 = 8 << 20;

/// The journal of one vault. One thread writes it.
#[derive(Debug)]
struct Journal {
    folder: PathBuf,
    segments: VecDeque<Segment>,
    /// The last of them, open to be written; none until it is needed.
    open: Option<File>,
    seen: Seen,
    /// The number of the next event.
    next: u64,
}

/// What was appended: how many events are new, and how many were there already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Appended {
    pub(super) accepted: usize,
    pub(super) doubles: usize,
}

impl Journal {
    /// Reads what is on disk. A tail that was cut by a kill is dropped: nobody was told that it is safe. `applied` is the
    /// number of the first event that is not in its file.
    fn open(folder: &Path, applied: u64) -> Result<Self, FsError> {
        let mut seen = Seen::load(folder.join("seen"));
        let mut segments = VecDeque::new();
        let mut next = applied;
        for (first, path) in segment::list(folder)? {
            let mut segment = Segment::new(path.clone(), first);
            let mut records = Records::open(&path, 0)?;
            while let Some(record) = records.next() {
                segment.takes(&record, records.at - segment.bytes);
            }
            let length = std::fs::metadata(&path).on("read", &path)?.len();
            if records.at < length {
                tracing::warn!("{} bytes at the end of {} are not whole", length - records.at, path.display());
                File::options().write(true).open(&path).and_then(|file| file.set_len(records.at)).on("cut", &path)?;
            }
            segment.keys.iter().for_each(|key| seen.add(*key));
            next = next.max(segment.end);
            segments.push_back(segment);
        }
        Ok(Self { folder: folder.to_owned(), segments, open: None, seen, next })
    }

    /// Bytes of what is in no file yet.
    fn bytes(&self) -> u64 {
        self.segments.iter().map(|segment| segment.bytes).sum()
    }

    /// Appends requests, each whole or not at all, and makes them safe on disk, all at once.
    fn append(&mut self, requests: Vec<Vec<Captured>>) -> Result<Vec<Appended>, FsError> {
        let (mut answers, mut records, mut bytes) = (Vec::new(), Vec::new(), Vec::new());
        let (mut next, mut new) = (self.next, HashSet::new());
        for mut events in requests {
            let sent = events.len();
            events.retain(|event| event.key.is_none_or(|key| !self.seen.has(key) && new.insert(key)));
            answers.push(Appended { accepted: events.len(), doubles: sent - events.len() });
            if events.is_empty() {
                continue;
            }
            let record = Record { first: next, events: events.into_iter().map(Some).collect() };
            next = record.end();
            let encoded = record.encode().map_err(std::io::Error::other).on("encode", &self.folder)?;
            records.push((record, encoded.len() as u64));
            bytes.extend(encoded);
        }
        if records.is_empty() {
            return Ok(answers);
        }
        self.write(&bytes)?;
        let segment = self.segments.back_mut().expect("it was just written to");
        for (record, length) in records {
            segment.takes(&record, length);
        }
        new.into_iter().for_each(|key| self.seen.add(key));
        self.next = next;
        Ok(answers)
    }

    fn write(&mut self, bytes: &[u8]) -> Result<(), FsError> {
        if self.open.is_none() || self.segments.back().is_none_or(|last| last.bytes >= SEGMENT_BYTES) {
            self.begin()?;
        }
        let (Some(mut file), Some(segment)) = (self.open.as_ref(), self.segments.back()) else { return Ok(()) };
        let written = file.write_all(bytes).and_then(|()| {
            crash::point("events-written");
            file.sync_data()
        });
        crash::point("events-synced");
        let Err(error) = written.on("write", &segment.path) else { return Ok(()) };
        // What is left of it must not be taken for whole, nor stand between what is.
        if file.set_len(segment.bytes).is_err() || file.seek(SeekFrom::Start(segment.bytes)).is_err() {
            self.open = None;
        }
        Err(error)
    }

    /// Begins another file of records.
    fn begin(&mut self) -> Result<(), FsError> {
        create_private_dir(&self.folder)?;
        let path = segment::path(&self.folder, self.next);
        let mut options = File::options();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).on("write", &path)?;
        sync_folder(&path)?;
        crash::point("events-begun");
        self.segments.retain(|segment| segment.path != path);
        self.segments.push_back(Segment::new(path, self.next));
        self.open = Some(file);
        Ok(())
    }

    /// Whether the file that is written to is still the one that a start would read.
    fn is_there(&self) -> bool {
        let Some(file) = &self.open else { return self.segments.iter().all(|segment| segment.path.exists()) };
        let ours = file.metadata().map(|meta| Identity::told_by(&meta));
        let there = self.segments.back().map(|segment| Identity::of(&segment.path));
        matches!((ours, there), (Ok(ours), Some(Ok(there))) if ours == there)
    }

    /// Removes what is in its files by now; with `all` also the file that would be written to next.
    fn trim(&mut self, applied: u64, all: bool) -> Result<(), FsError> {
        while let Some(first) = self.segments.front() {
            let last = self.segments.len() == 1;
            if first.end > applied || (last && (!all || first.bytes == 0) && first.bytes < SEGMENT_BYTES) {
                break;
            }
            self.seen.keep(&first.keys)?;
            crash::point("events-remembered");
            match std::fs::remove_file(&first.path) {
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(error).on("remove", &first.path);
                }
                _ => {}
            }
            self.segments.pop_front();
            if last {
                self.begin()?;
            }
        }
        Ok(())
    }

    /// Takes the text of all that is in its files, and of what is switched off, off the disk.
    fn sweep(&mut self, progress: &Progress, config: &CaptureConfig) -> Result<(), FsError> {
        self.trim(progress.next, true)?;
        for segment in &mut self.segments {
            let Some(bytes) =
                segment.without(|number, event| progress.has(number) || !takes(config, event.event.kind()))?
            else {
                continue;
            };
            self.seen.keep(&segment.keys)?;
            segment.keys.clear();
            crash::point("events-swept");
            write_atomically(&segment.path, &bytes, 0o600)?;
            // What is written next goes to a file of its own: this one may be another now.
            self.open = None;
        }
        Ok(())
    }
}

/// Takes off the disk what a journal that nobody writes has of events that are in their files, or switched off; gives
/// how many are left.
pub(super) fn clear(folder: &Path, config: &CaptureConfig) -> Result<u64, FsError> {
    let progress = Progress::load(folder);
    let mut journal = Journal::open(folder, progress.next)?;
    journal.sweep(&progress, config)?;
    Ok(journal.next.saturating_sub(progress.next))
}

/// How many events of a journal are not in their files, whoever writes it at the moment.
pub(super) fn waiting(folder: &Path) -> u64 {
    let progress = Progress::load(folder);
    let segments = segment::list(folder).unwrap_or_default();
    let mut waiting = 0;
    for mut records in segments.iter().filter_map(|(_, path)| Records::open(path, 0).ok()) {
        while let Some(record) = records.next() {
            let numbered = (record.first..).zip(&record.events);
            waiting += numbered.filter(|(number, event)| event.is_some() && !progress.has(*number)).count() as u64;
        }
    }
    waiting
}

/// Reads the journal from a number on, while it is written.
#[derive(Debug)]
pub(super) struct Cursor {
    folder: PathBuf,
    /// The file that is being read, where in it, and the number of the event there.
    at: Option<(PathBuf, u64, u64)>,
}

impl Cursor {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), at: None }
    }

    /// The records that begin at `from` or hold it, up to about so many events and bytes, and none past `durable`.
    pub(super) fn read(&mut self, from: u64, durable: u64, max_events: usize) -> Result<Vec<Record>, FsError> {
        const MAX_BYTES: u64 = 4 << 20;
        let (mut found, mut events, mut bytes, mut expected) = (Vec::new(), 0, 0, from);
        let known = self.at.take().filter(|(path, _, number)| *number == from && path.exists());
        let start = known.as_ref().map(|(path, ..)| path.clone());
        let segments = segment::list(&self.folder)?;
        let first = match &start {
            Some(start) => segments.iter().position(|(_, path)| path == start).unwrap_or(0),
            None => segments.iter().rposition(|(number, _)| *number <= from).unwrap_or(0),
        };
        for (_, path) in segments.iter().skip(first) {
            let offset = known.as_ref().filter(|(known, ..)| known == path).map_or(0, |(_, offset, _)| *offset);
            let mut records = Records::open(path, offset)?;
            loop {
                let before = records.at;
                let Some(record) = records.next().filter(|record| record.end() <= durable) else {
                    self.at = Some((path.clone(), before, expected));
                    break;
                };
                if record.end() <= from {
                    continue;
                }
                expected = record.end();
                events += record.events.len();
                bytes += records.at - before;
                found.push(record);
                if events >= max_events || bytes >= MAX_BYTES {
                    self.at = Some((path.clone(), records.at, expected));
                    return Ok(found);
                }
            }
        }
        Ok(found)
    }
}
