//! The embedder that callers see.

use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::super::asker::{ByAsker, ModelAsker};
use super::super::{Document, Embedder, Fingerprint, ModelError, ModelTrouble};
use super::address::EMBEDDING;
use super::answer::vectors;
use super::calls::{EndpointCalls, Patience};
use super::canary::{CANARIES, SeenModels};
use super::client::EndpointClient;

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
pub struct EndpointEmbedder {
    calls: EndpointCalls,
    options: EndpointOptions,
    fingerprint: Fingerprint,
    name: String,
    dimension: usize,
    takes_private: bool,
    queries: ByAsker<Vec<f32>>,
}

impl EndpointEmbedder {
    /// Asks the endpoint for the vectors of a few texts, by which its model is known. It is remembered in the folder `index` of the
    /// vault at `root`.
    ///
    /// # Errors
    /// When an option is no good, or the endpoint does not answer as it should.
    pub fn open(options: EndpointOptions, index: &Path, root: &Path) -> Result<Self, ModelError> {
        let client = EndpointClient::open(EMBEDDING, &options.endpoint, &options.api_key_env)?;
        let takes_private = options.send_private || client.address.is_loopback();
        let name = format!("{} at {}", options.model, client.address.host);
        let mut embedder = Self {
            calls: EndpointCalls::new(client),
            fingerprint: Fingerprint::of(&[]),
            dimension: 0,
            name,
            takes_private,
            options,
            queries: ByAsker::default(),
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

    fn ask_in_batches(
        &self,
        texts: Vec<String>,
        timeout: Duration,
        deadline: Option<Instant>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let mut vectors = Vec::with_capacity(texts.len());
        for batch in texts.chunks(self.options.batch_size.max(1)) {
            vectors.extend(self.ask(batch.to_vec(), timeout, deadline)?);
        }
        Ok(vectors)
    }

    fn ask(
        &self,
        texts: Vec<String>,
        timeout: Duration,
        deadline: Option<Instant>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let dimension = (self.dimension > 0).then_some(self.dimension);
        let request = EmbeddingRequest { model: self.options.model.clone(), input: texts, encoding_format: "float" };
        // The embedding of documents stands behind the same breaker, and must not wait as searches have a short deadline.
        let patience = Patience { timeout, deadline, hurry: timeout };
        self.calls.ask(patience, move |client, timeout| {
            let body = client.post(&request, timeout)?;
            vectors(&body, request.input.len(), dimension).map_err(|bad| client.bad_answer(bad))
        })
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
        let query = format!("{}{text}", self.options.query_prefix);
        Ok(self.ask(vec![sendable(query)], self.options.query_timeout, deadline)?.remove(0))
    }

    fn embed_query_of(
        &self,
        asker: Option<&ModelAsker>,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Vec<f32>, ModelError> {
        self.queries.get_or(asker, text, || self.embed_query(text, deadline))
    }

    fn embed_documents(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        let prefix = &self.options.document_prefix;
        let texts = documents.iter().map(|document| sendable(format!("{prefix}{}", document.input()))).collect();
        self.ask_in_batches(texts, self.options.timeout, deadline)
    }

    fn stop(&self) {
        self.calls.stop();
    }

    fn takes_private(&self) -> bool {
        self.takes_private
    }

    fn batch_size(&self) -> Option<usize> {
        Some(self.options.batch_size)
    }

    fn trouble(&self) -> Option<ModelTrouble> {
        self.calls.trouble()
    }
}

/// As OpenAI has it.
#[derive(Serialize)]
struct EmbeddingRequest {
    model: String,
    input: Vec<String>,
    encoding_format: &'static str,
}

/// OpenAI refuses a request of many texts for one that is empty.
fn sendable(text: String) -> String {
    if text.trim().is_empty() { "-".into() } else { text }
}
