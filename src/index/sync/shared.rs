//! What the writer thread shows to everyone else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use super::fresh::Freshness;
use crate::base::tasks::TaskSignal;
use crate::index::engine::Reader;
use crate::models::{ChosenModel, Embedder, ModelError, ModelTrouble};

/// Maximum length of the list of what was mended, in bytes; then the last is said alone.
const MAX_SAID_BYTES: usize = 500;

/// What the writer is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Opening the stores.
    #[default]
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
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum ModelStatus {
    /// The configuration names none.
    #[default]
    Off,
    /// It is being loaded.
    Loading,
    /// It works.
    Ready {
        /// Its name.
        name: String,
        /// The length of its vectors.
        dimension: usize,
        /// The instructions that it computes with, where it does so here.
        instructions: Option<&'static str>,
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
        Self::Failed(format!("{problem}; correct this, and restart"))
    }
}

/// A model that makes its vectors beside the one that serves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NextModel {
    /// The model.
    pub model: ModelStatus,
    /// Chunks that have their vector.
    pub embedded: usize,
    /// Chunks that are to have one.
    pub of: usize,
}

/// How changes are noticed. Times are RFC 3339.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Watching {
    /// `events`, `events and polling`, `polling`, or `not yet`.
    pub by: String,
    /// Why it polls, and what to do about it.
    pub reason: Option<String>,
    /// Since when the vault's folder is missing, if so; answers use the last known state.
    pub missing_since: Option<String>,
    /// How often events were lost since the start; each time everything was compared.
    pub losses: usize,
    /// When they were last lost.
    pub lost_at: Option<String>,
    /// When the index had caught up after that; absent until then.
    pub recovered_at: Option<String>,
    /// Seconds between two timed comparisons of the whole vault with the index.
    pub reconcile_seconds: u64,
    /// When the whole vault was last compared with the index, for whatever reason.
    pub compared_at: Option<String>,
}

/// The result of a check of the whole index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Verification {
    /// When it ended, as RFC 3339.
    pub at: String,
    /// Duration in milliseconds; in the background it runs slowly.
    pub took_ms: u64,
    /// Notes compared with their checksums.
    pub files: usize,
    /// Passages likewise.
    pub chunks: usize,
    /// Embeddings likewise.
    pub embeddings: usize,
    /// Damaged parts, which are being repaired; empty if there are none.
    pub damage: Vec<String>,
}

/// How far the index is.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SyncProgress {
    /// What the writer is doing.
    pub phase: Phase,
    /// Files that wait to be read.
    pub pending_files: usize,
    /// Files read since the start.
    pub files_done: usize,
    /// Texts that wait to be embedded by the model that serves.
    pub pending_embeddings: usize,
    /// Texts embedded since the start.
    pub embeddings_done: usize,
    /// The model.
    pub model: ModelStatus,
    /// The one that is to serve once its vectors are there.
    pub next: Option<NextModel>,
    /// Vectors that are kept of models which are not in use.
    pub kept_vectors: usize,
    /// How changes are noticed.
    pub watch: Watching,
    /// What went wrong last and still stands.
    pub failure: Option<String>,
    /// What was damaged or stale since the start and is made anew, if anything was.
    pub rebuilt: Option<String>,
    /// Whether that is still under way, so that not everything may be found.
    pub mending: bool,
    /// What the last check of the stores came to.
    pub verified: Option<Verification>,
    /// Facts whose time is over.
    pub expired_facts: usize,
    /// Whether all files known at the start have been compared with the index.
    pub caught_up: bool,
}

impl SyncProgress {
    /// Whether nothing is left to mend, to read or to embed, as far as the model allows that serves.
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

/// The models at work, whatever becomes of the stores meanwhile.
#[derive(Clone, Default)]
pub(super) struct ModelsAtWork {
    /// The one whose vectors serve.
    pub(super) serving: Option<ChosenModel>,
    /// The one that makes its vectors beside it.
    pub(super) next: Option<ChosenModel>,
}

impl ModelsAtWork {
    fn embedders(&self) -> impl Iterator<Item = &Arc<dyn Embedder>> {
        self.serving.iter().chain(&self.next).map(|model| &model.embedder)
    }
}

/// The published snapshot, the model and the progress.
#[derive(Default)]
pub struct Shared {
    snapshot: RwLock<Option<Arc<dyn Reader>>>,
    models: RwLock<ModelsAtWork>,
    /// The model that is being loaded, or why it could not be.
    coming: Mutex<Option<ModelStatus>>,
    progress: Mutex<SyncProgress>,
    changed: Condvar,
    /// How many models were asked for.
    asked: AtomicU64,
    fresh: Freshness,
    /// When somebody searched last.
    searched: Mutex<Option<Instant>>,
    /// The tasks that are due when there is another snapshot, or all files are in it.
    tasks: Mutex<Vec<TaskSignal>>,
}

impl Shared {
    /// The index as published last; `None` until the stores are open.
    pub fn snapshot(&self) -> Option<Arc<dyn Reader>> {
        self.snapshot.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model, once it is loaded.
    pub fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.models_at_work().serving.map(|model| model.embedder)
    }

    /// The model that made the vectors of a state of the index; where it has none, the one that is to make them.
    pub fn embedder_of(&self, reader: &dyn Reader) -> Option<Arc<dyn Embedder>> {
        let models = self.models.read().unwrap_or_else(PoisonError::into_inner);
        let made = |embedder: &&Arc<dyn Embedder>| reader.model().is_none_or(|model| embedder.fingerprint() == model);
        let serving = || models.serving.as_ref().map(|model| &model.embedder);
        models.embedders().find(made).or_else(serving).cloned()
    }

