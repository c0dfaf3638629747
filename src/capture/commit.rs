//! The thread that writes the queue: whoever asks while the disk is busy is served by the next transaction, all together.

use std::path::{Path, PathBuf};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use super::event::takes;
use super::event::{Captured, EventKind};
use super::former;
use crate::config::CaptureConfig;
use crate::config::Switches;
use crate::fs::{FsError, crash};
use crate::state::{Appended, Batch, EventQueue, Extent, NewEvent, State, StateError};
use crate::vault::Identity;

/// Maximum number of events that may wait to be written into files.
const MAX_EVENTS: u64 = 1_000_000;
/// Maximum total size of the events that wait, in bytes.
const MAX_BYTES: u64 = 1 << 30;
/// Idle period after which the queue's copy of what is in files is erased from the disk.
const IDLE_PERIOD: Duration = Duration::from_secs(2);

/// Why events were not accepted.
#[derive(Debug, Clone, thiserror::Error)]
pub(super) enum Refused {
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

impl From<StateError> for Refused {
    fn from(error: StateError) -> Self {
        Self::Disk(error.to_string())
    }
}

struct EventRequest {
    events: Vec<NewEvent>,
    answer: SyncSender<Result<Appended, Refused>>,
}

/// What is about to be written into files, and which events are in theirs.
struct Record {
    plan: String,
    done: Vec<u64>,
    answer: SyncSender<Result<(), Refused>>,
}

/// What the threads tell each other.
#[derive(Default)]
struct QueueProgress {
    requests: Vec<EventRequest>,
    records: Vec<Record>,
    /// Who waits for the queue to be swept.
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
    /// How often another file was opened: after each time what the other thread knows is stale.
    opened: u64,
}

impl QueueProgress {
    fn pending(&self) -> u64 {
        self.durable.saturating_sub(self.applied)
    }
}

/// What waits to be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct QueueView {
    pub(super) durable: u64,
    pub(super) opened: u64,
    pub(super) closing: bool,
}

/// What the threads share. Each is woken by what concerns it alone: a thread that wakes for nothing takes the processor from the one that
/// answers a sender.
#[derive(Default)]
struct QueueShared {
    progress: Mutex<QueueProgress>,
    /// Something is asked of the thread that writes the queue.
    asked: Condvar,
    /// It got on, or the queue is being closed.
    changed: Condvar,
    /// The queue is being closed.
    closed: Condvar,
}

/// The way to the thread.
#[derive(Clone, Default)]
pub(super) struct Queue(Arc<QueueShared>);

impl Queue {
    fn told(&self) -> MutexGuard<'_, QueueProgress> {
        self.0.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has events written, and waits until they are safe on disk.
    pub(super) fn append(&self, events: &[Captured]) -> Result<Appended, Refused> {
        let encoded = events.iter().map(Captured::encoded).collect::<Result<_, _>>();
        let events = encoded.map_err(|error| Refused::Disk(format!("an event cannot be encoded: {error}")))?;
        let (answer, answered) = sync_channel(1);
        {
            let mut state = self.told();
            if state.closing {
                return Err(Refused::Closing);
            }
            let pending = state.pending();
            if pending >= MAX_EVENTS || state.bytes >= MAX_BYTES {
                return Err(Refused::Full(pending));
            }
            state.requests.push(EventRequest { events, answer });
        }
        self.0.asked.notify_all();
        answered.recv().unwrap_or(Err(Refused::Closing))
    }

    /// Has it recorded what is about to be written and which events are in their files. It is safe on disk after a
    /// [sync](crate::state::EventReader::sync).
    pub(super) fn record(&self, plan: String, done: Vec<u64>) -> Result<(), Refused> {
        let (answer, answered) = sync_channel(1);
        {
            let mut state = self.told();
            if state.ended {
                return Err(Refused::Closing);
            }
            state.records.push(Record { plan, done, answer });
        }
        self.0.asked.notify_all();
        answered.recv().unwrap_or(Err(Refused::Closing))
    }

    /// Has what is in its files, and what is switched off, taken off the disk; returns when it is.
    pub(super) fn sweep(&self) -> Result<(), Refused> {
        let (answer, answered) = sync_channel(1);
        {
            let mut state = self.told();
            if state.ended {
                return Err(Refused::Closing);
            }
            state.sweeps.push(answer);
        }
        self.0.asked.notify_all();
        answered.recv().unwrap_or(Err(Refused::Closing))
    }

    /// The same in a moment, without waiting for it.
    pub(super) fn sweep_soon(&self) {
        self.told().sweep = true;
        self.0.asked.notify_all();
    }

