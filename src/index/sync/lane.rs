//! One model at work: the texts that it is at, handed over without making the writer wait, and how it fails.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::batch::{BatchRecords, Batches};
use super::retry::Retry;
use super::shared::ModelStatus;
use super::worker::WorkerMessage;
use crate::index::engine::{ContentHash, EngineError, PendingText, Writer};
use crate::models::{ChosenModel, Document, EmbeddedText, Embedder, Fingerprint, ModelError, ModelErrorKind};

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
    /// Starts a model, whose answers are told. `records` are those of batches, where its service may take texts so.
    pub(super) fn start(model: ChosenModel, messages: &Sender<WorkerMessage>, records: &BatchRecords) -> Self {
        // What another has made still is not this one's.
        let number = MODELS.fetch_add(1, Ordering::Relaxed);
        let batches = model.embedder.batches();
        let batches = batches.map(|client| Batches::start(client, records.clone(), number, messages.clone()));
        let dispatcher = Dispatcher::new(number, &model.embedder, messages);
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
        !self.is_done && !self.has_batches() && self.refused.is_none() && self.trouble.is_none()
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
        if let Some(batches) = self.batches.as_mut().filter(|_| self.retry.may_send(Instant::now())) {
            batches.feed(store, model)?;
        }
        if self.batches.as_ref().is_some_and(|batches| batches.keeps_bulk(store, model)) {
            return Ok(());
        }
        while self.dispatcher.in_flight < self.retry.in_flight(IN_FLIGHT) && self.retry.may_send(Instant::now()) {
            let mut pending = store.take_pending(model, self.dispatcher.batch)?;
            if pending.is_empty() && self.dispatcher.in_flight == 0 {
                store.requeue(model, &self.retry.take_held());
                pending = store.take_pending(model, 1)?;
            }
            if pending.is_empty() {
                self.is_done = self.dispatcher.in_flight == 0 && !self.has_batches();
                break;
            }
            // After a start those wait, too, that were handed over before it.
            pending.retain(|text| !self.batches.as_ref().is_some_and(|batches| batches.has(&text.content)));
            if !pending.is_empty() {
                self.dispatcher.send(pending);
            }
        }
        Ok(())
    }

    /// Texts that wait for a request.
    pub(super) fn waiting(&self, store: &dyn Writer) -> usize {
        store.pending(self.fingerprint()).saturating_sub(self.in_batches(store))
    }

    /// Texts that wait in batches.
    pub(super) fn in_batches(&self, store: &dyn Writer) -> usize {
        self.batches.as_ref().map_or(0, |batches| batches.waiting(store, self.fingerprint()))
    }

    fn has_batches(&self) -> bool {
        self.batches.as_ref().is_some_and(Batches::is_any_under_way)
    }

    /// Has the texts wait again that it failed on.
    pub(super) fn try_failed(&mut self, store: &mut dyn Writer) {
        store.requeue(self.model.embedder.fingerprint(), &std::mem::take(&mut self.failed));
    }
}

/// Default maximum number of texts of one request, where the model does not say.
pub(super) const BATCH: usize = 24;
/// Minimum number of them: smaller requests cost more in the stores than they gain.
const SMALLEST_BATCH: usize = 4;

/// Target time of a request, however slow the machine is: a note just saved waits for it behind a bulk import.
const WAIT_GOAL: Duration = Duration::from_millis(500);

/// Maximum number of requests under way: one more than is being worked on, so that the model never waits for the writer.
pub(super) const IN_FLIGHT: usize = 3;

/// What became of one request. A request that was stopped has nothing.
pub(super) struct Embedded {
    /// The number of the model that was asked: another may have taken its place since.
    pub model: u64,
    /// When it was sent.
    pub sent: Instant,
    /// How long it took from then.
    pub took: Duration,
    /// What came of its texts.
    pub outcome: EmbedOutcome,
}

/// What came of the texts of a request.
#[derive(Default)]
pub(super) struct EmbedOutcome {
    /// The texts with what was made of them.
    pub embeddings: Vec<(ContentHash, EmbeddedText)>,
    /// The texts that the model fails on, and how.
    pub failed: Vec<(ContentHash, ModelError)>,
    /// The texts that are to be tried again, and why.
    pub later: Option<(Vec<ContentHash>, ModelError)>,
}

/// Has an embedder work on requests.
pub(super) struct Dispatcher {
    /// The number of the model, which is told with what it made.
    model: u64,
    embedder: Arc<dyn Embedder>,
    messages: Sender<WorkerMessage>,
    /// One for each request under way.
    threads: Vec<JoinHandle<()>>,
    pub(super) in_flight: usize,
    /// Texts of the next request at most.
    pub(super) batch: usize,
}

impl Dispatcher {
    fn new(model: u64, embedder: &Arc<dyn Embedder>, messages: &Sender<WorkerMessage>) -> Self {
        let batch = embedder.batch_size().unwrap_or(BATCH);
        let (embedder, messages) = (Arc::clone(embedder), messages.clone());
        Self { model, embedder, messages, threads: Vec::new(), in_flight: 0, batch }
    }

    /// Sends a request. Its end is reported, whatever it is.
    pub(super) fn send(&mut self, request: Vec<PendingText>) {
        let (model, embedder, messages) = (self.model, Arc::clone(&self.embedder), self.messages.clone());
        let sent = Instant::now();
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(std::thread::spawn(move || {
            let outcome = embed(embedder.as_ref(), request);
            let _ = messages.send(WorkerMessage::Embedded(Embedded { model, sent, took: sent.elapsed(), outcome }));
        }));
        self.in_flight += 1;
    }

