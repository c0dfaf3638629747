//! The handle of the writer thread, and what keeps the thread going.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::heal::{RETRY, RepairBackoff};
use super::options::{RefusedError, SyncOptions};
use super::retry::pause;
use super::shared::{ModelStatus, Phase, Shared, SyncProgress, Verified};
use super::watching::{missing, show_missing};
use super::worker::{Next, Worker, WorkerMessage};
use crate::engine::{ContentHash, Damage, EngineError, Writer};
use crate::models::{Embedder, LoadEmbedder, ModelErrorKind};
use crate::vault::{Identity, Signal};

/// The handle of the writer thread. Dropping it stops the thread and closes the stores.
pub struct Syncer {
    messages: Sender<WorkerMessage>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
}

impl Syncer {
    /// Starts the writer thread.
    pub fn start(options: SyncOptions) -> Self {
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
    pub fn reindex(&self, full: bool) -> Result<(), RefusedError> {
        self.ask(|done| WorkerMessage::Reindex { full, done })
    }

    /// Takes hints as a watcher gives them, from whoever knows of changes without one. Returns when they are noted, so that
    /// the progress is not complete before their places have been looked at.
    ///
    /// # Errors
    /// When the indexer has stopped.
    pub fn notice(&self, signals: Vec<Signal>) -> Result<(), RefusedError> {
        self.ask(|done| WorkerMessage::Notice { signals, done })
    }

    /// Sends a message and waits for what comes of it.
    fn ask(&self, message: impl FnOnce(Sender<Result<(), RefusedError>>) -> WorkerMessage) -> Result<(), RefusedError> {
        let (done, wait) = channel();
        self.messages.send(message(done)).map_err(|_| gone())?;
        wait.recv().map_err(|_| gone())?
    }

    /// Compares everything in the stores with its checksum, and waits for the result. What is damaged is mended from then on;
    /// the progress tells how far that is.
    ///
    /// # Errors
    /// When the stores cannot be read, or are closed meanwhile.
    pub fn verify(&self) -> Result<Verified, RefusedError> {
        let (done, wait) = channel();
        self.messages.send(WorkerMessage::Verify { done: Some(done) }).map_err(|_| gone())?;
        wait.recv().map_err(|_| RefusedError("the index could not be checked".into()))
    }

    /// Drops the embeddings of texts that no note has any more; gives how many there were.
    ///
    /// # Errors
    /// When the stores cannot be written, or are closed meanwhile.
    pub fn forget(&self, contents: Vec<ContentHash>) -> Result<usize, RefusedError> {
        let (done, wait) = channel();
        self.messages.send(WorkerMessage::Forget { contents, done }).map_err(|_| gone())?;
        wait.recv().map_err(|_| RefusedError("the index cannot be written; `vault status` says why".into()))
    }

    /// Loads another model, and turns to it once it is there: what has no vector of it is embedded, and until then found by its
    /// words. Where it cannot be loaded, the one there was stays.
    pub fn replace_model(&self, load: LoadEmbedder) {
        load_model(load, self.messages.clone(), Arc::clone(&self.shared));
    }

    /// Says that a search has met damage: everything is checked, and what is damaged is mended.
    pub fn suspect(&self) {
        let _ = self.messages.send(WorkerMessage::Verify { done: None });
    }
}

/// Counts the models that were asked for.
static ASKED: AtomicU64 = AtomicU64::new(1);

/// Loads a model, and tries again while it fails in a way that may pass: an endpoint may be started later than this program.
fn load_model(mut load: LoadEmbedder, messages: Sender<WorkerMessage>, shared: Arc<Shared>) {
    let asked = ASKED.fetch_add(1, Ordering::SeqCst);
    std::thread::spawn(move || {
        for failures in 1.. {
            let loaded = load();
            let may_pass = loaded.as_ref().err().filter(|error| error.kind() == ModelErrorKind::Transient);
            let again = may_pass.map(|error| pause(failures).max(error.retry_after().unwrap_or_default()));
            let told = messages.send(WorkerMessage::Model { asked, loaded });
            let Some(again) = again.filter(|_| told.is_ok()) else { return };
            let is_over = |progress: &SyncProgress| progress.phase == Phase::Stopped;
            if is_over(&shared.wait(again, is_over)) || !shared.is_newest_model(asked) {
                return;
            }
        }
    });
}

fn gone() -> RefusedError {
    RefusedError("the indexer has stopped".into())
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(embedder) = self.shared.embedder() {
            embedder.stop();
        }
        let _ = self.messages.send(WorkerMessage::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    options: SyncOptions,
    messages: Sender<WorkerMessage>,
    receiver: &Receiver<WorkerMessage>,
    shared: &Arc<Shared>,
    stop: &Arc<AtomicBool>,
) {
    let mut options = options;
    if let Some(load) = options.model.take() {
        shared.update(|progress| progress.model = ModelStatus::Loading);
        load_model(load, messages.clone(), Arc::clone(shared));
    }
    let (mut embedder, mut backoff) = (None, RepairBackoff::default());
    // After an unexpected failure nothing is believed; after a healing it has been said what was wrong.
    let (mut distrust, mut healed) = (false, false);
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
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let store = options.engine.open(distrust)?;
            work(&options, store, healed, &messages, receiver, shared, &mut embedder)
        }));
        (distrust, healed) = (ended.is_err(), false);
        let damage = match ended {
            Ok(Ok(damage)) => damage,
            Ok(Err(error)) => {
                let damage = error.damage().cloned();
                if damage.is_none() {
                    search_at_rest(&options, shared);
                    fail(
                        shared,
                        format!("the index in {} cannot be kept up to date: {error}", options.engine.location()),
                    );
                    wait_or_stop(RETRY, receiver, shared, stop, &mut embedder);
                }
                damage
            }
            Err(_) => {
                fail(shared, "indexing failed unexpectedly, and the index is checked; please report this".into());
                let pause = backoff.pause_after_crash(Instant::now());
                wait_or_stop(pause, receiver, shared, stop, &mut embedder);
                None
            }
        };
        let Some(damage) = damage else { continue };
        if let Some(pause) = backoff.pause(&damage, Instant::now()) {
            let seconds = pause.as_secs();
            fail(shared, format!("{damage} in {seconds} s. It was so a short while ago: the disk may be failing"));
            wait_or_stop(pause, receiver, shared, stop, &mut embedder);
        }
        match options.engine.clear(&damage) {
            Ok(()) => {
                shared.say_mended(&damage.to_string());
                healed = true;
            }
            Err(error) => {
                fail(shared, error.to_string());
                wait_or_stop(RETRY, receiver, shared, stop, &mut embedder);
            }
        }
    }
}

