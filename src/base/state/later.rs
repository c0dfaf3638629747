//! What is written in a moment: no answer waits for it. A thread writes what has come, in one transaction that no sync of the disk
//! belongs to.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::error::StateError;
use super::store::{Durability, Handle, OpenedState, State};

/// Default time for which what comes after an entry is gathered, to be written with it.
const GATHER: Duration = Duration::from_millis(100);
/// Maximum time that whoever reads waits for what is being written.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of entries that wait for a disk that does not answer.
const MAX_WAITING: usize = 10_000;

/// Entries on their way into their tables.
#[derive(Debug)]
pub(super) struct LaterTable<T: Send + 'static> {
    queue: Arc<LaterQueue<T>>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// How entries are written.
type Write<T> = fn(&Connection, &[T]) -> rusqlite::Result<()>;

#[derive(Debug)]
struct LaterQueue<T> {
    handle: Handle,
    /// What cannot be written when they cannot, for the log.
    what: &'static str,
    write: Write<T>,
    waiting: Mutex<WaitingEntries<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct WaitingEntries<T> {
    entries: Vec<T>,
    /// So many were ever added, and so many of those wait no more.
    added: u64,
    done: u64,
    /// Somebody wants to read them.
    hurry: bool,
    closing: bool,
}

impl<T: Send + 'static> LaterTable<T> {
    /// Of a vault's state.
    pub(super) fn new(state: &Arc<State>, what: &'static str, write: Write<T>) -> Self {
        let handle = Handle::new(state, Durability::Later);
        let waiting = WaitingEntries { entries: Vec::new(), added: 0, done: 0, hurry: false, closing: false };
        let queue = LaterQueue { handle, what, write, waiting: Mutex::new(waiting), changed: Condvar::new() };
        Self { queue: Arc::new(queue), thread: Mutex::default() }
    }

    /// Adds an entry, which is written in a moment.
    pub(super) fn add(&self, entry: T) {
        let mut waiting = self.queue.waiting();
        if waiting.entries.len() >= MAX_WAITING || !self.is_at_work() {
            tracing::warn!("{} is lost: too much waits for the disk", self.queue.what);
            return;
        }
        waiting.entries.push(entry);
        waiting.added += 1;
        drop(waiting);
        self.queue.changed.notify_all();
    }

    /// Waits until all that was added is written, or cannot be.
    pub(super) fn flush(&self) {
        let mut waiting = self.queue.waiting();
        let until = waiting.added;
        waiting.hurry = waiting.done < until;
        self.queue.changed.notify_all();
        let waits = |waiting: &mut WaitingEntries<T>| waiting.done < until;
        let waited = self.queue.changed.wait_timeout_while(waiting, PATIENCE, waits);
        drop(waited.unwrap_or_else(PoisonError::into_inner));
    }

    /// The file, once all that was added is in it.
    pub(super) fn written(&self) -> &Handle {
        self.flush();
        &self.queue.handle
    }

    /// Reads what was added until now; nothing where there is none.
    pub(super) fn read<R: Default>(
        &self,
        read: impl FnMut(&mut OpenedState) -> rusqlite::Result<R>,
    ) -> Result<R, StateError> {
        Ok(self.written().if_there(read)?.unwrap_or_default())
    }

    /// The file as it is.
    pub(super) fn handle(&self) -> &Handle {
        &self.queue.handle
    }

    /// Starts the thread with the first entry: whoever only reads needs none.
    fn is_at_work(&self) -> bool {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let queue = Arc::clone(&self.queue);
            let started = std::thread::Builder::new().name(self.queue.what.into()).spawn(move || queue.run());
            *thread = started.inspect_err(|error| tracing::warn!("no thread for {}: {error}", self.queue.what)).ok();
        }
        thread.is_some()
    }
}

impl<T: Send + 'static> Drop for LaterTable<T> {
    fn drop(&mut self) {
        self.queue.waiting().closing = true;
        self.queue.changed.notify_all();
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        let _ = thread.map(JoinHandle::join);
    }
}

impl<T> LaterQueue<T> {
    fn waiting(&self) -> MutexGuard<'_, WaitingEntries<T>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn run(&self) {
        loop {
            let idle = |waiting: &mut WaitingEntries<T>| waiting.entries.is_empty() && !waiting.closing;
            let waiting = self.changed.wait_while(self.waiting(), idle).unwrap_or_else(PoisonError::into_inner);
            let more = |waiting: &mut WaitingEntries<T>| !waiting.hurry && !waiting.closing;
            let gathered = self.changed.wait_timeout_while(waiting, GATHER, more);
            let mut waiting = gathered.unwrap_or_else(PoisonError::into_inner).0;
            let entries = std::mem::take(&mut waiting.entries);
            if entries.is_empty() {
                return;
            }
            waiting.hurry = false;
            drop(waiting);
            let written = self.handle.with(|opened| {
                let transaction = opened.connection.transaction()?;
                (self.write)(&transaction, &entries)?;
                transaction.commit()
            });
            if let Err(error) = written {
                tracing::warn!("{} cannot be written ({} entries): {error}", self.what, entries.len());
            }
            self.waiting().done += entries.len() as u64;
            self.changed.notify_all();
        }
    }
}
