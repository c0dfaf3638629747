//! One model at work: the texts that it is at, and how it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use super::batch::Batches;
use super::dispatch::{Dispatcher, Embedded, IN_FLIGHT};
use super::retry::Retry;
use super::shared::ModelStatus;
use crate::index::engine::{ContentHash, EngineError, Writer};
use crate::models::{ChosenModel, Embedder, Fingerprint};

/// Numbers the models.
static MODELS: AtomicU64 = AtomicU64::new(1);

/// A model that fills its set of vectors.
pub(super) struct ModelLane {
    pub(super) model: ChosenModel,
    /// No two that were ever at work have the same.
    pub(super) number: u64,
    pub(super) dispatcher: Dispatcher,
    /// The bulk of its texts, where it takes that in batches.
    pub(super) batches: Option<Batches>,
    /// Texts that it failed on, and may not another time; tried again at the next scan.
    pub(super) failed: Vec<ContentHash>,
    /// When it is asked again after it failed.
    pub(super) retry: Retry,
    /// Why it is not asked now, as it was said last.
    pub(super) trouble: Option<String>,
    /// Why it is not asked any more.
    pub(super) refused: Option<String>,
    /// Whether it has been given all that waits for it, and has answered.
    pub(super) is_done: bool,
    /// Whether it is written that its vectors serve.
    pub(super) is_written: bool,
}

impl ModelLane {
    /// `report` is called with each request's end. `batches` makes what hands over many at once, for the model's number.
    pub(super) fn start(
        model: ChosenModel,
        report: impl Fn(Embedded) + Send + Clone + 'static,
        batches: impl FnOnce(&ChosenModel, u64) -> Option<Batches>,
    ) -> Self {
        // What another has made still is not this one's.
        let number = MODELS.fetch_add(1, Ordering::Relaxed);
        let batches = batches(&model, number);
        let dispatcher = Dispatcher::start(number, Arc::clone(&model.embedder), report);
        Self {
            model,
            number,
            dispatcher,
            batches,
            failed: Vec::new(),
            retry: Retry::default(),
            trouble: None,
            refused: None,
            is_done: false,
            is_written: false,
        }
    }

    pub(super) fn embedder(&self) -> &Arc<dyn Embedder> {
        &self.model.embedder
    }

    pub(super) fn fingerprint(&self) -> &Fingerprint {
        self.model.embedder.fingerprint()
    }

    /// Whether it is at its texts, and nothing keeps it from them; a batch may take it a day.
    pub(super) fn gets_on(&self) -> bool {
        let in_batches = self.batches.as_ref().is_some_and(|batches| !batches.is_empty());
        !self.is_done && !in_batches && self.refused.is_none() && self.trouble.is_none()
    }

    /// How it is, as it is shown.
    pub(super) fn status(&self) -> ModelStatus {
        if let Some(refused) = &self.refused {
            return ModelStatus::refused(refused);
        }
        let embedder = self.embedder();
        ModelStatus::Ready {
            name: embedder.name().to_owned(),
            dimension: embedder.dimension(),
            instructions: embedder.instructions(),
            takes_private: embedder.takes_private(),
            trouble: self.trouble.clone(),
        }
    }

    /// Keeps the model busy with what waits for it.
    pub(super) fn feed(&mut self, store: &mut dyn Writer) -> Result<(), EngineError> {
        let model = self.model.embedder.fingerprint();
        self.is_done = false;
        let may_send = self.retry.may_send(Instant::now());
        if let Some(batches) = &mut self.batches {
            batches.feed(store, model, may_send)?;
        }
        let in_batches = self.batches.as_ref().is_some_and(|batches| !batches.is_empty());
        while self.dispatcher.in_flight < self.retry.in_flight(IN_FLIGHT) && self.retry.may_send(Instant::now()) {
            let mut pending = store.take_pending(model, self.dispatcher.batch)?;
            if pending.is_empty() && self.dispatcher.in_flight == 0 {
                store.requeue(model, &self.retry.take_held());
                pending = store.take_pending(model, 1)?;
            }
            if pending.is_empty() {
                self.is_done = self.dispatcher.in_flight == 0 && !in_batches;
                break;
            }
            self.dispatcher.send(pending);
        }
        Ok(())
    }

    /// Texts that wait for a request.
    pub(super) fn waiting(&self, store: &dyn Writer) -> usize {
        store.pending(self.fingerprint()).saturating_sub(store.aside(self.fingerprint()))
    }

    /// Whether some of its texts are being handed over as a batch.
    pub(super) fn hands_over(&self) -> bool {
        self.batches.as_ref().is_some_and(Batches::hands_over)
    }

    /// Has the texts wait again that it failed on.
    pub(super) fn try_failed(&mut self, store: &mut dyn Writer) {
        store.requeue(self.model.embedder.fingerprint(), &std::mem::take(&mut self.failed));
    }
}
