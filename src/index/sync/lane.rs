//! One model at work: the texts that it is at, handed over without making the writer wait, how it fails, and when it is asked again after
//! that.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::Sender;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

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
    messages: Sender<WorkerMessage>,
    /// One for each request under way.
    threads: Vec<JoinHandle<()>>,
    pub(super) in_flight: usize,
    /// Texts of the next request at most.
    request_texts: usize,
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
    /// Starts a model, whose answers are told.
    pub(super) fn start(model: ChosenModel, messages: &Sender<WorkerMessage>) -> Self {
        // What another has made still is not this one's.
        let number = MODELS.fetch_add(1, Ordering::Relaxed);
        Self {
            request_texts: model.embedder.batch_size().unwrap_or(BATCH),
            model,
            number,
            messages: messages.clone(),
            threads: Vec::new(),
            in_flight: 0,
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

    /// Whether it is at its texts, and nothing keeps it from them.
    pub(super) fn gets_on(&self) -> bool {
        !self.is_done && self.refused.is_none() && self.trouble.is_none()
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
        let model = &self.fingerprint().clone();
        self.is_done = false;
        if self.refused.is_some() {
            return Ok(());
        }
        while self.in_flight < self.retry.in_flight(IN_FLIGHT) && self.retry.may_send(Instant::now()) {
            let pending = store.take_pending(model, self.request_texts)?;
            if pending.is_empty() {
                self.is_done = self.in_flight == 0;
                break;
            }
            self.send(pending);
        }
        Ok(())
    }

    /// Sends a request. Its end is reported, whatever it is.
    fn send(&mut self, request: Vec<PendingText>) {
        let (model, embedder, messages) = (self.number, Arc::clone(self.embedder()), self.messages.clone());
        let sent = Instant::now();
        self.threads.retain(|thread| !thread.is_finished());
        self.threads.push(std::thread::spawn(move || {
            let outcome = embed(embedder.as_ref(), request);
            let took = sent.elapsed();
            let _ = messages.send(WorkerMessage::to_do(move |worker| worker.keep(model, took, outcome)));
        }));
        self.in_flight += 1;
    }

    /// Takes note of a request's end.
    pub(super) fn note_end(&mut self, outcome: &EmbedOutcome, took: Duration) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.request_texts = match (&outcome.later, self.embedder().batch_size()) {
            // In smaller ones, as one of them may be why.
            (Some((texts, _)), _) => (texts.len() / 2).max(1),
            // How long it takes is the way there and back, more than the texts.
            (None, Some(wanted)) => (self.request_texts * 2).min(wanted),
            (None, None) => next_batch(self.request_texts, took),
        };
    }
}

impl Drop for ModelLane {
    /// Waits for the requests under way: the model is not stopped, for the next stores will want it.
    fn drop(&mut self) {
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
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

/// What came of the texts of a request. One that was stopped has nothing.
#[derive(Default)]
pub(super) struct EmbedOutcome {
    /// The texts with what was made of them.
    pub embeddings: Vec<(ContentHash, EmbeddedText)>,
    /// The texts that the model fails on, and how.
    pub failed: Vec<(ContentHash, ModelError)>,
    /// The texts that are to be tried again, and why.
    pub later: Option<(Vec<ContentHash>, ModelError)>,
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
    let (mut at, mut step) = (0, contents.len());
    while at < contents.len() {
        match embedder.embed(&documents[at..at + step], None) {
            Ok(embeddings) => outcome.embeddings.extend(contents[at..].iter().copied().zip(embeddings)),
            Err(error) => match error.kind() {
                ModelErrorKind::Stopped => break,
                ModelErrorKind::Transient | ModelErrorKind::Refused => {
                    outcome.later = Some((contents[at..].to_vec(), error));
                    break;
                }
                ModelErrorKind::Permanent if step > 1 => {
                    step = 1;
                    continue;
                }
                ModelErrorKind::Permanent => outcome.failed.push((contents[at], error)),
            },
        }
        at += step;
    }
    outcome
}

/// The longest pause after failures in a row. A text that the service alone fails on keeps no other waiting for longer.
const LONGEST: Duration = Duration::from_secs(300);

/// The pause after so many failures in a row: a second, and then each twice as long.
pub(super) fn pause(failures: u32) -> Duration {
    Duration::from_secs(1 << failures.saturating_sub(1).min(16)).min(LONGEST)
}

/// Failures that may pass, of requests with texts. The time is passed in.
#[derive(Debug, Default)]
pub(super) struct Retry {
    /// In a row.
    failures: u32,
    /// Nothing is sent before.
    until: Option<Instant>,
}

impl Retry {
    /// Counts a request that failed; `asked` is the pause that the model asked for.
    pub(super) fn failed(&mut self, now: Instant, asked: Option<Duration>) {
        self.failures += 1;
        let pause = pause(self.failures).max(asked.unwrap_or_default());
        self.until = self.until.max(Some(now + pause));
    }

    /// The model has answered.
    pub(super) fn answered(&mut self) {
        *self = Self::default();
    }

    /// Whether a request may be sent.
    pub(super) fn may_send(&self, now: Instant) -> bool {
        self.until.is_none_or(|until| until <= now)
    }

    /// When one may be, where none may now.
    pub(super) fn due(&self, now: Instant) -> Option<Instant> {
        self.until.filter(|until| *until > now)
    }

    /// How many may be under way, of `usual`: one tries for all.
    pub(super) fn in_flight(&self, usual: usize) -> usize {
        if self.failures > 0 { 1 } else { usual }
    }
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

    #[test]
    fn pauses_are_1_2_4_seconds_and_so_on_up_to_five_minutes() {
        let seconds: Vec<u64> = (1..13).map(|failures| pause(failures).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
        assert_eq!(pause(u32::MAX), LONGEST);
    }

    #[test]
    fn after_a_failure_one_request_at_a_time_is_sent_until_it_is_answered() {
        let (mut retry, start) = (Retry::default(), Instant::now());
        let at = |millis| start + Duration::from_millis(millis);
        retry.failed(at(12), None);
        assert!(!retry.may_send(at(1000)) && retry.may_send(at(1013)));
        assert_eq!((retry.in_flight(3), retry.due(at(1000)), retry.due(at(1013))), (1, Some(at(1012)), None));
        retry.failed(at(1020), None);
        assert!(!retry.may_send(at(3019)) && retry.may_send(at(3020)));
        retry.failed(at(3020), Some(Duration::from_secs(100)));
        assert!(!retry.may_send(at(103_019)), "as long as it was asked for");
        retry.answered();
        assert!(retry.may_send(at(3021)) && retry.in_flight(3) == 3);
        assert!(retry.due(at(3021)).is_none());
    }
}
