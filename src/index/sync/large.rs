//! Files that would hold up all others. One at a time is read on a thread of its own, and what is much is brought into the stores
//! part by part, so that a note saved meanwhile waits for one part and not for all.

use std::collections::{HashSet, VecDeque};
use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::backlog::Lane;
use super::prepare::PreparedFile;
use super::worker::{Worker, WorkerMessage};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::index::engine::{EngineError, FileEntry, FileUpdate};
use crate::text::derive::TextLanguage;
use crate::vault::disk::Stamp;

/// Reading this much takes a tenth of a second on a slow machine, and parsing and cutting it is most of it.
const LARGE_BYTES: u64 = 500_000;

/// Maximum number of updates that wait in memory before some of them are brought in.
const MAX_UNFINISHED: usize = 4;
/// Maximum number of chunks that are brought into the stores at a time, in a tenth to a fifth of a second.
const PART_CHUNKS: usize = 4000;
/// Target size of what is brought into the stores at a time, in bytes.
const PART_BYTES: usize = 400_000;

/// What is large, from the backlog to the stores.
#[derive(Default)]
pub(super) struct Large {
    /// Files to be read, the next one first.
    waiting: VecDeque<VaultPath>,
    /// What is being read, and where the outcome will come.
    reading: Option<(VaultPath, Receiver<PreparedFile>)>,
    /// What was read and is not in the stores, the next one first.
    read: VecDeque<Box<FileUpdate>>,
}

impl Large {
    /// Puts a file that is to be read before the others, if the watcher named it, or behind them.
    pub(super) fn push(&mut self, path: VaultPath, lane: Lane) {
        let waits = self.waiting.iter().position(|waiting| *waiting == path);
        match lane {
            Lane::Bulk if waits.is_some() => {}
            Lane::Bulk => self.waiting.push_back(path),
            Lane::Named => {
                waits.and_then(|at| self.waiting.remove(at));
                self.waiting.push_front(path);
            }
        }
    }

