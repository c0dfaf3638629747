//! How far the index is, as it changes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::engine::Reader;
use crate::request::Owner;
use crate::sync::{ModelStatus, Phase, Shared, SyncProgress};
use crate::wire::{Model, ProgressView};

/// Follows the progress. Holds neither the vault nor the index, so that the stores can be closed.
pub struct Following {
    shared: Arc<Shared>,
    last: Option<ProgressView>,
    seen: Option<SyncProgress>,
}

/// Interval at which the index's state is looked at while the progress stays as it is.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Follows the progress from now on.
pub fn follow(owner: &Owner) -> Following {
    Following { shared: Arc::clone(owner.workspace().shared()), last: None, seen: None }
}

impl Following {
    /// The next state that differs from the last, at once the first time; `None` when there is none within `patience`.
    pub fn next(&mut self, patience: Duration) -> Option<ProgressView> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let seen = self.seen.take();
            let progress = self.shared.wait(left.min(CHECK_INTERVAL), |progress| seen.as_ref() != Some(progress));
            let view = view(&progress, self.shared.snapshot().as_deref());
            self.seen = Some(progress);
            if self.last.as_ref() != Some(&view) {
                self.last = Some(view.clone());
                return Some(view);
            }
            if left.is_zero() {
                return None;
            }
        }
    }

    /// Whether nothing will come any more.
    pub fn is_over(&self) -> bool {
        self.seen.as_ref().is_some_and(|progress| progress.phase == Phase::Stopped)
    }
}

fn view(progress: &SyncProgress, snapshot: Option<&dyn Reader>) -> ProgressView {
    let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
    ProgressView {
        phase: phase(progress.phase).into(),
        caught_up: progress.caught_up,
        seq: snapshot.map_or(0, Reader::generation),
        files: snapshot.map_or(0, |snapshot| snapshot.files().len()),
        embeddable,
        embedded,
        expired_facts: progress.expired_facts,
        pending_files: progress.pending_files,
        files_done: progress.files_done,
        pending_embeddings: to_embed(progress, snapshot),
        embeddings_done: progress.embeddings_done,
        model: Model::with_others(progress.model.clone(), progress.next.clone(), progress.kept_vectors),
        failure: progress.failure.clone(),
    }
}

/// How many chunks wait to be embedded, by the model that serves or by the next one, which makes another set of vectors beside its. The model
/// is handed each text once, however many chunks have it, so its own count is another, and tells when nothing waits.
pub(crate) fn to_embed(progress: &SyncProgress, snapshot: Option<&dyn Reader>) -> usize {
    let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
    let without = embeddable.saturating_sub(embedded);
    let serving = match progress.model {
        ModelStatus::Loading => without,
        ModelStatus::Ready { .. } if progress.pending_embeddings > 0 => without.max(progress.pending_embeddings),
        ModelStatus::Ready { .. } | ModelStatus::Off | ModelStatus::Failed(_) => 0,
    };
    let next = progress.next.as_ref().filter(|next| matches!(next.model, ModelStatus::Ready { .. }));
    serving.max(next.map_or(0, |next| next.of.saturating_sub(next.embedded)))
}

/// A phase of the indexer in a word.
pub(crate) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Indexing => "indexing",
        Phase::Embedding => "embedding",
        Phase::Idle => "idle",
        Phase::Failing => "failing",
        Phase::Stopped => "stopped",
    }
}