    /// Takes note of a request's end.
    pub(super) fn ended(&mut self, took: Duration) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.batch = match self.embedder.batch_size() {
            // How long it takes is the way there and back, more than the texts.
            Some(wanted) => (self.batch * 2).min(wanted),
            None => next_batch(self.batch, took),
        };
    }

    /// Takes note of the end of a request of which so many texts are to be tried again: in smaller ones, as one of them may be why.
    pub(super) fn failed(&mut self, texts: usize) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.batch = (texts / 2).max(1);
    }
}

impl Drop for Dispatcher {
    /// Waits for the requests under way: the model is not stopped, for the next stores will want it.
    fn drop(&mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// How many texts the next request has, after one took so long.
fn next_batch(batch: usize, took: Duration) -> usize {
    match took {
        long if long > WAIT_GOAL => (batch / 2).max(SMALLEST_BATCH),
        short if short < WAIT_GOAL / 4 => (batch * 2).min(BATCH),
        _ => batch,
    }
}

/// Embeds a request; where the model cannot take one of its texts, they go one by one, so that it costs no other.
fn embed(embedder: &dyn Embedder, request: Vec<PendingText>) -> EmbedOutcome {
    let (contents, documents): (Vec<ContentHash>, Vec<Document>) =
        request.into_iter().map(|pending| (pending.content, pending.document)).unzip();
    let mut outcome = EmbedOutcome::default();
    match embedder.embed(&documents, None) {
        Ok(embeddings) => outcome.embeddings = contents.into_iter().zip(embeddings).collect(),
        Err(error) => match error.kind() {
            ModelErrorKind::Stopped => {}
            ModelErrorKind::Transient | ModelErrorKind::Refused => outcome.later = Some((contents, error)),
            ModelErrorKind::Permanent if contents.len() == 1 => outcome.failed.push((contents[0], error)),
            ModelErrorKind::Permanent => return one_by_one(embedder, contents, &documents),
        },
    }
    outcome
}

fn one_by_one(embedder: &dyn Embedder, contents: Vec<ContentHash>, documents: &[Document]) -> EmbedOutcome {
    let mut outcome = EmbedOutcome::default();
    for (at, content) in contents.iter().copied().enumerate() {
        match embedder.embed(&documents[at..=at], None) {
            Ok(embeddings) => outcome.embeddings.extend(embeddings.into_iter().next().map(|made| (content, made))),
            Err(error) => match error.kind() {
                ModelErrorKind::Stopped => break,
                ModelErrorKind::Permanent => outcome.failed.push((content, error)),
                ModelErrorKind::Transient | ModelErrorKind::Refused => {
                    outcome.later = Some((contents[at..].to_vec(), error));
                    break;
                }
            },
        }
    }
    outcome
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::models::{Fingerprint, HashEmbedder};

    /// Fails on texts that name a kind of failure.
    struct Picky(HashEmbedder);

    impl Embedder for Picky {
        fn fingerprint(&self) -> &Fingerprint {
            self.0.fingerprint()
        }

        fn name(&self) -> &str {
            "picky"
        }

        fn dimension(&self) -> usize {
            self.0.dimension()
        }

        fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError> {
            self.0.embed_query(text, deadline)
        }

        fn embed_documents(&self, documents: &[Document], at: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
            for document in documents {
                match document.text.as_str() {
                    "busy" => return Err(ModelError::TimedOut),
                    "bad" => return Err(ModelError::Panicked("bad".into())),
                    "stop" => return Err(ModelError::Stopped),
                    _ => {}
                }
            }
            self.0.embed_documents(documents, at)
        }
    }

    fn outcome(texts: &[&str]) -> [usize; 3] {
        let pending = |(at, text): (usize, &&str)| PendingText {
            content: ContentHash::from_bytes([at as u8; 16]),
            document: Document { context: String::new(), text: (*text).to_owned(), ..Document::default() },
        };
        let outcome = embed(&Picky(HashEmbedder::new(8)), texts.iter().enumerate().map(pending).collect());
        [outcome.embeddings.len(), outcome.failed.len(), outcome.later.map_or(0, |(texts, _)| texts.len())]
    }

    #[test]
    fn a_bad_text_costs_no_other_and_what_may_pass_is_tried_later() {
        assert_eq!(outcome(&["a", "b"]), [2, 0, 0]);
        assert_eq!(outcome(&["a", "bad", "b"]), [2, 1, 0]);
        assert_eq!(outcome(&["a", "busy", "b"]), [0, 0, 3], "not one by one: each would wait as long");
        assert_eq!(outcome(&["bad", "a", "busy", "b"]), [1, 1, 2]);
        assert_eq!(outcome(&["bad"]), [0, 1, 0]);
        assert_eq!(outcome(&["a", "stop"]), [0, 0, 0]);
    }

    #[test]
    fn requests_shrink_where_they_are_slow_and_grow_where_they_are_quick() {
        let after = |batch, millis| next_batch(batch, Duration::from_millis(millis));
        assert_eq!((after(24, 2000), after(12, 501), after(4, 9000)), (12, 6, SMALLEST_BATCH));
        assert_eq!((after(6, 100), after(24, 1), after(12, 300)), (12, BATCH, 12));
    }
}
