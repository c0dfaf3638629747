//! What is written in a moment: no answer waits for it. A thread writes what has come meanwhile, in one transaction that no sync of the
//! disk belongs to.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rusqlite::Connection;

use super::store::{Durability, Handle, State};

/// Maximum time that whoever reads waits for what is being written.
const PATIENCE: Duration = Duration::from_secs(10);

/// Rows on their way into a table.
#[derive(Debug)]
pub(super) struct LaterWriter {
    handle: Arc<Handle>,
    /// What cannot be written when they cannot, for the log.
    what: &'static str,
    /// The thread and what it is told by, from the first row on: whoever only reads needs none.
    thread: Mutex<Option<(Sender<Message>, JoinHandle<()>)>>,
}

/// Writes something; again where the file was damaged.
type Write = Box<dyn Fn(&Connection) -> rusqlite::Result<()> + Send>;

/// What the thread is told: what to write, or that somebody waits until what came before is written. That one hears when this is dropped.
type Message = Result<Write, Sender<()>>;

impl LaterWriter {
    /// Of a vault's state.
    pub(super) fn new(state: &Arc<State>, what: &'static str) -> Self {
        Self { handle: Arc::new(Handle::new(state, Durability::Later)), what, thread: Mutex::default() }
    }

    /// Has something written in a moment.
    pub(super) fn add(&self, write: impl Fn(&Connection) -> rusqlite::Result<()> + Send + 'static) {
        let mut thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner);
        let (sender, _) = thread.get_or_insert_with(|| {
            let ((sender, receiver), handle, what) = (channel(), Arc::clone(&self.handle), self.what);
            (sender, std::thread::spawn(move || run(&handle, what, &receiver)))
        });
        let _ = sender.send(Ok(Box::new(write)));
    }

    /// Waits until all that was added is written, or cannot be.
    pub(super) fn flush(&self) {
        let (written, waits) = channel();
        match &*self.thread.lock().unwrap_or_else(PoisonError::into_inner) {
            Some((sender, _)) => _ = sender.send(Err(written)),
            None => return,
        }
        let _ = waits.recv_timeout(PATIENCE);
    }

    /// The file, once all that was added is in it.
    pub(super) fn written(&self) -> &Handle {
        self.flush();
        &self.handle
    }
}

impl Drop for LaterWriter {
    fn drop(&mut self) {
        let thread = self.thread.get_mut().unwrap_or_else(PoisonError::into_inner).take();
        // Without a sender the thread ends once it has written what came.
        let _ = thread.map(|(sender, thread)| (drop(sender), thread.join()));
    }
}

fn run(handle: &Handle, what: &str, messages: &Receiver<Message>) {
    while let Ok(first) = messages.recv() {
        let batch: Vec<Message> = std::iter::once(first).chain(messages.try_iter()).collect();
        let writes: Vec<&Write> = batch.iter().flatten().collect();
        if writes.is_empty() {
            continue;
        }
        let written = handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            writes.iter().try_for_each(|write| write(&transaction))?;
            transaction.commit()
        });
        if let Err(error) = written {
            tracing::warn!("{what} cannot be written ({} entries): {error}", writes.len());
        }
    }
}