    /// Takes what was read and is too much to be brought into the stores at once. What was read of the file before is out of date.
    pub(super) fn finish_later(&mut self, update: Box<FileUpdate>) {
        self.read.retain(|unfinished| unfinished.path != update.path);
        self.read.push_back(update);
    }

    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.reading.is_some()) + self.read.len()
    }

    /// Whether so much waits in memory that no more is read before some of it is in the stores.
    pub(super) fn is_full(&self) -> bool {
        self.read.len() >= MAX_UNFINISHED
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Forgets all files. What is being read is not asked for when it comes.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

impl Worker<'_> {
    /// Whether a file is to be read by itself: an attachment may take seconds, however small it is.
    pub(super) fn is_large(&self, path: &VaultPath) -> bool {
        if path.is_document() {
            return true;
        }
        let on_disk = self.options.rules.outside().on_disk(&self.options.root, path);
        on_disk
            .symlink_metadata()
            .is_ok_and(|meta| (LARGE_BYTES..=self.options.index.max_file_bytes).contains(&meta.len()))
    }

    /// Whether an update is too much to be brought into the stores at once. What a known file has already is better changed in
    /// place than brought in anew.
    pub(super) fn is_much(&self, update: &FileUpdate) -> bool {
        let fits = part_chunks(update) == update.chunks.len();
        !fits && self.store.file(&update.path).is_none_or(|old| changes(old, update) > PART_CHUNKS)
    }

    /// Does the next thing for large files that can be done now: brings a part into the stores, takes what was read, or has the next
    /// one read. Says no when there is nothing to do but to wait.
    pub(super) fn work_on_large(&mut self) -> Result<bool, EngineError> {
        if let Some(unfinished) = self.large.read.pop_front() {
            self.next_part(unfinished)?;
            return Ok(true);
        }
        if let Some((path, outcome)) = self.large.reading.take() {
            match outcome.try_recv() {
                Ok(outcome) => self.take_large(path, outcome)?,
                Err(TryRecvError::Empty) => {
                    self.large.reading = Some((path, outcome));
                    return Ok(false);
                }
                // The thread is gone, which nothing explains; the next scan finds the file.
                Err(TryRecvError::Disconnected) => {}
            }
            return Ok(true);
        }
        // The next one is read when the stores have the one before, so that memory holds one.
        let Some(path) = self.large.waiting.pop_front() else { return Ok(false) };
        let (reading, messages, known) = (self.reading(), self.messages.clone(), self.store.file(&path).cloned());
        let (sender, outcome) = channel();
        self.large.reading = Some((path.clone(), outcome));
        std::thread::spawn(move || {
            let outcome = reading.read(path, known.as_deref(), &mut reading.stemming());
            let _ = sender.send(outcome);
            let _ = messages.send(WorkerMessage::LargeRead);
        });
        Ok(false)
    }

    /// Takes what was read of a large file. It was not held up, so it may have changed, gone, or left the index since.
    fn take_large(&mut self, path: VaultPath, outcome: PreparedFile) -> Result<(), EngineError> {
        let up_to_date = match &outcome {
            PreparedFile::Changed(update) => self.has_stamp(&path, &update.stamp),
            PreparedFile::Unchanged(_, stamp, _) => {
                self.has_stamp(&path, stamp) && self.store.file(&path).is_some_and(|file| file.is_whole())
            }
            _ => true,
        };
        if !up_to_date {
            self.read_again(path);
            return Ok(());
        }
        self.take(vec![outcome])?;
        self.shared.update(|progress| progress.files_done += 1);
        Ok(())
    }

    fn next_part(&mut self, mut update: Box<FileUpdate>) -> Result<(), EngineError> {
        // Each time: what has changed meanwhile may be private by now.
        if !self.has_stamp(&update.path, &update.stamp) {
            self.read_again(update.info.path);
            return Ok(());
        }
        let chunks = part_chunks(&update);
        let (path, left) = (update.path.clone(), update.new_chunks().len() > chunks);
        let (part, left) = if left { (update.take_part(chunks), Some(update)) } else { (*update, None) };
        match self.store.apply(self.store.batch(vec![part], Vec::new())) {
            Err(error) if error.is_stale() => {
                self.read_again(path);
                return Ok(());
            }
            applied => applied?,
        }
        crash::point("part-applied");
        self.publish()?;
        left.into_iter().for_each(|left| self.large.read.push_front(left));
        // The notes that were saved in between have texts to embed.
        self.embed()
    }

    fn has_stamp(&self, path: &VaultPath, stamp: &Stamp) -> bool {
        let on_disk = self.options.rules.outside().on_disk(&self.options.root, path);
        on_disk.symlink_metadata().is_ok_and(|meta| Stamp::of(&meta) == *stamp)
    }

    fn read_again(&mut self, path: VaultPath) {
        let known = self.store.file(&path).is_some();
        self.backlog.push_named(path, known);
    }
}

/// How many chunks of a file an update would have the stores write or remove.
fn changes(old: &FileEntry, update: &FileUpdate) -> usize {
    if old.title != update.title || old.language() != TextLanguage::of_labels(&update.labels) {
        return update.chunks.len();
    }
    let had: HashSet<_> = old.chunks.iter().map(|chunk| chunk.id).collect();
    let kept = update.chunks.iter().filter(|chunk| had.contains(&chunk.chunk.id)).count();
    update.chunks.len().max(old.chunks.len()) - kept
}

/// How many of the chunks that are not in the stores the next part has.
fn part_chunks(update: &FileUpdate) -> usize {
    let mut bytes = 0;
    let part = update.new_chunks().iter().take(PART_CHUNKS).take_while(|new| {
        let fits = bytes < PART_BYTES;
        bytes += new.chunk.text.len();
        fits
    });
    part.count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_file_that_was_saved_goes_before_those_that_a_scan_found() {
        let path = |name: &str| VaultPath::new(name).unwrap();
        let mut large = Large::default();
        ["a.md", "b.md", "c.md"].iter().for_each(|found| large.push(path(found), Lane::Bulk));
        large.push(path("c.md"), Lane::Named);
        large.push(path("c.md"), Lane::Bulk);
        assert_eq!(large.waiting, ["c.md", "a.md", "b.md"].map(path));
        assert_eq!((large.len(), large.is_empty()), (3, false));
        large.clear();
        assert!(large.is_empty());
    }
}
