//! The thread that writes the journal: whoever asks while the disk is busy is served by the next write, all together.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::super::event::Captured;
use super::super::progress::Progress;
use super::{Appended, Journal};
use crate::config::Switches;
use crate::fs::FsError;
use crate::vault::Identity;

/// So much may wait to be written into files.
const MAX_EVENTS: u64 = 1_000_000;
const MAX_BYTES: u64 = 1 << 30;
/// What is in its files is removed from the journal when nothing has come for so long.
const IDLE: Duration = Duration::from_secs(2);

/// Why events were not accepted.
#[derive(Debug, Clone, thiserror::Error)]
pub(in super::super) enum Refused {
    /// Too much waits already.
    #[error("{0} events wait to be written into the vault; no more are taken until they are")]
    Full(u64),
    /// The vault's folder is away.
    #[error("the vault's folder is not there")]
    Away,
    /// The disk refused.
    #[error("{0}")]
    Disk(String),
    /// The program is about to end.
    #[error("the vault is being closed")]
    Closing,
}

struct Request {
    events: Vec<Captured>,
    answer: SyncSender<Result<Appended, Refused>>,
}

/// What the threads tell each other.
#[derive(Default)]
struct State {
    requests: Vec<Request>,
    /// Who waits for the journal to be swept.
    sweeps: Vec<SyncSender<Result<(), Refused>>>,
    /// It is to be swept, and nobody waits for it.
    sweep: bool,
    /// No more requests are taken.
    closing: bool,
    /// Nothing more is written into files.
    ended: bool,
    /// The number of the first event that is not safe on disk.
    durable: u64,
    /// The number of the first event that is not in its file.
    applied: u64,
    bytes: u64,
    /// How often the journal was opened: after each time what the other thread knows is stale.
    opened: u64,
}

/// What waits to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Waiting {
    pub(in super::super) durable: u64,
    pub(in super::super) opened: u64,
    pub(in super::super) closing: bool,
}

