//! Keeps the model busy, and brings what it made into the stores.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use super::dispatch::{BATCH, Dispatcher, EmbedOutcome, Embedded, IN_FLIGHT};
use super::retry::{Released, Retry};
use super::shared::ModelStatus;
use super::worker::{Worker, WorkerMessage};
use crate::allocator;
use crate::engine::{ContentHash, EngineError};
use crate::models::{Embedder, ModelError, ModelErrorKind};

/// Numbers the models.
static MODELS: AtomicU64 = AtomicU64::new(1);

/// Minimum number of texts of an import, after which memory is given back.
const BULK: usize = 500;

/// While many texts are being embedded, a state is published so often.
pub(super) const PUBLISH_EVERY: Duration = Duration::from_millis(250);

impl Worker<'_> {
    pub(super) fn use_model(&mut self, embedder: Arc<dyn Embedder>) -> Result<(), EngineError> {
        // Searches ask it from now on, and find by words until its vectors are there.
        self.shared.set_embedder(Some(Arc::clone(&embedder)));
        let before = self.embedder.replace(Arc::clone(&embedder));
        before.filter(|before| !Arc::ptr_eq(before, &embedder)).iter().for_each(|before| before.stop());
        // What the one before has made still, vectors or a graph, is not this one's.
        self.model = MODELS.fetch_add(1, Ordering::Relaxed);
        self.dispatcher = None;
        self.retry = Retry::default();
        self.trouble = None;
        // All that it has no vectors of is in its queue.
        self.failed.clear();
        if let Some((_, stop)) = &self.builder {
            stop.store(true, Ordering::Relaxed);
        }
        self.store.use_model(embedder.as_ref())?;
        self.say_notices();
        let messages = self.messages.clone();
        self.dispatcher = Some(Dispatcher::start(self.model, Arc::clone(&embedder), move |embedded| {
            let _ = messages.send(WorkerMessage::Embedded(embedded));
        }));
        self.publish()?;
        // Before it is ready: nobody is to think for a moment that nothing waits for it.
        let pending_embeddings = self.store.pending();
        self.shared.update(|progress| progress.pending_embeddings = pending_embeddings);
        self.show_model(None);
        Ok(())
    }

    /// Shows that the model is in use, and its trouble, if it has some.
    fn show_model(&self, trouble: Option<String>) {
        let Some(embedder) = &self.embedder else { return };
        let model = ModelStatus::Ready {
            name: embedder.name().to_owned(),
            dimension: embedder.dimension(),
            takes_private: embedder.takes_private(),
            trouble,
        };
        self.shared.update(|progress| progress.model = model);
    }

    /// Keeps the embedder busy, publishes what it has done, and has a graph built when one is due.
    pub(super) fn embed(&mut self) -> Result<(), EngineError> {
        if let Some(dispatcher) = &mut self.dispatcher {
            while dispatcher.in_flight < self.retry.in_flight(IN_FLIGHT) && self.retry.may_send(Instant::now()) {
                let mut pending = self.store.take_pending(dispatcher.batch)?;
                if pending.is_empty() && dispatcher.in_flight == 0 {
                    self.store.requeue(&self.retry.take_held());
                    pending = self.store.take_pending(1)?;
                }
                if pending.is_empty() {
                    break;
                }
                dispatcher.send(pending);
            }
            let idle = dispatcher.in_flight == 0;
            self.bulk |= self.store.pending() > BULK;
            if self.unpublished > 0
                && (idle || self.store.pending() < BATCH || self.published.elapsed() >= PUBLISH_EVERY)
            {
                self.publish()?;
            }
            if idle {
                if std::mem::take(&mut self.bulk) {
                    allocator::release();
                }
                self.check_if_many_unused();
                self.build();
            }
        }
        Ok(())
    }

    pub(super) fn keep(&mut self, embedded: Embedded) -> Result<(), EngineError> {
        if embedded.model != self.model {
            return Ok(());
        }
        let EmbedOutcome { vectors, mut failed, later } = embedded.outcome;
        if let Some(dispatcher) = &mut self.dispatcher {
            match &later {
                Some((contents, _)) => dispatcher.failed(contents.len()),
                None => dispatcher.ended(embedded.took),
            }
        }
        let count = vectors.len();
        let done: Vec<ContentHash> = vectors.iter().map(|(content, _)| *content).collect();
        self.store.embedded(vectors)?;
        self.unpublished += count;
        self.shared.update(|progress| progress.embeddings_done += count);
        if count > 0 || !failed.is_empty() {
            let Released { again, given_up } = self.retry.answered(&done);
            self.store.requeue(&again);
            if later.is_none() {
                self.say_that_it_works();
            }
            failed.extend(given_up.into_iter().map(|content| (content, ModelError::GivenUp)));
        }
        if let Some((content, error)) = failed.first() {
            let texts = if failed.len() == 1 { "text" } else { "texts" };
            tracing::warn!("{} {texts} could not be embedded, {content} for one: {error}", failed.len());
            self.shared.update(|progress| progress.failure = Some(error.to_string()));
            // An endpoint that refuses a text refuses it again, and each time it is paid for: until another text or model is there, or a
            // start, it is not asked. What failed here, or passes, may not fail again.
            let may_pass = failed.into_iter().filter(|(_, error)| !matches!(error, ModelError::Endpoint { .. }));
            self.failed.extend(may_pass.map(|(content, _)| content));
        }
        if let Some((contents, error)) = later {
            self.try_later(&contents, &error, embedded.sent);
        }
        Ok(())
    }

    /// Has texts wait that were not embedded for a reason that may pass, or for one that somebody has to see to.
    fn try_later(&mut self, contents: &[ContentHash], error: &ModelError, sent: Instant) {
        match contents {
            [alone] => self.retry.hold(*alone),
            several => self.store.requeue(several),
        }
        // What was under way when it refused has nothing to add.
        if self.retry.has_ended() {
            return;
        }
        if error.kind() == ModelErrorKind::Refused {
            tracing::warn!("search is by keyword alone: {error}");
            self.retry.end();
            self.shared.update(|progress| progress.model = ModelStatus::refused(&error.to_string()));
            return;
        }
        self.retry.failed(sent, Instant::now(), error.retry_after());
        let trouble = error.to_string();
        if self.trouble.as_ref() != Some(&trouble) {
            tracing::warn!("embedding waits and is tried again: {trouble}");
            self.trouble = Some(trouble.clone());
        }
        self.show_model(Some(trouble));
    }

    fn say_that_it_works(&mut self) {
        if self.trouble.take().is_some() {
            self.show_model(None);
        }
    }

    /// Has built on a thread of its own what would hold the writer up.
    fn build(&mut self) {
        if self.builder.is_some() {
            return;
        }
        let Some(build) = self.store.to_build() else { return };
        let (messages, model) = (self.messages.clone(), self.model);
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let thread = std::thread::spawn(move || {
            let _ = messages.send(WorkerMessage::Built { model, built: build(&stopped) });
        });
        self.builder = Some((thread, stop));
    }
}
