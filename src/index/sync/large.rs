//! Files that would hold up all others. One at a time is read on a thread of its own, so that a note saved meanwhile does not wait for it.

use std::sync::mpsc::{Receiver, TryRecvError, channel};

use super::backlog::Backlog;
use super::prepare::PreparedFile;
use super::worker::{Worker, WorkerMessage};
use crate::base::path::VaultPath;
use crate::index::engine::EngineError;
use crate::vault::disk::Stamp;

/// Reading this much takes a tenth of a second on a slow machine, and parsing and cutting it is most of it.
const LARGE_BYTES: u64 = 500_000;

/// What is large, from the backlog to the stores.
#[derive(Default)]
pub(super) struct Large {
    /// Files to be read.
    pub(super) waiting: Backlog,
    /// What is being read, and where the outcome will come.
    reading: Option<(VaultPath, Receiver<PreparedFile>)>,
}

impl Large {
    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.reading.is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
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

    /// Does the next thing for large files that can be done now: takes what was read, or has the next one read. Says no when there is
    /// nothing to do but to wait.
    pub(super) fn work_on_large(&mut self) -> Result<bool, EngineError> {
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
        let Some((path, _)) = self.large.waiting.pop() else { return Ok(false) };
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
        let known = self.store.file(&path).is_some();
        let up_to_date = match &outcome {
            PreparedFile::Changed(update) => self.has_stamp(&path, &update.stamp),
            PreparedFile::Unchanged(_, stamp, _) => self.has_stamp(&path, stamp) && known,
            _ => true,
        };
        if !up_to_date {
            self.backlog.push_named(path, known);
            return Ok(());
        }
        self.take(vec![outcome])?;
        self.shared.update(|progress| progress.files_done += 1);
        Ok(())
    }

    fn has_stamp(&self, path: &VaultPath, stamp: &Stamp) -> bool {
        let on_disk = self.options.rules.outside().on_disk(&self.options.root, path);
        on_disk.symlink_metadata().is_ok_and(|meta| Stamp::of(&meta) == *stamp)
    }
}
