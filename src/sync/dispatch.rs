//! Hands texts to the embedder without making the writer wait for it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use half::f16;

use crate::embed::{Document, EmbedError, Embedder};
use crate::index::{ContentHash, Pending};

/// Texts of one request. Small, so that a note just saved waits half a second at most behind a bulk import.
pub(super) const BATCH: usize = 24;

/// Requests under way: one more than is being worked on, so that the model never waits for the writer.
pub(super) const IN_FLIGHT: usize = 3;

/// What became of one request. A request that was stopped has neither.
#[derive(Default)]
pub(super) struct Embedded {
    /// The texts with their vectors.
    pub vectors: Vec<(ContentHash, Vec<f16>)>,
    /// The texts that the model fails on, and how.
    pub failed: Vec<(ContentHash, EmbedError)>,
}

/// Threads that wait for the embedder.
pub(super) struct Dispatcher {
    requests: Option<Sender<Vec<Pending>>>,
    threads: Vec<JoinHandle<()>>,
    closing: Arc<AtomicBool>,
    pub(super) in_flight: usize,
}

impl Dispatcher {
    /// `report` is called on the dispatcher's threads with each request's end.
    pub(super) fn start(embedder: Arc<dyn Embedder>, report: impl Fn(Embedded) + Send + Clone + 'static) -> Self {
        let (requests, receiver) = channel::<Vec<Pending>>();
        let receiver = Arc::new(Mutex::new(receiver));
        let closing = Arc::new(AtomicBool::new(false));
        let threads = (0..IN_FLIGHT)
            .map(|_| {
                let (receiver, embedder, report) = (Arc::clone(&receiver), Arc::clone(&embedder), report.clone());
                let closing = Arc::clone(&closing);
                std::thread::spawn(move || {
                    while let Some(request) = next(&receiver).filter(|_| !closing.load(Ordering::Relaxed)) {
                        report(embed(embedder.as_ref(), request));
                    }
                })
            })
            .collect();
        Self { requests: Some(requests), threads, closing, in_flight: 0 }
    }

    /// Sends a request. Its end is reported, whatever it is.
    pub(super) fn send(&mut self, request: Vec<Pending>) {
        if let Some(requests) = &self.requests
            && requests.send(request).is_ok()
        {
            self.in_flight += 1;
        }
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

fn next(receiver: &Mutex<Receiver<Vec<Pending>>>) -> Option<Vec<Pending>> {
    receiver.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

/// Embeds a request; where that fails, its texts one by one, so that one that the model cannot take costs no other.
fn embed(embedder: &dyn Embedder, request: Vec<Pending>) -> Embedded {
    let (contents, documents): (Vec<ContentHash>, Vec<Document>) =
        request.into_iter().map(|pending| (pending.content, pending.document)).unzip();
    let mut embedded = Embedded::default();
    match embedder.embed_documents(&documents) {
        Ok(vectors) => {
            embedded.vectors = contents.into_iter().zip(vectors.iter().map(|vector| halved(vector))).collect()
        }
        Err(EmbedError::Stopped) => {}
        Err(error) if contents.len() == 1 => embedded.failed.push((contents[0], error)),
        Err(_) => {
            for (content, document) in contents.into_iter().zip(&documents) {
                match embedder.embed_documents(std::slice::from_ref(document)) {
                    Ok(vectors) => embedded.vectors.extend(vectors.first().map(|vector| (content, halved(vector)))),
                    Err(EmbedError::Stopped) => break,
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
