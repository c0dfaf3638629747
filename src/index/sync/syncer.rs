//! The handle of the writer thread, and what keeps the thread going.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::lane::pause;
use super::shared::{ModelStatus, Phase, Shared, SyncProgress, Verification, Watching};
use super::watching::{missing, show_missing};
use super::worker::{Next, Worker, WorkerMessage};
use crate::base::clock::Clock;
use crate::base::config::IndexConfig;
use crate::index::engine::{ContentHash, Engine, EngineError, Writer};
use crate::models::{ChosenModel, ModelChoice, ModelError, ModelErrorKind, ModelInUse};
use crate::vault::attachments::AttachmentReader;
use crate::vault::disk::{CookieFolder, Identity, Lock, NoteRules, Signal};

/// What the writer needs.
pub(crate) struct SyncOptions {
    /// The vault's root.
    pub root: PathBuf,
    /// The stores.
    pub(crate) engine: Box<dyn Engine>,
    /// `[index]`.
    pub index: IndexConfig,
    /// What belongs to the vault.
    pub rules: NoteRules,
    /// Who reads what is no note.
    pub(crate) attachments: Arc<AttachmentReader>,
    /// Where it is written which model's vectors serve.
    pub(crate) in_use: ModelInUse,
    /// Whether to watch for changes, or to compare with the disk once.
    pub watch: bool,
    /// Where cookies are made, to learn that the watcher has told all.
    pub cookies: Arc<CookieFolder>,
    /// When files are read.
    pub clock: Clock,
    /// The right to write the stores.
    pub lock: Arc<Lock>,
}

/// What was asked for was refused.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub struct RefusedError(pub(super) String);

/// The handle of the writer thread. Dropping it stops the thread and closes the stores.
pub struct Syncer {
    messages: Sender<WorkerMessage>,
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
    stop: Arc<AtomicBool>,
}

