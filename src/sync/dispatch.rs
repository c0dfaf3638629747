//! Hands texts to the embedder without making the writer wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use half::f16;

use crate::engine::{ContentHash, PendingText};
use crate::models::{Document, Embedder, ModelError, ModelErrorKind};

/// Texts of one request at most.
pub(super) const BATCH: usize = 24;
/// At least: smaller requests cost more in the stores than they gain.
const SMALLEST_BATCH: usize = 4;

/// A request should be answered by then, however slow the machine is: so long a note just saved waits behind a bulk import.
const WAIT_GOAL: Duration = Duration::from_millis(500);

/// Requests under way: one more than is being worked on, so that the model never waits for the writer.
pub(super) const IN_FLIGHT: usize = 3;

/// What became of one request. A request that was stopped has neither.
#[derive(Default)]
pub(super) struct Embedded {
    /// The number of the model that was asked: another may have taken its place since.
    pub model: u64,
    /// The texts with their vectors.
    pub vectors: Vec<(ContentHash, Vec<f16>)>,
    /// The texts that the model fails on, and how.
    pub failed: Vec<(ContentHash, ModelError)>,
    /// How long it took from when it was sent.
    pub took: Duration,
}

/// Threads that wait for the embedder.
pub(super) struct Dispatcher {
    requests: Option<Sender<EmbedRequest>>,
    threads: Vec<JoinHandle<()>>,
    closing: Arc<AtomicBool>,
    pub(super) in_flight: usize,
    /// Texts of the next request at most.
    pub(super) batch: usize,
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
        let (requests, receiver) = channel::<EmbedRequest>();
        let receiver = Arc::new(Mutex::new(receiver));
        let closing = Arc::new(AtomicBool::new(false));
        let threads = (0..IN_FLIGHT)
            .map(|_| {
                let (receiver, embedder, report) = (Arc::clone(&receiver), Arc::clone(&embedder), report.clone());
                let closing = Arc::clone(&closing);
                std::thread::spawn(move || {
                    while let Some((sent, texts)) = next(&receiver).filter(|_| !closing.load(Ordering::Relaxed)) {
                        let embedded = embed(embedder.as_ref(), texts);
                        report(Embedded { model, took: sent.elapsed(), ..embedded });
                    }
                })
            })
            .collect();
        Self { requests: Some(requests), threads, closing, in_flight: 0, batch: BATCH }
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
        self.batch = next_batch(self.batch, took);
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

/// Embeds a request; where that fails, its texts one by one, so that one that the model cannot take costs no other.
fn embed(embedder: &dyn Embedder, request: Vec<PendingText>) -> Embedded {
    let (contents, documents): (Vec<ContentHash>, Vec<Document>) =
        request.into_iter().map(|pending| (pending.content, pending.document)).unzip();
    let mut embedded = Embedded::default();
    match embedder.embed_documents(&documents, None) {
        Ok(vectors) => {
            embedded.vectors = contents.into_iter().zip(vectors.iter().map(|vector| halved(vector))).collect()
        }
        Err(error) if error.kind() == ModelErrorKind::Stopped => {}
        Err(error) if contents.len() == 1 => embedded.failed.push((contents[0], error)),
        Err(_) => {
            for (content, document) in contents.into_iter().zip(&documents) {
                match embedder.embed_documents(std::slice::from_ref(document), None) {
                    Ok(vectors) => embedded.vectors.extend(vectors.first().map(|vector| (content, halved(vector)))),
                    Err(error) if error.kind() == ModelErrorKind::Stopped => break,
                    Err(error) => embedded.failed.push((content, error)),
                }
            }
        }
    }
    embedded
}

fn halved(vector: &[f32]) -> Vec<f16> {
    vector.iter().copied().map(f16::from_f32).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_shrink_where_they_are_slow_and_grow_where_they_are_quick() {
        let after = |batch, millis| next_batch(batch, Duration::from_millis(millis));
        assert_eq!((after(24, 2000), after(12, 501), after(4, 9000)), (12, 6, SMALLEST_BATCH));
        assert_eq!((after(6, 100), after(24, 1), after(12, 300)), (12, BATCH, 12));
    }
}