/// While the vault is not there, or another process has it.
const RETRY_PLACE: Duration = Duration::from_secs(1);

/// Works on open stores until they have to be closed. Gives the damage that they were closed for, if it was for that.
fn work(
    options: &SyncOptions,
    store: Box<dyn Writer>,
    healed: bool,
    messages: &Sender<WorkerMessage>,
    receiver: &Receiver<WorkerMessage>,
    shared: &Arc<Shared>,
    embedder: &mut Option<Arc<dyn Embedder>>,
) -> Result<Option<Damage>, EngineError> {
    let mut worker = Worker::new(options, store, messages, shared, healed);
    if healed {
        drop(worker.store.take_notices());
    } else {
        worker.say_notices();
    }
    show_missing(shared, None);
    match shared.embedder().or_else(|| embedder.clone()) {
        Some(embedder) => worker.use_model(embedder)?,
        None => worker.publish()?,
    }
    let result = worker.work(receiver);
    *embedder = worker.embedder.take();
    let store = worker.finish();
    match result? {
        Next::Rebuild => store.discard()?,
        Next::Reopen => drop(store),
        Next::Stop => {
            shared.retire();
            store.close()?;
        }
        Next::Heal(damage) => {
            drop(store);
            return Ok(Some(damage));
        }
    }
    Ok(None)
}

/// After a start on a full or read-only disk: what was indexed before can be searched all the same.
fn search_at_rest(options: &SyncOptions, shared: &Shared) {
    if shared.snapshot().is_none()
        && let Ok(Some(reader)) = options.engine.read_at_rest()
    {
        shared.publish(reader);
    }
}

/// Says that indexing stopped, once as long as it is for the same reason.
fn fail(shared: &Shared, failure: String) {
    if shared.progress().failure.as_ref() != Some(&failure) {
        tracing::error!("indexing stopped and will be tried again: {failure}");
    }
    shared.update(|progress| {
        progress.phase = Phase::Failing;
        progress.failure = Some(failure);
    });
}

fn wait_or_stop(
    pause: Duration,
    receiver: &Receiver<WorkerMessage>,
    shared: &Shared,
    stop: &AtomicBool,
    embedder: &mut Option<Arc<dyn Embedder>>,
) {
    let until = Instant::now() + pause;
    while let Some(left) = until.checked_duration_since(Instant::now())
        && !stop.load(Ordering::Relaxed)
    {
        match receiver.recv_timeout(left) {
            Ok(WorkerMessage::Model { asked, .. }) if !shared.is_newest_model(asked) => {}
            Ok(WorkerMessage::Model { loaded: Ok(loaded), .. }) => {
                shared.set_embedder(Some(Arc::clone(&loaded)));
                *embedder = Some(loaded);
            }
            Ok(WorkerMessage::Reindex { done, .. } | WorkerMessage::Notice { done, .. }) => {
                let _ = done.send(Err(RefusedError("the index cannot be written; `vault status` says why".into())));
            }
            Ok(WorkerMessage::Model { loaded: Err(error), .. }) if shared.embedder().is_some() => {
                tracing::warn!("the model stays as it was: {error}");
            }
            Ok(WorkerMessage::Model { loaded: Err(error), .. }) => {
                shared.show_unloaded(&error);
            }
            Ok(_) => {}
            Err(_) => return,
        }
    }
}