    /// Waits until every event is in its file, or the time is up; gives how many are not.
    pub(super) fn settle(&self, patience: Duration) -> u64 {
        let waits = |state: &mut QueueProgress| state.applied < state.durable && !state.closing;
        let state = self.0.changed.wait_timeout_while(self.told(), patience, waits);
        state.unwrap_or_else(PoisonError::into_inner).0.pending()
    }

    /// How many events wait to be written into files.
    pub(super) fn pending(&self) -> u64 {
        self.told().pending()
    }

    /// Waits until there is more than `known`, the program ends, or the time is up.
    pub(super) fn wait(&self, known: Option<QueueView>, patience: Duration) -> QueueView {
        let now =
            |state: &QueueProgress| QueueView { durable: state.durable, opened: state.opened, closing: state.closing };
        let state = self.told();
        let waited = self.0.changed.wait_timeout_while(state, patience, |state| known == Some(now(state)));
        now(&waited.unwrap_or_else(PoisonError::into_inner).0)
    }

    /// Waits for so long, whatever comes, unless the program ends.
    pub(super) fn pause(&self, time: Duration) {
        drop(self.0.closed.wait_timeout_while(self.told(), time, |state| !state.closing));
    }

    /// The number of the first event that is not in its file.
    pub(super) fn applied(&self) -> u64 {
        self.told().applied
    }

    /// Takes no more events; those there are can still be written into their files.
    pub(super) fn close(&self) {
        self.told().closing = true;
        self.0.changed.notify_all();
        self.0.closed.notify_all();
    }

    /// Ends the thread.
    pub(super) fn end(&self) {
        self.told().ended = true;
        self.0.asked.notify_all();
    }
}

/// The thread.
pub(super) struct Commit {
    root: PathBuf,
    state: Arc<State>,
    queue: Queue,
    events: EventQueue,
    switches: Arc<Switches>,
    /// The file that was opened last, as the queue tells one from another.
    opened: Option<u64>,
    /// It could not be swept, and is tried again.
    unswept: bool,
}