/// The way to the thread.
#[derive(Clone, Default)]
pub(in super::super) struct Queue(Arc<(Mutex<State>, Condvar)>);

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has events written, and waits until they are safe on disk.
    pub(in super::super) fn append(&self, events: Vec<Captured>) -> Result<Appended, Refused> {
        let (answer, answered) = sync_channel(1);
        {
            let mut state = self.state();
            if state.closing {
                return Err(Refused::Closing);
            }
            let pending = state.durable.saturating_sub(state.applied);
            if pending >= MAX_EVENTS || state.bytes >= MAX_BYTES {
                return Err(Refused::Full(pending));
            }
            state.requests.push(Request { events, answer });
        }
        self.0.1.notify_all();
        answered.recv().unwrap_or(Err(Refused::Closing))
    }

    /// Has what is in its files, and what is switched off, taken off the disk; returns when it is.
    pub(in super::super) fn sweep(&self) -> Result<(), Refused> {
        let (answer, answered) = sync_channel(1);
        {
            let mut state = self.state();
            if state.ended {
                return Err(Refused::Closing);
            }
            state.sweeps.push(answer);
        }
        self.0.1.notify_all();
        answered.recv().unwrap_or(Err(Refused::Closing))
    }

    /// The same in a moment, without waiting for it.
    pub(in super::super) fn sweep_soon(&self) {
        self.state().sweep = true;
        self.0.1.notify_all();
    }

    /// Waits until every event is in its file, or the time is up; gives how many are not.
    pub(in super::super) fn settle(&self, patience: Duration) -> u64 {
        let waits = |state: &mut State| state.applied < state.durable && !state.closing;
        let state = self.0.1.wait_timeout_while(self.state(), patience, waits);
        let state = state.unwrap_or_else(PoisonError::into_inner).0;
        state.durable.saturating_sub(state.applied)
    }

    /// How many events wait to be written into files.
    pub(in super::super) fn pending(&self) -> u64 {
        let state = self.state();
        state.durable.saturating_sub(state.applied)
    }

    /// Waits until there is more than `known`, the program ends, or the time is up.
    pub(in super::super) fn wait(&self, known: Option<Waiting>, patience: Duration) -> Waiting {
        let now = |state: &State| Waiting { durable: state.durable, opened: state.opened, closing: state.closing };
        let state = self.state();
        let waited = self.0.1.wait_timeout_while(state, patience, |state| known == Some(now(state)));
        now(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Says that all events before a number are in their files.
    pub(in super::super) fn applied(&self, applied: u64) {
        let mut state = self.state();
        state.applied = state.applied.max(applied.min(state.durable));
        drop(state);
        self.0.1.notify_all();
    }

    /// Takes no more events; those there are can still be written into their files.
    pub(in super::super) fn close(&self) {
        self.state().closing = true;
        self.0.1.notify_all();
    }

    /// Ends the thread.
    pub(in super::super) fn end(&self) {
        self.state().ended = true;
        self.0.1.notify_all();
    }
}

/// The thread.
pub(in super::super) struct Commit {
    root: PathBuf,
    folder: PathBuf,
    queue: Queue,
    journal: Option<Journal>,
    switches: Arc<Switches>,
    /// It could not be swept, and is tried again.
    unswept: bool,
}

impl Commit {
    /// Opens the journal in `folder` and begins to write it; one that cannot be read is tried again. What
    /// is switched off does not stay in it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(in super::super) fn start(
        root: &Path,
        folder: &Path,
        queue: Queue,
        switches: Arc<Switches>,
    ) -> Result<JoinHandle<()>, FsError> {
        let mut commit =
            Self { root: root.to_owned(), folder: folder.to_owned(), queue, journal: None, switches, unswept: false };
        if let Err(error) = commit.open() {
            tracing::warn!("captured events cannot be read: {error}");
        }
        let thread = std::thread::Builder::new().name("events".into());
        thread.spawn(move || commit.run()).map_err(|source| FsError {
            operation: "start a thread for",
            path: folder.to_owned(),
            source,
        })
    }

    fn open(&mut self) -> Result<(), FsError> {
        let progress = Progress::load(&self.folder);
        let applied = progress.next;
        let mut journal = Journal::open(&self.folder, applied)?;
        // A kill may have come between a switch, or a last event in its file, and this.
        let swept = journal.sweep(&progress, &self.switches.capture());
        self.unswept = swept.inspect_err(|error| tracing::warn!("{error}")).is_err();
        let mut state = self.queue.state();
        (state.durable, state.bytes) = (journal.next, journal.bytes());
        state.applied = applied.min(journal.next);
        state.opened += 1;
        self.journal = Some(journal);
        drop(state);
        self.queue.0.1.notify_all();
        Ok(())
    }

    fn run(mut self) {
        let mut known = 0;
        loop {
            let (requests, sweeps, sweep, applied, idle) = {
                let state = self.queue.state();
                let wait = |state: &mut State| {
                    let asked = !state.requests.is_empty() || !state.sweeps.is_empty() || state.sweep;
                    !asked && !state.ended && state.applied == known
                };
                let woken = self.queue.0.1.wait_timeout_while(state, IDLE, wait);
                let (mut state, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
                known = state.applied;
                if state.ended && state.requests.is_empty() && state.sweeps.is_empty() {
                    break;
                }
                let (requests, sweeps) = (std::mem::take(&mut state.requests), std::mem::take(&mut state.sweeps));
                let sweep = std::mem::take(&mut state.sweep) || !sweeps.is_empty();
                (requests, sweeps, sweep, state.applied, timeout.timed_out())
            };
            if !requests.is_empty() {
                self.serve(requests);
            } else if Identity::of_vault(&self.root).is_some() {
                self.tidy(applied, idle);
            }
            if sweep || (self.unswept && idle) {
                let swept = self.sweep();
                self.unswept = swept.as_ref().inspect_err(|error| tracing::warn!("{error}")).is_err();
                sweeps.iter().for_each(|answer| drop(answer.send(swept.clone())));
            }
        }
        let _ = self.sweep();
    }

    fn sweep(&mut self) -> Result<(), Refused> {
        let disk = |error: FsError| Refused::Disk(error.to_string());
        if Identity::of_vault(&self.root).is_none() {
            return Err(Refused::Away);
        }
        match &mut self.journal {
            None => self.open().map_err(disk),
            Some(journal) if !journal.is_there() => Ok(()),
            Some(journal) => {
                journal.sweep(&Progress::load(&self.folder), &self.switches.capture()).map_err(disk)?;
                self.queue.state().bytes = journal.bytes();
                Ok(())
            }
        }
    }

    /// Removes what is in its files by now; opens a journal that could not be opened.
    fn tidy(&mut self, applied: u64, idle: bool) {
        let Some(journal) = &mut self.journal else {
            let _ = self.open();
            return;
        };
        if !journal.is_there() {
            return;
        }
        if let Err(error) = journal.trim(applied, idle) {
            tracing::warn!("{error}");
        }
        self.queue.state().bytes = journal.bytes();
    }

    fn serve(&mut self, requests: Vec<Request>) {
        let (events, answers): (Vec<_>, Vec<_>) =
            requests.into_iter().map(|request| (request.events, request.answer)).unzip();
        match self.append(events) {
            Ok(appended) => {
                if let Some(journal) = &self.journal {
                    let mut state = self.queue.state();
                    (state.durable, state.bytes) = (journal.next, journal.bytes());
                }
                self.queue.0.1.notify_all();
                answers.iter().zip(appended).for_each(|(answer, appended)| drop(answer.send(Ok(appended))));
            }
            Err(refused) => {
                answers.iter().for_each(|answer| drop(answer.send(Err(refused.clone()))));
            }
        }
    }

    fn append(&mut self, events: Vec<Vec<Captured>>) -> Result<Vec<Appended>, Refused> {
        let disk = |error: FsError| Refused::Disk(error.to_string());
        // An empty mount point has no memory.toml: nothing is made there.
        if Identity::of_vault(&self.root).is_none() {
            return Err(Refused::Away);
        }
        for _ in 0..2 {
            if !self.journal.as_ref().is_some_and(Journal::is_there) {
                tracing::warn!("the journal of events is not where it was; it is opened anew");
                self.journal = None;
                self.open().map_err(disk)?;
            }
            let journal = self.journal.as_mut().expect("it was just opened");
            let appended = journal.append(events.clone()).map_err(disk)?;
            // Had it been deleted meanwhile, it was written to where nobody looks.
            if journal.is_there() {
                return Ok(appended);
            }
        }
        Err(Refused::Away)
    }
}