impl Syncer {
    /// Starts the writer thread, and loads the model, if there is to be one.
    pub(crate) fn start(options: SyncOptions, model: Option<ModelChoice>) -> Self {
        let (messages, receiver) = channel();
        let shared = Arc::new(Shared::default());
        let (by, reconcile_seconds) = ("not yet".to_owned(), options.index.reconcile_seconds);
        shared.update(|progress| progress.watch = Watching { by, reconcile_seconds, ..Watching::default() });
        let stop = Arc::new(AtomicBool::new(false));
        if let Some(choice) = model {
            shared.update(|progress| progress.model = ModelStatus::Loading);
            load_model(choice, messages.clone(), Arc::clone(&shared));
        }
        let worker = (messages.clone(), Arc::clone(&shared), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let (messages, shared, stop) = worker;
            let running = || run(options, &messages, &receiver, &shared, &stop);
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
        self.ask(UNWRITABLE, move |worker| worker.reindex(full))?
    }

    /// Takes hints as a watcher gives them, from whoever knows of changes without one. Returns when they are noted, so that
    /// the progress is not complete before their places have been looked at.
    ///
    /// # Errors
    /// When the indexer has stopped, or the stores are closed.
    pub fn notice(&self, signals: Vec<Signal>) -> Result<(), RefusedError> {
        self.ask(UNWRITABLE, |worker| worker.notice(signals))
    }

    /// Has the writer do something, and waits for what comes of it; says why where nothing does.
    fn ask<T: Send + 'static>(
        &self,
        otherwise: &str,
        work: impl FnOnce(&mut Worker<'_>) -> Result<T, EngineError> + Send + 'static,
    ) -> Result<T, RefusedError> {
        let (done, wait) = channel();
        self.tell(move |worker| {
            let _ = done.send(work(worker)?);
            Ok(())
        })?;
        wait.recv().map_err(|_| RefusedError(otherwise.into()))
    }

    fn tell(
        &self,
        work: impl FnOnce(&mut Worker<'_>) -> Result<(), EngineError> + Send + 'static,
    ) -> Result<(), RefusedError> {
        self.messages.send(WorkerMessage::to_do(work)).map_err(|_| RefusedError(STOPPED.into()))
    }

    /// Compares everything in the stores with its checksum, and waits for the result. What is damaged is mended from then on;
    /// the progress tells how far that is.
    ///
    /// # Errors
    /// When the stores cannot be read, or are closed meanwhile.
    pub fn verify(&self) -> Result<Verification, RefusedError> {
        let (done, wait) = channel();
        self.check(Some(done))?;
        wait.recv().map_err(|_| RefusedError("the index could not be checked".into()))
    }

    /// Drops the embeddings of texts that no note has any more, and what was deleted from the files of the stores; gives how many embeddings
    /// there were, and whether nothing else is left.
    ///
    /// # Errors
    /// When the stores cannot be written, or are closed meanwhile.
    pub fn erase(&self, contents: Vec<ContentHash>) -> Result<(usize, bool), RefusedError> {
        self.ask(UNWRITABLE, move |worker| worker.erase(&contents))
    }

    /// Loads another model, and turns to it once its vectors are there. Where it cannot be loaded, the one there was stays.
    pub(crate) fn replace_model(&self, model: ModelChoice) {
        if let Some(named) = model.config.clone() {
            let _ = self.tell(move |worker| worker.leave(Some(&named)));
        }
        load_model(model, self.messages.clone(), Arc::clone(&self.shared));
    }

    /// Does without a model from now on: words alone answer.
    pub fn drop_model(&self) {
        self.shared.ask_model(None);
        let _ = self.tell(|worker| worker.leave(None));
    }

    /// Drops the vectors of models that are not in use; gives how many there were.
    ///
    /// # Errors
    /// While a model is being loaded, or when the stores cannot be written.
    pub fn drop_kept_vectors(&self) -> Result<usize, RefusedError> {
        self.ask(UNWRITABLE, |worker| worker.drop_kept())?
    }

    /// Says that a search has met damage: everything is checked, and what is damaged is mended.
    pub fn suspect(&self) {
        let _ = self.check(None);
    }

    fn check(&self, done: Option<Sender<Verification>>) -> Result<(), RefusedError> {
        self.tell(|worker| {
            worker.verify(done);
            Ok(())
        })
    }
}

const STOPPED: &str = "the indexer has stopped";
const UNWRITABLE: &str = "the index cannot be written; `vault status` says why";

/// Loads a model, after the one whose vectors served last.
fn load_model(choice: ModelChoice, messages: Sender<WorkerMessage>, shared: Arc<Shared>) {
    let ModelChoice { mut load, config, former } = choice;
    let asked = shared.ask_model(Some(ModelStatus::Loading));
    std::thread::spawn(move || {
        if let Some((fingerprint, mut former)) = former {
            match (former.load)() {
                Ok(embedder) if *embedder.fingerprint() == fingerprint => {
                    let loaded = Ok(ChosenModel { embedder, config: former.config });
                    let _ = messages.send(WorkerMessage::Model { asked, is_former: true, loaded });
                }
                Ok(_) => tracing::info!("the model whose vectors served last is another by now, and is not used"),
                Err(error) => tracing::info!("the model whose vectors served last cannot be used: {error}"),
            }
        }
        // An endpoint may be started later than this program.
        for failures in 1.. {
            let loaded = load().map(|embedder| ChosenModel { embedder, config: config.clone() });
            let may_pass = |error: &ModelError| error.kind() == ModelErrorKind::Transient;
            let again = loaded.as_ref().err().filter(|error| may_pass(error)).map(|error| error.retry_after());
            let told = messages.send(WorkerMessage::Model { asked, is_former: false, loaded });
            let Some(least) = again.filter(|_| told.is_ok()) else { return };
            let is_over = |progress: &SyncProgress| progress.phase == Phase::Stopped;
            let progress = shared.wait(pause(failures).max(least.unwrap_or_default()), is_over);
            if is_over(&progress) || !shared.is_newest_model(asked) {
                return;
            }
        }
    });
}

impl Drop for Syncer {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.shared.stop_models();
        let _ = self.messages.send(WorkerMessage::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn run(
    options: SyncOptions,
    messages: &Sender<WorkerMessage>,
    receiver: &Receiver<WorkerMessage>,
    shared: &Arc<Shared>,
    stop: &Arc<AtomicBool>,
) {
    let wait = |pause| wait_or_stop(pause, messages, receiver, stop);
    let fail = |failure, pause| {
        fail(shared, failure);
        wait(pause);
    };
    // How often damage was mended: what a failing disk damages again is rebuilt ever more seldom.
    let mut mended = 0;
    // After a healing it has been said what was wrong.
    let mut healed = false;
    while !stop.load(Ordering::Relaxed) {
        // Nothing is made where the vault is not: a drive is mounted there later, or the folder moved back.
        if Identity::of_vault(&options.root).is_none() {
            show_missing(shared, Some(missing(&options)));
            wait(RETRY_PLACE);
            continue;
        }
        if let Err(error) = options.lock.hold() {
            shared.update(|progress| (progress.phase, progress.failure) = (Phase::Failing, Some(error.to_string())));
            wait(RETRY_PLACE);
            continue;
        }
        let ended = catch_unwind(AssertUnwindSafe(|| {
            let store = options.engine.open()?;
            work(&options, store, healed, messages, receiver, shared)
        }));
        healed = false;
        let damage = match ended {
            Ok(Ok(())) => continue,
            Ok(Err(error)) => match error.damage() {
                Some(damage) => damage.clone(),
                None => {
                    let place = options.engine.location();
                    fail(format!("the index in {place} cannot be kept up to date: {error}"), RETRY);
                    continue;
                }
            },
            Err(_) => {
                let failed = "indexing failed unexpectedly, and begins anew; please report this";
                fail(failed.into(), RETRY);
                continue;
            }
        };
        // At once where both stores are damaged, each for itself.
        if mended > 1 {
            let pause = RETRY * (1 << (mended - 2).min(MOST_DOUBLINGS));
            let when = format!("{damage} in {} s. It was damaged before: the disk may be failing", pause.as_secs());
            fail(when, pause);
        }
        mended += 1;
        match options.engine.clear(&damage) {
            Ok(()) => {
                shared.say_mended(&damage.to_string());
                healed = true;
            }
            Err(error) => fail(error.to_string(), RETRY),
        }
    }
}

/// After a failure, the pause before the next try.
const RETRY: Duration = Duration::from_secs(3);

/// How often that is doubled at most: to thirteen minutes.
const MOST_DOUBLINGS: u32 = 8;

/// While the vault is not there, or another process has it.
const RETRY_PLACE: Duration = Duration::from_secs(1);

/// Works on open stores until they have to be closed. Where they are closed for damage, that is the error.
fn work(
    options: &SyncOptions,
    store: Box<dyn Writer>,
    healed: bool,
    messages: &Sender<WorkerMessage>,
    receiver: &Receiver<WorkerMessage>,
    shared: &Arc<Shared>,
) -> Result<(), EngineError> {
    let mut worker = Worker::new(options, store, messages, shared, healed);
    if healed {
        drop(worker.store.take_notices());
    } else {
        worker.say_notices();
    }
    show_missing(shared, None);
    let models = shared.models_at_work();
    match models.serving {
        Some(model) => worker.use_model(model)?,
        None => worker.publish()?,
    }
    if let Some(model) = models.next {
        worker.take_model(model)?;
    }
    let result = worker.work(receiver);
    let store = worker.finish();
    match result? {
        Next::Rebuild => store.discard(),
        Next::Reopen => Ok(()),
        Next::Stop => {
            shared.retire();
            store.close()
        }
        Next::Heal(damage) => Err(EngineError::damaged(damage.to_string(), damage)),
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

/// Waits. A model that comes meanwhile is taken once the stores are open; all else that was to be done is not.
fn wait_or_stop(
    pause: Duration,
    messages: &Sender<WorkerMessage>,
    receiver: &Receiver<WorkerMessage>,
    stop: &AtomicBool,
) {
    let until = Instant::now() + pause;
    let mut models = Vec::new();
    while let Some(left) = until.checked_duration_since(Instant::now())
        && !stop.load(Ordering::Relaxed)
    {
        match receiver.recv_timeout(left) {
            Ok(model @ WorkerMessage::Model { .. }) => models.push(model),
            Ok(_) => {}
            Err(_) => break,
        }
    }
    models.into_iter().for_each(|model| _ = messages.send(model));
}
