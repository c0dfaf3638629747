//! The handle of the writer thread, and what keeps the thread going.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::open::open_store;
use super::shared::{ModelStatus, Phase, Shared};
use super::watching::{missing, show_missing};
use super::worker::{Message, Next, Worker};
use crate::config::IndexConfig;
use crate::embed::{EmbedError, Embedder};
use crate::index::{Settings, Snapshot};
use crate::vault::{Identity, Lock, Rules};

/// Loads the model; called once, on a thread of its own.
pub type LoadModel = Box<dyn FnOnce() -> Result<Arc<dyn Embedder>, EmbedError> + Send>;

/// What the writer needs.
pub struct Options {
    /// The vault's root.
    pub root: PathBuf,
    /// Where the stores are.
    pub folder: PathBuf,
    /// `[index]`.
    pub index: IndexConfig,
    /// What shapes the stores.
    pub settings: Settings,
    /// What belongs to the vault.
    pub rules: Rules,
    /// The model, if there is to be one.
    pub model: Option<LoadModel>,
    /// Whether to watch for changes, or to compare with the disk once.
    pub watch: bool,
    /// The right to write the stores.
    pub lock: Arc<Lock>,
}

/// A reindex was refused.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct ReindexError(pub(super) String);

/// The handle of the writer thread. Dropping it stops the thread and closes the stores.
pub struct Syncer {
    messages: Sender<Message>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
}

impl Syncer {
    /// Starts the writer thread.
    pub fn start(options: Options) -> Self {
        let (messages, receiver) = channel();
        let shared = Arc::new(Shared::default());
        let stop = Arc::new(AtomicBool::new(false));
        let worker = (messages.clone(), Arc::clone(&shared), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let (messages, shared, stop) = worker;
            let running = || run(options, messages, &receiver, &shared, &stop);
            let ended = catch_unwind(AssertUnwindSafe(running));
            shared.update(|progress| match ended {
                Ok(()) => progress.phase = Phase::Stopped,
                Err(_) => {
                    progress.phase = Phase::Failing;
                    progress.failure = Some("indexing failed unexpectedly; restart, and please report this".into());
                }
            });
        });
        Self { messages, thread: Some(thread), shared, stop }
    }

    /// What the writer shows.
    pub fn shared(&self) -> &Arc<Shared> {
        &self.shared
    }

    /// Compares every file with the index, whatever its stamp says, or with `full` builds everything from nothing. Returns
    /// when the files are queued; the progress tells how far it is.
    ///
    /// # Errors
    /// When the stores refuse.
    pub fn reindex(&self, full: bool) -> Result<(), ReindexError> {
        let (done, wait) = channel();
        let gone = || ReindexError("the indexer has stopped".into());
        self.messages.send(Message::Reindex { full, done }).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(embedder) = self.shared.embedder() {
            embedder.stop();
        }
        let _ = self.messages.send(Message::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    options: Options,
    messages: Sender<Message>,
    receiver: &Receiver<Message>,
    shared: &Arc<Shared>,
    stop: &Arc<AtomicBool>,
) {
    let mut options = options;
    if let Some(load) = options.model.take() {
        shared.update(|progress| progress.model = ModelStatus::Loading);
        let messages = messages.clone();
        std::thread::spawn(move || {
            let _ = messages.send(Message::Model(load()));
        });
    }
    let mut embedder = None;
    while !stop.load(Ordering::Relaxed) {
        // Nothing is made where the vault is not: a drive is mounted there later, or the folder moved back.
        if Identity::of_vault(&options.root).is_none() {
            show_missing(shared, Some(missing(&options)));
            wait_or_stop(RETRY_PLACE, receiver, shared, stop, &mut embedder);
            continue;
        }
        if let Err(error) = options.lock.hold() {
            shared.update(|progress| (progress.phase, progress.failure) = (Phase::Failing, Some(error.to_string())));
            wait_or_stop(RETRY_PLACE, receiver, shared, stop, &mut embedder);
            continue;
        }
        let opened = open_store(&options.folder, &options.settings).and_then(|(store, rebuilt)| {
            let mut worker = Worker::new(&options, store, &messages, shared);
            worker.publish()?;
            show_missing(shared, None);
            shared.update(|progress| progress.rebuilt = rebuilt);
            if let Some(embedder) = embedder.take() {
                worker.use_model(embedder)?;
            }
            let result = worker.work(receiver);
            embedder = worker.embedder.take();
            let store = worker.finish();
            match result {
                Ok(Next::Rebuild) => store.discard(),
                Ok(Next::Stop) => {
                    shared.retire();
                    store.close()
                }
                Ok(Next::Reopen) => Ok(()),
                Err(error) => Err(error),
            }
        });
        if let Err(error) = opened {
            let failure = format!("the index in {} cannot be kept up to date: {error}", options.folder.display());
            tracing::error!("{failure}; it will be tried again");
            // A start on a full or read-only disk: what was indexed before can be searched all the same.
            if shared.snapshot().is_none()
                && let Ok(Some(snapshot)) = Snapshot::open_at_rest(&options.folder, &options.settings.private)
            {
                shared.publish(Arc::new(snapshot));
            }
            shared.update(|progress| {
                progress.phase = Phase::Failing;
                progress.failure = Some(failure);
            });
            wait_or_stop(RETRY, receiver, shared, stop, &mut embedder);
        }
    }
}

/// After a failure of the disk, the pause before the next try.
const RETRY: Duration = Duration::from_secs(3);
/// While the vault is not there, or another process has it.
const RETRY_PLACE: Duration = Duration::from_secs(1);

fn wait_or_stop(
    pause: Duration,
    receiver: &Receiver<Message>,
    shared: &Shared,
    stop: &AtomicBool,
    embedder: &mut Option<Arc<dyn Embedder>>,
) {
    let until = Instant::now() + pause;
    while let Some(left) = until.checked_duration_since(Instant::now())
        && !stop.load(Ordering::Relaxed)
    {
        match receiver.recv_timeout(left) {
            Ok(Message::Model(Ok(loaded))) => *embedder = Some(loaded),
            Ok(Message::Reindex { done, .. }) => {
                let _ = done.send(Err(ReindexError("the index cannot be written; `vault status` says why".into())));
            }
            Ok(Message::Model(Err(error))) => {
                shared.update(|progress| progress.model = ModelStatus::Failed(error.to_string()))
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}
