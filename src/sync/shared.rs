//! What the writer thread shows to everyone else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::fresh::Freshness;
use crate::engine::Reader;
use crate::models::{Embedder, ModelError, ModelTrouble};
use crate::vault::WatchedBy;

/// What was mended is listed up to this length; then the last is said alone.
const MAX_SAID_BYTES: usize = 500;

/// What the writer is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Opening the stores.
    Starting,
    /// Reading files.
    Indexing,
    /// All words are found; texts are being embedded.
    Embedding,
    /// Everything is done.
    Idle,
    /// The stores refuse; the progress says why. It tries again by itself.
    Failing,
    /// Stopped.
    Stopped,
}

/// The state of the embedding model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelStatus {
    /// The configuration names none.
    Off,
    /// It is being loaded.
    Loading,
    /// It works.
    Ready {
        /// Its name.
        name: String,
        /// The length of its vectors.
        dimension: usize,
        /// Whether it is given private notes.
        takes_private: bool,
        /// Why texts wait for it, while it fails in a way that may pass.
        trouble: Option<String>,
    },
    /// It cannot be used, for the reason given: search is by keyword alone.
    Failed(String),
}

impl ModelStatus {
    /// It has refused for a reason that somebody has to see to.
    pub(super) fn refused(problem: &str) -> Self {
        Self::Failed(format!("{problem}; mend that, and start anew"))
    }
}

/// How changes are noticed, as `vault status` shows it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WatchState {
    /// By what; `None` until the watcher runs.
    pub by: Option<WatchedBy>,
    /// Since when the vault's folder is not there, while it is not.
    pub missing_since: Option<Timestamp>,
    /// How often events were lost since the start.
    pub losses: usize,
    /// When they were lost last.
    pub lost_at: Option<Timestamp>,
    /// When everything had been compared after that; `None` while it is not done.
    pub recovered_at: Option<Timestamp>,
    /// When the whole vault was last compared with the index.
    pub compared_at: Option<Timestamp>,
}

/// What a check of all stores came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verified {
    /// When it ended, in milliseconds since 1970.
    pub at_ms: i64,
    /// How long it took, in milliseconds; beside other work it takes its time.
    pub took_ms: u64,
    /// Notes, passages and embeddings that were compared with their checksums.
    pub counts: [usize; 3],
    /// What is damaged, as sentences.
    pub damage: Vec<String>,
}

/// How far the index is.
#[derive(Debug, Clone, PartialEq)]
pub struct SyncProgress {
    /// What the writer is doing.
    pub phase: Phase,
    /// Files that wait to be read.
    pub pending_files: usize,
    /// Files read since the start.
    pub files_done: usize,
    /// Texts that wait to be embedded.
    pub pending_embeddings: usize,
    /// Texts embedded since the start.
    pub embeddings_done: usize,
    /// The model.
    pub model: ModelStatus,
    /// How changes are noticed.
    pub watch: WatchState,
    /// What went wrong last and still stands.
    pub failure: Option<String>,
    /// What was damaged or stale since the start and is made anew, if anything was.
    pub rebuilt: Option<String>,
    /// Whether that is still under way, so that not everything may be found.
    pub mending: bool,
    /// What the last check of the stores came to.
    pub verified: Option<Verified>,
    /// Whether all files known at the start have been compared with the index.
    pub caught_up: bool,
}

impl SyncProgress {
    fn new() -> Self {
        Self {
            phase: Phase::Starting,
            pending_files: 0,
            files_done: 0,
            pending_embeddings: 0,
            embeddings_done: 0,
            model: ModelStatus::Off,
            watch: WatchState::default(),
            failure: None,
            rebuilt: None,
            mending: false,
            verified: None,
            caught_up: false,
        }
    }

    /// Whether nothing is left to mend, to read or to embed, as far as the model allows.
    pub fn is_complete(&self) -> bool {
        self.caught_up
            && !self.mending
            && self.pending_files == 0
            && match self.model {
                ModelStatus::Off | ModelStatus::Failed(_) => true,
                ModelStatus::Loading => false,
                ModelStatus::Ready { ref trouble, .. } => self.pending_embeddings == 0 || trouble.is_some(),
            }
    }
}

/// The published snapshot, the model and the progress.
pub struct Shared {
    snapshot: RwLock<Option<Arc<dyn Reader>>>,
    embedder: RwLock<Option<Arc<dyn Embedder>>>,
    progress: Mutex<SyncProgress>,
    changed: Condvar,
    /// When the model that came last was asked for.
    models: AtomicU64,
    fresh: Freshness,
}

