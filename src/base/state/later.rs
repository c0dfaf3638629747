//! What is written in a moment: no answer waits for it. A thread writes what has come, in one transaction that no sync of the disk
//! belongs to.

use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rusqlite::Connection;

use super::store::{Durability, Handle, OpenedState, State, StateError};

/// Default time for which what comes after an entry is gathered, to be written with it.
const GATHER: Duration = Duration::from_millis(100);
/// Maximum time that whoever reads waits for what is being written.
const PATIENCE: Duration = Duration::from_secs(10);
/// Maximum number of entries that wait for a disk that does not answer.
const MAX_WAITING: usize = 10_000;

/// Entries on their way into their tables.
#[derive(Debug)]
pub(super) struct LaterTable<T: Send + 'static> {
    handle: Arc<Handle>,
    /// What cannot be written when they cannot, for the log.
    what: &'static str,
    write: Write<T>,
    /// The thread, from the first entry on: whoever only reads needs none.
    thread: Mutex<Option<LaterThread<T>>>,
}

/// What a thread is told by, and the thread.
type LaterThread<T> = (SyncSender<Message<T>>, JoinHandle<()>);

/// How entries are written.
type Write<T> = fn(&Connection, &[T]) -> rusqlite::Result<()>;

/// What the thread is told.
#[derive(Debug)]
enum Message<T> {
    Entry(T),
    /// Somebody wants to read what came before this, and is told by this when it is written.
    Flush(Sender<()>),
}

impl<T: Send + 'static> LaterTable<T> {
    /// Of a vault's state.
    pub(super) fn new(state: &Arc<State>, what: &'static str, write: Write<T>) -> Self {
        Self { handle: Arc::new(Handle::new(state, Durability::Later)), what, write, thread: Mutex::default() }
    }

    /// Adds an entry, which is written in a moment.
    pub(super) fn add(&self, entry: T) {
        let Self { handle, what, write, thread } = self;
        let mut thread = thread.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            let ((sender, receiver), (handle, what, write)) =
                (sync_channel(MAX_WAITING), (Arc::clone(handle), *what, *write));
            let started = std::thread::Builder::new().name(what.into());
            let started = started.spawn(move || run(&handle, what, write, &receiver));
            let started = started.inspect_err(|error| tracing::warn!("no thread for {what}: {error}"));
            *thread = started.ok().map(|thread| (sender, thread));
        }
        let sent = thread.as_ref().map(|(sender, _)| sender.try_send(Message::Entry(entry)));
        if !matches!(sent, Some(Ok(()))) {
            tracing::warn!("{what} is lost: too much waits for the disk");
        }
    }

    /// Waits until all that was added is written, or cannot be.
    pub(super) fn flush(&self) {
        let (written, waits) = channel();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(sender) = thread.as_ref().map(|(sender, _)| sender.clone()) else { return };
        drop(thread);
        let until = Instant::now() + PATIENCE;
        let mut flush = Message::Flush(written);
        // Where too much waits already there is room in a moment: what is read next, or taken out of the table, has to be whole.
        while let Err(TrySendError::Full(back)) = sender.try_send(flush) {
            if Instant::now() >= until {
                return;
            }
            flush = back;
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(sender);
        let _ = waits.recv_timeout(until.saturating_duration_since(Instant::now()));
    }

    /// The file, once all that was added is in it.
    pub(super) fn written(&self) -> &Handle {
        self.flush();
        &self.handle
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
        &self.handle
    }
}

impl<T: Send + 'static> Drop for LaterTable<T> {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Without a sender the thread ends once it has written what came.
        let _ = thread.map(|(sender, thread)| (drop(sender), thread.join()));
    }
}

fn run<T>(handle: &Handle, what: &str, write: Write<T>, messages: &Receiver<Message<T>>) {
    while let Ok(first) = messages.recv() {
        let (mut entries, mut flush, mut next) = (Vec::new(), None, Some(first));
        let until = Instant::now() + GATHER;
        while let Some(message) = next {
            let left = until.saturating_duration_since(Instant::now());
            next = match message {
                Message::Flush(written) => {
                    flush = Some(written);
                    None
                }
                Message::Entry(entry) => {
                    entries.push(entry);
                    (!left.is_zero()).then(|| messages.recv_timeout(left).ok()).flatten()
                }
            };
        }
        if !entries.is_empty() {
            let written = handle.with(|opened| {
                let transaction = opened.connection.transaction()?;
                write(&transaction, &entries)?;
                transaction.commit()
            });
            if let Err(error) = written {
                tracing::warn!("{what} cannot be written ({} entries): {error}", entries.len());
            }
        }
        // Nobody may wait for it any more.
        let _ = flush.map(|flush| flush.send(()));
    }
}
