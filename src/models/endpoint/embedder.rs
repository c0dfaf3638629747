//! The embedder that callers see.

use std::time::{Duration, Instant};

use serde::Serialize;

use super::super::asker::{ByAsker, ModelAsker};
use super::super::{Document, Embedder, Fingerprint, ModelError, ModelTrouble};
use super::address::EMBEDDING;
use super::answer::vectors;
use super::calls::{EndpointCalls, Patience};
use super::client::EndpointClient;
use crate::base::config::EmbedConfig;

/// Raised when the same text is sent in another form than before.
const PREPARATION_VERSION: &[u8] = b"endpoint 2";

/// Embeds by asking an endpoint.
pub struct EndpointEmbedder {
    calls: EndpointCalls,
    config: EmbedConfig,
    fingerprint: Fingerprint,
    name: String,
    dimension: usize,
    takes_private: bool,
    queries: ByAsker<Vec<f32>>,
}

impl EndpointEmbedder {
    /// Asks the endpoint for the vectors of two texts, to learn how long they are.
    ///
    /// # Errors
    /// When an option is no good, or the endpoint does not answer as it should.
    pub fn open(config: EmbedConfig) -> Result<Self, ModelError> {
        let client = EndpointClient::open(EMBEDDING, &config.endpoint, &config.api_key_env)?;
        let takes_private = config.send_private || client.address.is_loopback();
        let name = format!("{} at {}", config.model, client.address.host);
        let mut embedder = Self {
            calls: EndpointCalls::new(client),
            fingerprint: Fingerprint::of(&[]),
            dimension: 0,
            name,
            takes_private,
            config,
            queries: ByAsker::default(),
        };
        let probes = vec!["one".into(), "another".into()];
        embedder.dimension = embedder.ask(probes, embedder.config.timeout_ms, None)?[0].len();
        embedder.fingerprint = Fingerprint::of(&[
            PREPARATION_VERSION,
            embedder.config.model.as_bytes(),
            &embedder.dimension.to_le_bytes(),
            embedder.config.query_prefix.as_bytes(),
            embedder.config.document_prefix.as_bytes(),
        ]);
        Ok(embedder)
    }

    fn ask(&self, texts: Vec<String>, timeout_ms: u64, deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        let timeout = Duration::from_millis(timeout_ms);
        let dimension = (self.dimension > 0).then_some(self.dimension);
        let request = EmbeddingRequest { model: self.config.model.clone(), input: texts, encoding_format: "float" };
        // The embedding of documents stands behind the same breaker, and must not wait as searches have a short deadline.
        let patience = Patience { timeout, deadline, hurry: timeout };
        self.calls.ask(patience, move |client, timeout| {
            let body = client.post(&request, timeout)?;
            vectors(&body, request.input.len(), dimension).map_err(|(kind, problem)| client.failed(kind, problem))
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
        let query = format!("{}{text}", self.config.query_prefix);
        Ok(self.ask(vec![sendable(query)], self.config.query_timeout_ms, deadline)?.remove(0))
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
        let prefix = &self.config.document_prefix;
        let mut vectors = Vec::with_capacity(documents.len());
        for batch in documents.chunks(self.config.batch_size.max(1)) {
            let texts = batch.iter().map(|document| sendable(format!("{prefix}{}", document.input()))).collect();
            vectors.extend(self.ask(texts, self.config.timeout_ms, deadline)?);
        }
        Ok(vectors)
    }

    fn stop(&self) {
        self.calls.stop();
    }

    fn takes_private(&self) -> bool {
        self.takes_private
    }

    fn batch_size(&self) -> Option<usize> {
        Some(self.config.batch_size)
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