impl Default for Shared {
    fn default() -> Self {
        Self {
            snapshot: RwLock::default(),
            embedder: RwLock::default(),
            progress: Mutex::new(SyncProgress::new()),
            changed: Condvar::new(),
            models: AtomicU64::new(0),
            fresh: Freshness::default(),
        }
    }
}

impl Shared {
    /// The index as published last; `None` until the stores are open.
    pub fn snapshot(&self) -> Option<Arc<dyn Reader>> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model, once it is loaded.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.embedder.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How the model is, with what searches have met where no text waits for it.
    pub(crate) fn model(&self) -> ModelStatus {
        let met = self.embedder().and_then(|embedder| embedder.trouble());
        let model = self.lock().model.clone();
        match (model, met) {
            (ModelStatus::Ready { .. }, Some(ModelTrouble::Refused(problem))) => ModelStatus::refused(&problem),
            (
                ModelStatus::Ready { name, dimension, takes_private, trouble: None },
                Some(ModelTrouble::Passing(problem)),
            ) => ModelStatus::Ready { name, dimension, takes_private, trouble: Some(problem) },
            (model, _) => model,
        }
    }

    /// How far the index is.
    pub fn progress(&self) -> SyncProgress {
        self.lock().clone()
    }

    /// Waits until the progress is as wanted, or the time is over; gives the progress then.
    pub fn wait(&self, timeout: Duration, until: impl Fn(&SyncProgress) -> bool) -> SyncProgress {
        let deadline = Instant::now() + timeout;
        let mut progress = self.lock();
        while !until(&progress) {
            let Some(left) = deadline.checked_duration_since(Instant::now()) else { break };
            progress = self.changed.wait_timeout(progress, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        progress.clone()
    }

    /// Publishes a state of the index.
    pub fn publish(&self, snapshot: Arc<dyn Reader>) {
        let before = self.snapshot.write().unwrap_or_else(PoisonError::into_inner).replace(snapshot);
        // Whoever waits looks at the snapshot with the lock in hand, so that this comes after that look, or is waited for.
        drop(self.lock());
        self.changed.notify_all();
        // Closing the last snapshot of a state may take a moment, and readers should not wait for it.
        drop(before);
    }

    /// Waits until another snapshot than this one is published, or the time is over.
    pub fn wait_for_other(&self, known: Option<&Arc<dyn Reader>>, timeout: Duration) {
        let is_other = || match (self.snapshot(), known) {
            (Some(now), Some(known)) => !Arc::ptr_eq(&now, known),
            (now, known) => now.is_some() != known.is_some(),
        };
        self.wait(timeout, |_| is_other());
    }

    /// What has been saved, and how much of it can be found.
    pub(crate) fn fresh(&self) -> &Freshness {
        &self.fresh
    }

    /// Takes back the published state, so that the stores can be closed.
    pub(super) fn retire(&self) {
        self.snapshot.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Publishes the model.
    pub fn set_embedder(&self, embedder: Option<Arc<dyn Embedder>>) {
        let before = std::mem::replace(&mut *self.embedder.write().unwrap_or_else(PoisonError::into_inner), embedder);
        // Its threads are waited for, and no search is to wait for that.
        drop(before);
    }

    /// Shows why there is no model. It is said once in the log, however often it is tried.
    pub(super) fn show_unloaded(&self, error: &ModelError) {
        let failed = ModelStatus::Failed(error.to_string());
        if self.lock().model != failed {
            tracing::warn!("search is by keyword alone: {error}");
            self.update(|progress| progress.model = failed);
        }
    }

    /// Whether a model was asked for later than all that came before it: one that took long to load is not to replace another.
    pub(super) fn is_newest_model(&self, asked: u64) -> bool {
        self.models.fetch_max(asked, Ordering::SeqCst) <= asked
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut SyncProgress)) {
        let mut progress = self.lock();
        change(&mut progress);
        self.changed.notify_all();
    }

    /// Says what was found wrong and is made anew: once in the log, and in the progress.
    pub(super) fn say_mended(&self, what: &str) {
        tracing::warn!("{what}");
        self.update(|progress| {
            progress.mending = true;
            match &mut progress.rebuilt {
                Some(said) if said.len() < MAX_SAID_BYTES => said.push_str(&format!("; {what}")),
                said => *said = Some(what.to_owned()),
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, SyncProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
