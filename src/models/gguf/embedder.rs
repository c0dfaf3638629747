//! The embedder that callers see.

use std::cmp::Reverse;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Instant;

use llama_cpp_2::token::LlamaToken;

use super::super::asker::{ByAsker, ModelAsker};
use super::super::{
    Document, EmbeddedText, Embedder, Fingerprint, ModelError, TokenEmbedder, TokenQuery, TokenVectors,
};
use super::cpu;
use super::model::{GgufOptions, ModelSource, Pooling};
use super::queue::{EncoderOutput, QueueUser, Reply, Sequence};
use super::token_embedder::TokenCache;
use super::working::WorkingModel;

/// Embeds with a GGUF model in this process.
///
/// One thread a core embeds documents, and one more answers queries alone, so that a search in the middle of a bulk import
/// shares the processor with it but does not wait for it. Dropping the last embedder of a model stops its threads.
pub struct GgufEmbedder {
    /// What those who embed by the same model share.
    pub(super) working: Arc<WorkingModel>,
    pub(super) user: QueueUser,
    // What was asked and read is each vault's own: an answer that comes at once would tell another what was asked.
    queries: ByAsker<Vec<f32>>,
    pub(super) queries_with_tokens: ByAsker<(Vec<f32>, TokenVectors)>,
    pub(super) token_cache: Mutex<TokenCache>,
}

impl GgufEmbedder {
    /// Loads a model and starts its threads.
    ///
    /// This reads the whole file, for the fingerprint, and embeds one text, to see that the model does: 50 ms for the
    /// bundled model.
    ///
    /// # Errors
    ///
    /// When the file is missing, damaged, or not of an embedding model, when the cache folder of the bundled model cannot
    /// be written, and when an option is out of range. The message names the file.
    pub fn open(model: &ModelSource, options: &GgufOptions) -> Result<Self, ModelError> {
        let embedder = Self::by(Arc::new(WorkingModel::start(model, options)?));
        let probe = embedder.embed_query("probe", None)?;
        if probe.len() != embedder.dimension() {
            return Err(ModelError::UnsuitableModel {
                path: embedder.working.model.path.clone(),
                reason: format!("it announces vectors of {} numbers and returns {}", embedder.dimension(), probe.len()),
            });
        }
        Ok(embedder)
    }

    /// One more embedder by a model that is at work.
    pub(super) fn by(working: Arc<WorkingModel>) -> Self {
        Self {
            user: working.queue.user(),
            working,
            queries: ByAsker::default(),
            queries_with_tokens: ByAsker::default(),
            token_cache: Mutex::default(),
        }
    }

    /// What is wanted of each document's sequence, in the order of the documents.
    pub(super) fn encode(
        &self,
        documents: &[Document],
        wanted: impl Fn(&Document, &[LlamaToken]) -> EncoderOutput,
        deadline: Option<Instant>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let sequence = |(index, document): (usize, &Document)| {
            let tokens = self.working.tokenizer.document(document);
            let wanted = wanted(document, &tokens);
            Sequence { index, tokens, wanted }
        };
        let mut sequences: Vec<Sequence> = documents.iter().enumerate().map(sequence).collect();
        // The longest first, so that the workers end together.
        sequences.sort_by_key(|sequence| Reverse(sequence.tokens.len()));
        let replies = self.user.documents(sequences.into())?;
        collect(documents.len(), &replies, deadline)
    }

    /// Whether its tokens stand for something: where one token's vector stands for the whole text, the others were never taught to.
    fn has_tokens(&self) -> bool {
        self.working.model.pooling == Pooling::Mean
    }
}

impl Embedder for GgufEmbedder {
    fn fingerprint(&self) -> &Fingerprint {
        &self.working.model.fingerprint
    }

    fn name(&self) -> &str {
        &self.working.model.name
    }

    fn instructions(&self) -> Option<&'static str> {
        Some(cpu::choose())
    }

    fn dimension(&self) -> usize {
        self.working.model.dimension
    }

    fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError> {
        if self.has_tokens() {
            return Ok(self.query_with_tokens(None, text, deadline)?.0);
        }
        let sequence = Sequence { index: 0, tokens: self.working.tokenizer.query(text), wanted: EncoderOutput::Pooled };
        let replies = self.user.query(sequence, deadline)?;
        Ok(collect(1, &replies, deadline)?.remove(0))
    }

    fn embed_query_of(
        &self,
        asker: Option<&ModelAsker>,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Vec<f32>, ModelError> {
        if self.has_tokens() {
            return Ok(self.query_with_tokens(asker, text, deadline)?.0);
        }
        self.queries.get_or(asker, text, || self.embed_query(text, deadline))
    }

    fn embed(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<EmbeddedText>, ModelError> {
        if self.has_tokens() && documents.iter().any(|document| document.keeps_tokens) {
            return self.embed_with_tokens(documents, deadline);
        }
        let vectors = self.embed_documents(documents, deadline)?;
        Ok(vectors.iter().map(|vector| EmbeddedText::of(vector)).collect())
    }

    fn token_query(
        &self,
        asker: Option<&ModelAsker>,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Option<TokenQuery>, ModelError> {
        if !self.has_tokens() {
            return Ok(None);
        }
        Ok(Some(TokenQuery::new(&self.query_with_tokens(asker, text, deadline)?.1)))
    }

    fn embed_documents(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
        self.encode(documents, |_, _| EncoderOutput::Pooled, deadline)
    }

    fn has_word(&self, word: &str) -> bool {
        self.working.tokenizer.has_word(word)
    }

    fn count_tokens(&self, text: &str) -> Option<usize> {
        Some(self.working.tokenizer.count(text))
    }

    fn tokens(&self) -> Option<&dyn TokenEmbedder> {
        self.has_tokens().then_some(self)
    }

    fn stop(&self) {
        self.user.stop();
    }
}

/// Puts the vectors of a call in order as they come in.
pub(super) fn collect(
    count: usize,
    replies: &Receiver<Reply>,
    deadline: Option<Instant>,
) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut vectors = vec![Vec::new(); count];
    let mut missing = count;
    while missing > 0 {
        let reply = match deadline {
            None => replies.recv().map_err(|_| ModelError::Stopped)?,
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                replies.recv_timeout(left).map_err(|error| match error {
                    RecvTimeoutError::Timeout => ModelError::TimedOut,
                    // It was passed over, as nobody was to wait for it any more.
                    RecvTimeoutError::Disconnected if Instant::now() >= deadline => ModelError::TimedOut,
                    RecvTimeoutError::Disconnected => ModelError::Stopped,
                })?
            }
        };
        let (index, vector) = reply?;
        vectors[index] = vector;
        missing -= 1;
    }
    Ok(vectors)
}
