//! How far the index is, as it changes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::Serialize;
use utoipa::ToSchema;

use super::start::Service;
use super::status::{phase, to_embed};
use super::views::Model;
use crate::engine::Reader;
use crate::sync::{ModelStatus, Phase, Progress, Shared};

/// How far the index is: what changes of the status while it works.
#[derive(Debug, Clone, PartialEq, Serialize, ToSchema)]
pub struct ProgressView {
    /// `starting`, `indexing`, `embedding`, `idle`, `failing` or `stopped`.
    pub phase: String,
    /// Whether every note has been compared with the index since the start.
    pub caught_up: bool,
    /// The number of the index's state: another one may answer otherwise.
    pub seq: u64,
    /// Indexed notes.
    pub files: usize,
    /// Passages that have something to embed.
    pub embeddable: usize,
    /// Embedded passages.
    pub embedded: usize,
    /// Notes that wait to be read.
    pub pending_files: usize,
    /// Notes read since the start.
    pub files_done: usize,
    /// Passages that wait to be embedded.
    pub pending_embeddings: usize,
    /// Texts embedded since the start.
    pub embeddings_done: usize,
    /// The embedding model.
    pub model: Model,
    /// What is wrong now, when something is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// Follows the progress. Holds neither the service nor the index, so that the stores can be closed.
pub struct Following {
    shared: Arc<Shared>,
    last: Option<ProgressView>,
    seen: Option<Progress>,
}

/// The index's state is looked at so often where the progress stays as it is.
const LOOK_EVERY: Duration = Duration::from_secs(1);

impl Service {
    /// Follows the progress from now on. For the owner alone.
    pub fn follow(&self) -> Following {
        Following { shared: Arc::clone(&self.shared), last: None, seen: None }
    }
}

impl Following {
    /// The next state that differs from the last, at once the first time; `None` when there is none within `patience`.
    pub fn next(&mut self, patience: Duration) -> Option<ProgressView> {
        let deadline = Instant::now() + patience;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let seen = self.seen.take();
            let progress = self.shared.wait(left.min(LOOK_EVERY), |progress| seen.as_ref() != Some(progress));
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

fn view(progress: &Progress, snapshot: Option<&dyn Reader>) -> ProgressView {
    let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
    ProgressView {
        phase: phase(progress.phase).into(),
        caught_up: progress.caught_up,
        seq: snapshot.map_or(0, Reader::generation),
        files: snapshot.map_or(0, |snapshot| snapshot.files().len()),
        embeddable,
        embedded,
        pending_files: progress.pending_files,
        files_done: progress.files_done,
        pending_embeddings: to_embed(progress, snapshot),
        embeddings_done: progress.embeddings_done,
        model: Model::of(progress.model.clone()),
        failure: progress.failure.clone(),
    }
}

impl Model {
    pub(super) fn of(model: ModelStatus) -> Self {
        let (state, detail, dimension) = match model {
            ModelStatus::Off => ("off", None, None),
            ModelStatus::Loading => ("loading", None, None),
            ModelStatus::Ready { name, dimension } => ("ready", Some(name), Some(dimension)),
            ModelStatus::Failed(reason) => ("failed", Some(reason), None),
        };
        Self { state: state.into(), detail, dimension }
    }
}