impl Commit {
    /// Opens the queue and begins to write it; one that cannot be read is tried again. What is switched off does not stay in it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(super) fn start(
        root: &Path,
        state: &Arc<State>,
        queue: Queue,
        switches: Arc<Switches>,
    ) -> Result<JoinHandle<()>, FsError> {
        let mut commit = Self {
            root: root.to_owned(),
            state: Arc::clone(state),
            queue,
            events: EventQueue::new(state),
            switches,
            opened: None,
            unswept: false,
        };
        if let Err(error) = commit.open() {
            tracing::warn!("captured events cannot be read: {error}");
        }
        let thread = std::thread::Builder::new().name("events".into());
        thread.spawn(move || commit.run()).map_err(|source| FsError {
            operation: "start a thread for",
            path: state.file().to_owned(),
            source,
        })
    }

    /// Opens the file, if it is not open, and takes over what an earlier version or an archive has left.
    fn open(&mut self) -> Result<(), Refused> {
        former::take_over(&self.state, &mut self.events)?;
        // A kill may have come between a switch, or a last event in its file, and this.
        let swept = sweep(&mut self.events, &self.switches.capture(), false);
        self.unswept = swept.inspect_err(|error| tracing::warn!("{error}")).is_err();
        self.tell()
    }

    /// Tells the other threads how far it is.
    fn tell(&mut self) -> Result<(), Refused> {
        self.count()?;
        self.queue.0.changed.notify_all();
        Ok(())
    }

    /// Keeps how far it is, for whoever looks.
    fn count(&mut self) -> Result<(), Refused> {
        let Extent { first, next, bytes, opened, .. } = self.events.extent()?;
        let mut told = self.queue.told();
        (told.durable, told.applied, told.bytes) = (next, first, bytes);
        told.opened += u64::from(self.opened.replace(opened) != Some(opened));
        Ok(())
    }

    fn run(mut self) {
        let mut known = 0;
        loop {
            let (requests, records, sweeps, sweep, idle) = {
                let state = self.queue.told();
                let wait = |state: &mut QueueProgress| {
                    let asked = !state.requests.is_empty() || !state.records.is_empty() || !state.sweeps.is_empty();
                    !asked && !state.sweep && !state.ended && state.applied == known
                };
                let woken = self.queue.0.asked.wait_timeout_while(state, IDLE_PERIOD, wait);
                let (mut state, timeout) = woken.unwrap_or_else(PoisonError::into_inner);
                known = state.applied;
                let done = state.requests.is_empty() && state.records.is_empty() && state.sweeps.is_empty();
                if state.ended && done {
                    break;
                }
                let (requests, records) = (std::mem::take(&mut state.requests), std::mem::take(&mut state.records));
                let sweeps = std::mem::take(&mut state.sweeps);
                let sweep = std::mem::take(&mut state.sweep) || !sweeps.is_empty();
                (requests, records, sweeps, sweep, timeout.timed_out())
            };
            if !(requests.is_empty() && records.is_empty()) {
                self.serve(requests, records);
            }
            if Identity::of_vault(&self.root).is_some() {
                self.tidy(idle);
            }
            if sweep || (self.unswept && idle) {
                let swept = self.sweep(!sweeps.is_empty());
                self.unswept = swept.as_ref().inspect_err(|error| tracing::warn!("{error}")).is_err();
                sweeps.iter().for_each(|answer| drop(answer.send(swept.clone())));
            }
        }
        let _ = self.sweep(false);
    }

    fn sweep(&mut self, wholly: bool) -> Result<(), Refused> {
        if Identity::of_vault(&self.root).is_none() {
            return Err(Refused::Away);
        }
        if !self.events.is_there() {
            return self.open();
        }
        sweep(&mut self.events, &self.switches.capture(), wholly)?;
        self.tell()
    }

    /// Gives the disk what is in its files by now; opens what could not be opened.
    fn tidy(&mut self, idle: bool) {
        let tidied = match self.events.is_there() {
            true => self.events.tidy(idle).map_err(Refused::from),
            false if idle => self.open(),
            false => Ok(()),
        };
        if let Err(error) = tidied {
            tracing::warn!("{error}");
        }
    }

    fn serve(&mut self, requests: Vec<EventRequest>, records: Vec<Record>) {
        let mut batch = Batch::default();
        let (mut answers, mut recorded) = (Vec::new(), Vec::new());
        for EventRequest { events, answer } in requests {
            batch.requests.push(events);
            answers.push(answer);
        }
        for Record { plan, done, answer } in records {
            batch.plan = Some(plan);
            batch.done.extend(done);
            recorded.push(answer);
        }
        match self.commit(&batch) {
            Ok(appended) => {
                answers.iter().zip(appended).for_each(|(answer, appended)| drop(answer.send(Ok(appended))));
                recorded.iter().for_each(|answer| drop(answer.send(Ok(()))));
            }
            Err(refused) => {
                answers.iter().for_each(|answer| drop(answer.send(Err(refused.clone()))));
                recorded.iter().for_each(|answer| drop(answer.send(Err(refused.clone()))));
            }
        }
        // After those who wait for an answer.
        self.queue.0.changed.notify_all();
    }

    fn commit(&mut self, batch: &Batch) -> Result<Vec<Appended>, Refused> {
        // An empty mount point has no memory.toml: nothing is made there.
        if Identity::of_vault(&self.root).is_none() {
            return Err(Refused::Away);
        }
        for _ in 0..2 {
            if !self.events.is_there() {
                tracing::warn!("the queue of events is not where it was; it is opened anew");
                self.open()?;
            }
            let appended = self.events.commit(batch)?;
            self.count()?;
            // Had it been deleted meanwhile, it was written to where nobody looks.
            if self.events.is_there() {
                return Ok(appended);
            }
        }
        Err(Refused::Away)
    }
}

/// Takes the text of all that is in its files, and of what is switched off, off the disk; with `wholly` also what may be left of
/// it among what still waits.
fn sweep(events: &mut EventQueue, config: &CaptureConfig, wholly: bool) -> Result<(), StateError> {
    let off = EventKind::ALL.iter().filter(|kind| !takes(config, **kind)).map(|kind| kind.folder());
    let dropped: Vec<&'static str> = off.collect();
    let before = events.extent()?;
    events.commit(&Batch { dropped, sweeps: wholly, ..Batch::default() })?;
    let now = events.extent()?;
    if now.bytes < before.bytes {
        crash::point("events-swept");
    }
    if now.unswept { events.clear() } else { events.empty_log() }
}

/// Takes off the disk what a queue that nobody writes has of events that are in their files, or switched off; gives how many are
/// left.
pub(super) fn sweep_at_rest(state: &Arc<State>, config: &CaptureConfig) -> Result<u64, StateError> {
    let mut events = EventQueue::new(state);
    former::take_over(state, &mut events)?;
    sweep(&mut events, config, true)?;
    let Extent { first, next, .. } = events.extent()?;
    Ok(next.saturating_sub(first))
}
