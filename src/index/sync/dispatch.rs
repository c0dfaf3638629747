//! Hands texts to the embedder without making the writer wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::index::engine::{ContentHash, PendingText};
use crate::models::{Document, EmbeddedText, Embedder, ModelError, ModelErrorKind};

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

/// Threads that wait for the embedder.
pub(super) struct Dispatcher {
    requests: Option<Sender<EmbedRequest>>,
    threads: Vec<JoinHandle<()>>,
    closing: Arc<AtomicBool>,
    pub(super) in_flight: usize,
    /// Texts of the next request at most.
    pub(super) batch: usize,
    /// As many as the model wants, where it says.
    wanted: Option<usize>,
}

/// Texts, and when they were sent.
type EmbedRequest = (Instant, Vec<PendingText>);

impl Dispatcher {
    /// `model` numbers the embedder. `report` is called on the dispatcher's threads with each request's end.
    pub(super) fn start(
        model: u64,
        embedder: Arc<dyn Embedder>,
        report: impl Fn(Embedded) + Send + Clone + 'static,
    ) -> Self {
        let wanted = embedder.batch_size();
        let (requests, receiver) = channel::<EmbedRequest>();
        let receiver = Arc::new(Mutex::new(receiver));
        let closing = Arc::new(AtomicBool::new(false));
        let threads = (0..IN_FLIGHT)
            .map(|_| {
                let (receiver, embedder, report) = (Arc::clone(&receiver), Arc::clone(&embedder), report.clone());
                let closing = Arc::clone(&closing);
                std::thread::spawn(move || {
                    while let Some((sent, texts)) = next(&receiver).filter(|_| !closing.load(Ordering::Relaxed)) {
                        let outcome = embed(embedder.as_ref(), texts);
                        report(Embedded { model, sent, took: sent.elapsed(), outcome });
                    }
                })
            })
            .collect();
        Self { requests: Some(requests), threads, closing, in_flight: 0, batch: wanted.unwrap_or(BATCH), wanted }
    }

    /// Sends a request. Its end is reported, whatever it is.
    pub(super) fn send(&mut self, request: Vec<PendingText>) {
        if let Some(requests) = &self.requests
            && requests.send((Instant::now(), request)).is_ok()
        {
            self.in_flight += 1;
        }
    }

    /// Takes note of a request's end.
    pub(super) fn ended(&mut self, took: Duration) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.batch = match self.wanted {
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
        self.requests = None;
        self.closing.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn next(receiver: &Mutex<Receiver<EmbedRequest>>) -> Option<EmbedRequest> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
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
