//! The embedder that callers see.

use std::collections::HashMap;
use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::super::breaker::Breaker;
use super::super::query_cache::QueryCache;
use super::super::{Document, Embedder, Fingerprint, ModelError, ModelErrorKind, ModelTrouble};
use super::address::Address;
use super::canary::{CANARIES, SeenModels};
use super::client::EndpointClient;
use super::key::ApiKey;

/// Raised when the same text is sent in another form than before.
const PREPARATION_VERSION: &[u8] = b"endpoint 1";

/// Where texts are embedded, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EndpointOptions {
    /// A host, an address that ends in `/v1`, or the full one.
    pub endpoint: String,
    /// The model's name there.
    pub model: String,
    /// The environment variable that has the key; empty where none is wanted.
    pub api_key_env: String,
    /// Goes before every query.
    pub query_prefix: String,
    /// Goes before every document.
    pub document_prefix: String,
    /// Texts of a request at most.
    pub batch_size: usize,
    /// A request with documents is given up after that.
    pub timeout: Duration,
    /// One with a query.
    pub query_timeout: Duration,
    /// Whether private notes are sent to another machine.
    pub send_private: bool,
}

/// Embeds by asking an endpoint.
///
/// A request under way cannot be ended, so each has a thread of its own, and who waits for it can stop doing so.
pub struct EndpointEmbedder {
    client: Arc<EndpointClient>,
    options: EndpointOptions,
    fingerprint: Fingerprint,
    name: String,
    dimension: usize,
    takes_private: bool,
    breaker: Mutex<Breaker>,
    /// Why the last request had no answer. A refusal stays: nothing is sent after it.
    failure: Mutex<Option<EndpointFailure>>,
    queries: Mutex<QueryCache>,
    calls: Mutex<Calls>,
}

type Answered = Result<Vec<Vec<f32>>, ModelError>;

/// What the endpoint did, as the end of a sentence, and whether it may do better another time.
#[derive(Debug, Clone)]
struct EndpointFailure {
    is_refusal: bool,
    problem: String,
}

/// Who waits.
#[derive(Default)]
struct Calls {
    is_stopped: bool,
    next: u64,
    waiting: HashMap<u64, Sender<Answered>>,
}

impl EndpointEmbedder {
    /// Asks the endpoint for the vectors of a few texts, by which its model is known. It is remembered in the folder `index` of the
    /// vault at `root`.
    ///
    /// # Errors
    /// When an option is no good, or the endpoint does not answer as it should.
    pub fn open(options: EndpointOptions, index: &Path, root: &Path) -> Result<Self, ModelError> {
        let bad = |option, reason| ModelError::BadOption { option, reason };
        let address = Address::parse(&options.endpoint).map_err(|reason| bad("endpoint", reason))?;
        let key = ApiKey::from_environment(&options.api_key_env)?;
        if key.is_some() && address.is_open_to_all() {
            tracing::warn!("the key and all texts go to {} unencrypted; write https:// if it has that", address.host);
        }
        let takes_private = options.send_private || address.is_loopback();
        let name = format!("{} at {}", options.model, address.host);
        let mut embedder = Self {
            client: Arc::new(EndpointClient::new(address, options.model.clone(), key)),
            fingerprint: Fingerprint::of(&[]),
            dimension: 0,
            name,
            takes_private,
            options,
            breaker: Mutex::default(),
            failure: Mutex::default(),
            queries: Mutex::default(),
            calls: Mutex::default(),
        };
        let canaries = CANARIES.map(str::to_owned).to_vec();
        let canaries = embedder.ask_in_batches(canaries, embedder.options.timeout, None)?;
        embedder.dimension = canaries[0].len();
        let found = SeenModels::beside(index, root).recognise(&embedder.options.model, &canaries);
        if found.has_changed {
            tracing::warn!(
                "the model behind the name {} is another one than before: its vectors are made anew, and none is compared with the others'",
                embedder.name
            );
        }
        embedder.fingerprint = Fingerprint::of(&[
            PREPARATION_VERSION,
            embedder.options.model.as_bytes(),
            found.id.as_bytes(),
            embedder.options.query_prefix.as_bytes(),
            embedder.options.document_prefix.as_bytes(),
        ]);
        Ok(embedder)
    }

