//! The thread that brings events from the journal into their files, each once.
//!
//! A batch goes so: what is about to be written is made safe on disk (the plan: files, their hashes before and after, the
//! texts), the files are written, and then that they are. After a kill the plan and the files tell what was done.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::drafts::Drafts;
use super::event::Captured;
use super::journal::{Cursor, Queue, Waiting};
use super::pages::Pages;
use super::progress::Progress;
use super::retention;
use super::switches::{Switches, takes};
use crate::fs::{FsError, crash};
use crate::vault::{Files, Identity, WriteError};

/// Events of a batch.
const BATCH: usize = 1000;
/// Events that come soon after one another are written together.
const GATHER: Duration = Duration::from_millis(200);
/// What could not be written is tried again so soon.
const AGAIN: Duration = Duration::from_secs(1);
/// At the end, what is pending is written for so long; the rest is at the next start.
const LAST: Duration = Duration::from_millis(1500);
/// Old files are looked for so often.
const RETENTION: Duration = Duration::from_secs(24 * 3600);

/// Why events are not in their files yet.
#[derive(Debug, thiserror::Error)]
enum WriterError {
    #[error("the vault's folder is not there")]
    Away,
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Fs(#[from] FsError),
}

/// What the thread works with.
pub(super) struct Writer {
    pub(super) root: PathBuf,
    pub(super) folder: PathBuf,
    pub(super) files: Arc<Files>,
    pub(super) switches: Arc<Switches>,
    pub(super) queue: Queue,
    pub(super) pages: Pages,
    /// Why it does not get on, for the status.
    pub(super) failure: Arc<Mutex<Option<String>>>,
}

impl Writer {
    /// Runs until the queue is closed.
    pub(super) fn run(mut self) {
        let mut cursor = Cursor::new(&self.folder);
        let mut progress = Progress::default();
        let (mut known, mut last): (Option<Waiting>, Option<Instant>) = (None, None);
        let mut retained: Option<Instant> = None;
        let (mut failing, mut opened) = (false, 0);
        loop {
            if failing {
                self.pause(AGAIN);
            }
            // At the end nothing new is waited for.
            let patience = if last.is_some() { Duration::ZERO } else { RETENTION };
            let waiting = self.queue.wait(known.filter(|_| !failing), patience);
            if waiting.closing {
                last.get_or_insert_with(Instant::now);
            }
            if opened != waiting.opened {
                opened = waiting.opened;
                progress = Progress::load(&self.folder);
                cursor = Cursor::new(&self.folder);
            }
            known = Some(waiting);
            let idle = progress.next >= waiting.durable;
            if last.is_some_and(|last| idle || failing || last.elapsed() > LAST) {
                break;
            }
            if retained.is_none_or(|at| at.elapsed() >= RETENTION) && Identity::of_vault(&self.root).is_some() {
                retained = Some(Instant::now());
                retention::apply(&self.root, &self.files, &self.switches.retention());
            }
            if idle {
                continue;
            }
            if !failing && last.is_none() {
                self.pause(GATHER);
            }
            let stepped = self.step(&mut progress, &mut cursor, waiting.durable);
            failing = stepped.is_err();
            if !failing {
                // There may be more than a batch.
                known = known.filter(|_| progress.next >= waiting.durable);
            }
            self.say(stepped.err());
        }
    }

    /// Waits, whatever comes, unless it is the end.
    fn pause(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut known = None;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            let waiting = self.queue.wait(known, left);
            if waiting.closing {
                break;
            }
            known = Some(waiting);
        }
    }

    fn say(&self, error: Option<WriterError>) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        let reason = error.map(|error| error.to_string());
        if let Some(reason) = reason.as_ref().filter(|reason| failure.as_ref() != Some(reason)) {
            tracing::warn!("captured events wait: {reason}");
        }
        *failure = reason;
    }

    /// Brings a batch into its files.
    fn step(&mut self, progress: &mut Progress, cursor: &mut Cursor, durable: u64) -> Result<(), WriterError> {
        if Identity::of_vault(&self.root).is_none() {
            return Err(WriterError::Away);
        }
        self.settle(progress)?;
        let batch = self.read(progress, cursor, durable)?;
        let mut drafts = Drafts::new(&self.files, &self.root);
        let config = self.switches.capture();
        let mut stuck = None;
        for (number, captured) in &batch {
            if takes(&config, captured.event.kind()) {
                if let Err(error) = self.pages.put(&mut drafts, *number, captured) {
                    stuck.get_or_insert(error);
                }
            } else {
                // Switched off since it was sent.
                progress.finish([*number]);
            }
        }
        progress.plan = drafts.plan();
        if !progress.plan.is_empty() {
            progress.save(&self.folder)?;
            crash::point("capture-planned");
            let written = drafts.write(&mut self.pages);
            crash::point("capture-written");
            progress.finish(written.numbers);
            progress.plan = written.unsure;
            stuck = written.failure.or(stuck);
        }
        progress.save(&self.folder)?;
        crash::point("capture-applied");
        self.queue.applied(progress.next);
        stuck.map_or(Ok(()), |error| Err(error.into()))
    }

    /// Finds out what became of the files that were about to be written.
    fn settle(&self, progress: &mut Progress) -> Result<(), WriterError> {
        for planned in std::mem::take(&mut progress.plan) {
            let now = self.files.read(&planned.path);
            match now {
                Ok(now) => {
                    let text = now.map(|(bytes, _)| String::from_utf8_lossy(&bytes).into_owned());
                    progress.finish(planned.applied(text.as_deref()));
                }
                Err(error) => {
                    progress.plan.push(planned);
                    return Err(error.into());
                }
            }
        }
        Ok(())
    }

    /// The next events that are not in their files.
    fn read(
        &self,
        progress: &mut Progress,
        cursor: &mut Cursor,
        durable: u64,
    ) -> Result<Vec<(u64, Captured)>, WriterError> {
        let records = cursor.read(progress.next, durable, BATCH)?;
        // What is missing in between was damaged, and is gone.
        let first = records.first().map_or(durable, |record| record.first);
        if first > progress.next {
            tracing::warn!("{} captured events could not be read again", first - progress.next);
            progress.done = progress.done.split_off(&first);
            progress.next = first;
            progress.finish([]);
        }
        let numbered = records.into_iter().flat_map(|record| (record.first..).zip(record.events));
        Ok(numbered.filter(|(number, _)| *number >= progress.next && !progress.done.contains(number)).collect())
    }
}
