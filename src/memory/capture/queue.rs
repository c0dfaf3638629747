//! The queue of events between senders and their files. Senders that come while the disk is busy share the next transaction.

use std::path::PathBuf;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::event::{Captured, EventKind, takes};
use crate::base::config::{CaptureConfig, Switches};
use crate::base::fs::crash;
use crate::base::state::{Appended, Batch, EventQueue, Extent, NewEvent, State, StateError};
use crate::vault::disk::Identity;

/// Maximum number of events that may wait to be written into files.
const MAX_EVENTS: u64 = 1_000_000;
/// Maximum total size of the events that wait, in bytes.
const MAX_BYTES: u64 = 1 << 30;
/// Idle period after which the queue's copy of what is in files is erased from the disk.
const IDLE_PERIOD: Duration = Duration::from_secs(2);

/// Why nothing is accepted: the vault's folder is away, or the program is about to end.
pub(super) const AWAY: &str = "the vault's folder does not exist";
const CLOSING: &str = "the vault is closing";

/// Events of one sender, who waits for the answer.
struct EventRequest {
    events: Vec<NewEvent>,
    answer: SyncSender<Result<Appended, String>>,
}

/// The table of events, written by one at a time.
struct Table {
    events: EventQueue,
    /// It could not be swept, and is tried again.
    unswept: bool,
    /// When something was written last.
    written: Instant,
}

/// How far the queue is.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct QueueProgress {
    /// It is being closed.
    pub(super) closing: bool,
    /// The number of the first event that is not safe on disk.
    pub(super) durable: u64,
    /// The number of the first event that is not in its file.
    pub(super) applied: u64,
    bytes: u64,
}

impl QueueProgress {
    /// How many events wait to be written into files.
    pub(super) fn pending(&self) -> u64 {
        self.durable.saturating_sub(self.applied)
    }
}

/// The queue of one vault.
pub(super) struct Queue {
    root: PathBuf,
    switches: Arc<Switches>,
    table: Mutex<Table>,
    /// Who waits for the next transaction.
    requests: Mutex<Vec<EventRequest>>,
    progress: Mutex<QueueProgress>,
    /// Why it does not get on, for the status.
    failure: Mutex<Option<String>>,
    /// It got on, or is being closed.
    changed: Condvar,
    /// It is being closed. Apart from `changed`, so that a pause wakes for nothing else.
    closed: Condvar,
}

