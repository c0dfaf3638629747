//! Leaving nothing of what was deleted in the files of the stores, when somebody says so: what they hold is a copy of notes.

use std::time::{Duration, Instant};

use super::worker::Worker;
use crate::index::engine::{ContentHash, EngineError};

/// How often the log is tried to be emptied at once: the searches that are under way take milliseconds.
const TRIES: usize = 50;
/// Time between two tries.
const TRY_INTERVAL: Duration = Duration::from_millis(20);
/// The same where one search takes longer.
const TRY_LATER: Duration = Duration::from_millis(200);

/// What is left to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Erasing {
    /// Nothing.
    Done,
    /// A reader of before keeps the log.
    Log,
    /// The index has not followed all changes yet.
    All,
}

impl Worker<'_> {
    /// Leaves nothing of what was deleted, nor of the embeddings of these names; says how many of those there were, and whether the log is empty.
    pub(super) fn erase(&mut self, contents: &[ContentHash]) -> Result<(usize, bool), EngineError> {
        let dropped = self.store.forget(contents)?;
        self.forget_in_batches(contents)?;
        // Who reads from now on does without what was.
        self.publish()?;
        let mut is_empty = self.store.empty_log()?;
        for _ in 1..TRIES {
            if !is_empty {
                std::thread::sleep(TRY_INTERVAL);
                is_empty = self.store.empty_log()?;
            }
        }
        self.erasing = match (self.scanned && self.pending_files() == 0, is_empty) {
            (false, _) => Erasing::All,
            (true, false) => Erasing::Log,
            (true, true) => Erasing::Done,
        };
        Ok((dropped, is_empty))
    }

    /// Goes on with it where something is left; says until when to wait then.
    pub(super) fn erase_when_idle(&mut self, until: Instant) -> Result<Instant, EngineError> {
        match self.erasing {
            Erasing::Done => return Ok(until),
            Erasing::All => drop(self.erase(&[])?),
            Erasing::Log if self.store.empty_log()? => self.erasing = Erasing::Done,
            Erasing::Log => {}
        }
        Ok(if self.erasing == Erasing::Done { until } else { until.min(Instant::now() + TRY_LATER) })
    }
}