    /// All models that are at work.
    pub(super) fn models_at_work(&self) -> ModelsAtWork {
        self.models.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Has all models stop.
    pub(super) fn stop_models(&self) {
        self.models_at_work().embedders().for_each(|embedder| embedder.stop());
    }

    /// The model that is being loaded, or why it could not be; `None` once it is at work.
    pub(super) fn coming(&self) -> Option<ModelStatus> {
        self.coming.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Says how the model is that was asked for.
    pub(super) fn set_coming(&self, coming: Option<ModelStatus>) {
        *self.coming.lock().unwrap_or_else(PoisonError::into_inner) = coming;
    }

    /// How far the index is, the model with what searches have met where no text waits for it. All at one moment: a model that is ready
    /// beside a count of before would say that nothing waits for it.
    pub(crate) fn progress_as_met(&self) -> SyncProgress {
        let met = self.embedder().and_then(|embedder| embedder.trouble());
        let mut progress = self.progress();
        if let ModelStatus::Ready { trouble, .. } = &mut progress.model {
            match met {
                Some(ModelTrouble::Refused(problem)) => progress.model = ModelStatus::refused(&problem),
                Some(ModelTrouble::Passing(problem)) => _ = trouble.get_or_insert(problem),
                None => {}
            }
        }
        progress
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
        self.wake_tasks();
        // Closing the last snapshot of a state may take a moment, and readers should not wait for it.
        drop(before);
    }

    /// Says how many facts are past their time.
    pub(crate) fn show_expired_facts(&self, expired: usize) {
        self.update(|progress| progress.expired_facts = expired);
    }

    /// From now on wakes a task when another snapshot is published, or all files are in it.
    pub(crate) fn wakes(&self, task: &TaskSignal) {
        self.tasks().push(task.clone());
    }

    fn wake_tasks(&self) {
        self.tasks().iter().for_each(TaskSignal::wake);
    }

    fn tasks(&self) -> MutexGuard<'_, Vec<TaskSignal>> {
        self.tasks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until another snapshot than this one is published, or the time is over.
    pub fn wait_for_other(&self, known: Option<&Arc<dyn Reader>>, timeout: Duration) {
        let is_other = || match (self.snapshot(), known) {
            (Some(now), Some(known)) => !Arc::ptr_eq(&now, known),
            (now, known) => now.is_some() != known.is_some(),
        };
        self.wait(timeout, |_| is_other());
    }

    /// Somebody searches.
    pub(crate) fn note_search(&self) {
        *self.searched.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
    }

    /// Whether somebody has searched within so long.
    pub(crate) fn was_searched_within(&self, time: Duration) -> bool {
        self.searched.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|last| last.elapsed() < time)
    }

    /// What has been saved, and how much of it can be found.
    pub(crate) fn fresh(&self) -> &Freshness {
        &self.fresh
    }

    /// Takes back the published state, so that the stores can be closed.
    pub(super) fn retire(&self) {
        self.snapshot.write().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Publishes the models.
    pub(super) fn set_models(&self, models: ModelsAtWork) {
        let before = std::mem::replace(&mut *self.models.write().unwrap_or_else(PoisonError::into_inner), models);
        // Their threads are waited for, and no search is to wait for that.
        drop(before);
    }

    /// Shows why a model is not there, or does not take the place of the one that `stays`. It is said once in the log, however often it is
    /// tried.
    pub(super) fn show_unloaded(&self, error: &ModelError, stays: bool) {
        let failed = ModelStatus::Failed(error.to_string());
        let is_known = if stays { self.coming().as_ref() == Some(&failed) } else { self.lock().model == failed };
        self.set_coming(Some(failed.clone()));
        match stays {
            _ if is_known => {}
            true => tracing::warn!("the model stays as it was: {error}"),
            false => {
                tracing::warn!("search is by keyword alone: {error}");
                self.update(|progress| progress.model = failed);
            }
        }
    }

    /// Takes note that another model, or none, was asked for; gives the number of it. Whatever was before is not waited for any more.
    pub(super) fn ask_model(&self, coming: Option<ModelStatus>) -> u64 {
        self.set_coming(coming);
        self.asked.fetch_add(1, Ordering::SeqCst) + 1
    }

    /// Whether no other model was asked for since: one that took long to load is not to replace another.
    pub(super) fn is_newest_model(&self, asked: u64) -> bool {
        self.asked.load(Ordering::SeqCst) == asked
    }

    pub(super) fn update(&self, change: impl FnOnce(&mut SyncProgress)) {
        let mut progress = self.lock();
        let was_read = progress.caught_up;
        change(&mut progress);
        self.changed.notify_all();
        if progress.caught_up != was_read {
            self.wake_tasks();
        }
    }

    /// Says what was found wrong and is made anew: once in the log, and in the progress.
    pub(super) fn say_mended(&self, what: &str) {
        tracing::warn!("{what}");
        self.update(|progress| {
            progress.mending = true;
            match &mut progress.rebuilt {
                // Opening and a check of the same moment may both have found it.
                Some(said) if said.contains(what) => {}
                Some(said) if said.len() < MAX_SAID_BYTES => said.push_str(&format!("; {what}")),
                said => *said = Some(what.to_owned()),
            }
        });
    }

    fn lock(&self) -> MutexGuard<'_, SyncProgress> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