impl Queue {
    /// Opens the queue; one that cannot be read is tried again. What is switched off does not stay in it.
    pub(super) fn open(root: PathBuf, state: &Arc<State>, switches: Arc<Switches>) -> Self {
        let events = EventQueue::new(state);
        let table = Table { events, unswept: false, written: Instant::now() };
        let queue = Self {
            root,
            switches,
            table: Mutex::new(table),
            requests: Mutex::default(),
            progress: Mutex::default(),
            failure: Mutex::default(),
            changed: Condvar::new(),
            closed: Condvar::new(),
        };
        // A kill may have come between a switch, or a last event in its file, and this. Told in the log, and tried again.
        let _ = queue.sweep(false);
        queue
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn requests(&self) -> MutexGuard<'_, Vec<EventRequest>> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn locked(&self) -> MutexGuard<'_, QueueProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// How far it is.
    pub(super) fn progress(&self) -> QueueProgress {
        *self.locked()
    }

    /// Writes events, and returns when they are safe on disk.
    ///
    /// # Errors
    /// Why they were not accepted: too much waits already, the vault's folder is away, the disk refused, or the program is about to end.
    pub(super) fn append(&self, events: &[Captured]) -> Result<Appended, String> {
        let encoded = events.iter().map(Captured::encoded).collect::<Result<_, _>>();
        let events = encoded.map_err(|error| format!("an event cannot be encoded: {error}"))?;
        let progress = self.progress();
        if progress.closing {
            return Err(CLOSING.into());
        }
        let pending = progress.pending();
        if pending >= MAX_EVENTS || progress.bytes >= MAX_BYTES {
            return Err(format!(
                "{pending} events are waiting to be written into the vault; try again when they are written"
            ));
        }
        let (answer, answered) = sync_channel(1);
        self.requests().push(EventRequest { events, answer });
        let mut table = self.table();
        // Whoever had the table before may have taken them along.
        let requests = std::mem::take(&mut *self.requests());
        if !requests.is_empty() {
            let (requests, answers): (Vec<_>, Vec<_>) =
                requests.into_iter().map(|EventRequest { events, answer }| (events, answer)).unzip();
            match self.commit(&mut table, &Batch { requests, ..Batch::default() }) {
                Ok(appended) => answers.iter().zip(appended).for_each(|(answer, done)| drop(answer.send(Ok(done)))),
                Err(refused) => answers.iter().for_each(|answer| drop(answer.send(Err(refused.clone())))),
            }
        }
        drop(table);
        answered.recv().unwrap_or(Err(CLOSING.into()))
    }

    /// Records what is about to be written and which events are in their files. It is safe on disk after a
    /// [sync](crate::base::state::EventReader::sync).
    pub(super) fn record(&self, plan: String, done: Vec<u64>) -> Result<(), String> {
        self.commit(&mut self.table(), &Batch { plan: Some(plan), done, ..Batch::default() }).map(drop)
    }

    fn commit(&self, table: &mut Table, batch: &Batch) -> Result<Vec<Appended>, String> {
        // An empty mount point has no memory.toml: nothing is made there.
        if Identity::of_vault(&self.root).is_none() {
            return Err(AWAY.into());
        }
        for _ in 0..2 {
            // A file that was put in its place may have what was swept.
            table.unswept |= !table.events.is_there();
            let appended = table.events.commit(batch).map_err(|error| error.to_string())?;
            table.written = Instant::now();
            self.tell(table)?;
            // Had it been deleted meanwhile, it was written to where nobody looks.
            if table.events.is_there() {
                return Ok(appended);
            }
        }
        Err(AWAY.into())
    }

    /// Tells the other threads how far it is.
    fn tell(&self, table: &mut Table) -> Result<(), String> {
        let Extent { first, next, bytes, .. } = table.events.extent().map_err(|error| error.to_string())?;
        let mut progress = self.locked();
        (progress.durable, progress.applied, progress.bytes) = (next, first, bytes);
        self.changed.notify_all();
        Ok(())
    }

    /// Takes what is in its files, and what is switched off, off the disk; with `wholly` also what may be left of it among what still waits.
    pub(super) fn sweep(&self, wholly: bool) -> Result<(), String> {
        self.sweep_table(&mut self.table(), wholly)
    }

    fn sweep_table(&self, table: &mut Table, wholly: bool) -> Result<(), String> {
        // An empty mount point has no memory.toml: nothing is made there.
        if Identity::of_vault(&self.root).is_none() {
            table.unswept = true;
            return Err(AWAY.into());
        }
        let swept = sweep(&mut table.events, &self.switches.capture(), wholly);
        table.unswept = swept.as_ref().inspect_err(|error| tracing::warn!("{error}")).is_err();
        self.tell(table)?;
        swept.map_err(|error| error.to_string())
    }

    /// Brings the log into the database; more of it when nobody has written for a while. Opens and sweeps then what could not be before.
    fn tidy(&self) {
        if Identity::of_vault(&self.root).is_none() {
            return;
        }
        let mut table = self.table();
        let (idle, is_there) = (table.written.elapsed() >= IDLE_PERIOD, table.events.is_there());
        if is_there && let Err(error) = table.events.tidy(idle) {
            tracing::warn!("{error}");
        }
        if idle && (table.unswept || !is_there) {
            // Told in the log, and tried again.
            let _ = self.sweep_table(&mut table, false);
        }
    }

    /// Waits until every event is in its file, or the time is up; gives how many are not.
    pub(super) fn settle(&self, patience: Duration) -> u64 {
        let waits = |progress: &mut QueueProgress| progress.applied < progress.durable && !progress.closing;
        let progress = self.changed.wait_timeout_while(self.locked(), patience, waits);
        progress.unwrap_or_else(PoisonError::into_inner).0.pending()
    }

    /// Waits until events wait to be written into files, the program ends, or the time is up. Meanwhile the queue is tidied.
    pub(super) fn wait(&self, patience: Duration) -> QueueProgress {
        let until = Instant::now() + patience;
        loop {
            self.tidy();
            let left = until.saturating_duration_since(Instant::now());
            let time = left.min(IDLE_PERIOD);
            let is_idle = |progress: &mut QueueProgress| progress.pending() == 0 && !progress.closing;
            let waited = self.changed.wait_timeout_while(self.locked(), time, is_idle);
            let (progress, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            if !timeout.timed_out() || time == left {
                return *progress;
            }
        }
    }

    /// Waits for so long, whatever comes, unless the program ends.
    pub(super) fn pause(&self, time: Duration) {
        drop(self.closed.wait_timeout_while(self.locked(), time, |progress| !progress.closing));
    }

    /// Notes why it does not get on, for the status and once for the log.
    pub(super) fn set_failure(&self, reason: Option<String>) {
        let mut failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = reason.as_ref().filter(|reason| failure.as_ref() != Some(reason)) {
            tracing::warn!("captured events wait: {reason}");
        }
        *failure = reason;
    }

    /// Why it does not get on.
    pub(super) fn failure(&self) -> Option<String> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Takes no more events; those there are can still be written into their files.
    pub(super) fn close(&self) {
        self.locked().closing = true;
        self.changed.notify_all();
        self.closed.notify_all();
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
    sweep(&mut events, config, true)?;
    let Extent { first, next, .. } = events.extent()?;
    Ok(next.saturating_sub(first))
}
