//! Files that would hold up all others. One at a time is read on a thread of its own, so that a note saved meanwhile does not wait for it.

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
    /// What is being read.
    reading: Option<VaultPath>,
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

    /// Has the next large file read. That is done when the stores have the one before, so that memory holds one.
    pub(super) fn read_next_large(&mut self) {
        if self.large.reading.is_some() {
            return;
        }
        let Some((path, _)) = self.large.waiting.pop() else { return };
        let (reading, messages, known) = (self.reading(), self.messages.clone(), self.store.file(&path).cloned());
        self.large.reading = Some(path.clone());
        std::thread::spawn(move || {
            let outcome = reading.read(path.clone(), known.as_deref(), &mut reading.stemming());
            let _ = messages.send(WorkerMessage::LargeRead { path, outcome });
        });
    }

    /// Takes what was read of a large file. It was not held up, so it may have changed, gone, or left the index since.
    pub(super) fn take_large(&mut self, path: VaultPath, outcome: PreparedFile) -> Result<(), EngineError> {
        if self.large.reading.take_if(|reading| *reading == path).is_none() {
            return Ok(());
        }
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