    fn ask_in_batches(&self, texts: Vec<String>, timeout: Duration, deadline: Option<Instant>) -> Answered {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.options.batch_size.max(1)) {
            vectors.extend(self.ask(batch.to_vec(), timeout, deadline)?);
        }
        Ok(vectors)
    }

    /// Sends one request, and waits for its end, the deadline or a stop.
    fn ask(&self, texts: Vec<String>, timeout: Duration, deadline: Option<Instant>) -> Answered {
        let now = Instant::now();
        let left = deadline.map(|deadline| deadline.saturating_duration_since(now));
        if left.is_some_and(|left| left.is_zero()) {
            return Err(ModelError::TimedOut);
        }
        if let Some(refusal) = self.failure().clone().filter(|failure| failure.is_refusal) {
            return Err(self.client.failed(ModelErrorKind::Refused, refusal.problem));
        }
        let in_a_hurry = left.filter(|left| *left < timeout);
        self.breaker().enter(now).map_err(|left| self.is_left_alone(left))?;
        let (client, dimension) = (Arc::clone(&self.client), (self.dimension > 0).then_some(self.dimension));
        let reply = self.wait_for(move || client.embed(&texts, dimension, in_a_hurry.unwrap_or(timeout)));
        let kind = reply.as_ref().map_err(ModelError::kind);
        match kind {
            // Whoever was in a hurry says nothing of the endpoint.
            Err(ModelErrorKind::Transient) if in_a_hurry.is_some_and(|left| now.elapsed() >= left) => {
                self.breaker().left();
                return Err(ModelError::TimedOut);
            }
            Err(ModelErrorKind::Transient) => self.breaker().failed(Instant::now()),
            Err(ModelErrorKind::Stopped) => self.breaker().left(),
            Ok(_) | Err(ModelErrorKind::Permanent | ModelErrorKind::Refused) => self.breaker().answered(),
        }
        self.note(&reply);
        reply
    }

    /// Keeps in mind how a request ended.
    fn note(&self, reply: &Answered) {
        let now = match reply {
            Err(ModelError::Endpoint { problem, kind, .. }) => match kind {
                ModelErrorKind::Transient => Some(EndpointFailure { is_refusal: false, problem: problem.clone() }),
                ModelErrorKind::Refused => Some(EndpointFailure { is_refusal: true, problem: problem.clone() }),
                ModelErrorKind::Permanent | ModelErrorKind::Stopped => None,
            },
            Err(ModelError::Stopped) => return,
            Ok(_) | Err(_) => None,
        };
        let mut failure = self.failure();
        // What was under way when it refused has nothing to add.
        if !failure.as_ref().is_some_and(|failure| failure.is_refusal) {
            *failure = now;
        }
    }

    /// Runs `ask` on a thread of its own, and waits for what it says, or for a stop.
    fn wait_for(&self, ask: impl FnOnce() -> Answered + Send + 'static) -> Answered {
        let (sender, replies) = channel();
        let call = {
            let mut calls = self.calls();
            if calls.is_stopped {
                return Err(ModelError::Stopped);
            }
            calls.next += 1;
            let call = calls.next;
            calls.waiting.insert(call, sender.clone());
            call
        };
        let thread = std::thread::Builder::new().name("embed-endpoint".into()).spawn(move || {
            // Nobody waits any more after a stop.
            let _ = sender.send(ask());
        });
        let reply = match thread {
            Ok(_) => replies.recv().unwrap_or(Err(ModelError::Stopped)),
            Err(error) => Err(self.client.failed(ModelErrorKind::Transient, format!("cannot be asked: {error}"))),
        };
        self.calls().waiting.remove(&call);
        reply
    }

    fn is_left_alone(&self, left: Duration) -> ModelError {
        let seconds = left.as_secs_f64().ceil();
        let problem = format!("failed several times in a row, and is left alone for {seconds} s");
        let mut error = self.client.failed(ModelErrorKind::Transient, problem);
        if let ModelError::Endpoint { retry_after, .. } = &mut error {
            *retry_after = Some(left);
        }
        error
    }

    fn breaker(&self) -> MutexGuard<'_, Breaker> {
        self.breaker.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failure(&self) -> MutexGuard<'_, Option<EndpointFailure>> {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn calls(&self) -> MutexGuard<'_, Calls> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn query_cache(&self) -> MutexGuard<'_, QueryCache> {
        self.queries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Embedder for EndpointEmbedder {
    fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    fn name(&self) -> &str {
        &self.name
    }

    fn dimension(&self) -> usize {
        self.dimension
    }

    fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError> {
        if let Some(vector) = self.query_cache().get(text) {
            return Ok(vector);
        }
        let query = format!("{}{text}", self.options.query_prefix);
        let vector = self.ask(vec![sendable(query)], self.options.query_timeout, deadline)?.remove(0);
        self.query_cache().put(text, &vector);
        Ok(vector)
    }

    fn embed_documents(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        let prefix = &self.options.document_prefix;
        let texts = documents.iter().map(|document| sendable(format!("{prefix}{}", document.input()))).collect();
        self.ask_in_batches(texts, self.options.timeout, deadline)
    }

    fn stop(&self) {
        let mut calls = self.calls();
        calls.is_stopped = true;
        for (_, waiting) in calls.waiting.drain() {
            // It may have had its answer a moment ago.
            let _ = waiting.send(Err(ModelError::Stopped));
        }
    }

    fn takes_private(&self) -> bool {
        self.takes_private
    }

    fn batch_size(&self) -> Option<usize> {
        Some(self.options.batch_size)
    }

    fn trouble(&self) -> Option<ModelTrouble> {
        let EndpointFailure { is_refusal, problem } = self.failure().clone()?;
        Some(match is_refusal {
            true => ModelTrouble::Refused(self.client.failed(ModelErrorKind::Refused, problem).to_string()),
            false => ModelTrouble::Passing(self.client.failed(ModelErrorKind::Transient, problem).to_string()),
        })
    }
}

/// OpenAI refuses a request of many texts for one that is empty.
fn sendable(text: String) -> String {
    if text.trim().is_empty() { "-".into() } else { text }
}
