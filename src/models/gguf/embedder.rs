//! The embedder that callers see, with the vectors of single tokens for late interaction.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use llama_cpp_2::token::LlamaToken;
use lru::LruCache;

use super::super::asker::{ByAsker, ModelAsker};
use super::super::{
    ContentHash, Document, EmbeddedText, Embedder, Fingerprint, ModelError, PackedTokens, TokenEmbedder, TokenQuery,
    TokenVectors,
};
use super::cpu;
use super::loaded::{EMBED, WorkingModel};
use super::model::{GgufOptions, LoadedModel, ModelSource, Pooling};
use super::queue::{EncoderOutput, QueueUser, Reply, Sequence};

/// Embeds with a GGUF model in this process.
///
/// One thread a core embeds documents, and one more answers queries alone, so that a search in the middle of a bulk import
/// shares the processor with it but does not wait for it. Dropping the last embedder of a model stops its threads.
pub struct GgufEmbedder {
    /// What those who embed by the same model share.
    pub(super) working: Arc<WorkingModel>,
    pub(super) user: QueueUser,
    // What was asked and read is each vault's own: an answer that comes at once would tell another what was asked.
    queries: ByAsker<(Vec<f32>, TokenVectors)>,
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
        let working = WorkingModel::start(LoadedModel::load(model, options)?, options, EMBED)?;
        let embedder = Self::by(Arc::new(working));
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
        Self { user: working.queue.user(), working, queries: ByAsker::default(), token_cache: Mutex::default() }
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
        self.embed_query_of(None, text, deadline)
    }

    fn embed_query_of(
        &self,
        asker: Option<&ModelAsker>,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Vec<f32>, ModelError> {
        Ok(self.query_with_tokens(asker, text, deadline)?.0)
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

impl TokenEmbedder for GgufEmbedder {
    fn query_tokens(&self, text: &str, deadline: Instant) -> Result<TokenVectors, ModelError> {
        Ok(self.query_with_tokens(None, text, Some(deadline))?.1)
    }

    fn document_tokens(
        &self,
        documents: &[(ContentHash, Document)],
        deadline: Instant,
    ) -> Result<Vec<TokenVectors>, ModelError> {
        let cache = || self.token_cache.lock().unwrap_or_else(PoisonError::into_inner);
        let mut found: Vec<Option<TokenVectors>> = {
            let mut cache = cache();
            documents.iter().map(|(name, _)| cache.get(name)).collect()
        };
        let missing = (0..documents.len()).filter(|at| found[*at].is_none());
        let sequence = |at: usize| {
            let sequence = self.working.tokenizer.document(&documents[at].1);
            let own = self.working.tokenizer.text_in_document(&sequence);
            (at, sequence, own)
        };
        let sequences = missing.map(sequence).collect();
        // What was ready in time is there for whoever asks again.
        for (at, tokens) in self.token_vectors(sequences, deadline)? {
            cache().put(documents[at].0, &tokens);
            found[at] = Some(tokens);
        }
        found.into_iter().collect::<Option<Vec<_>>>().ok_or(ModelError::TimedOut)
    }
}

impl GgufEmbedder {
    /// The vectors of the sequences that are ready by the deadline, with the sequences' numbers.
    fn token_vectors(
        &self,
        sequences: Vec<(usize, Vec<LlamaToken>, Range<usize>)>,
        deadline: Instant,
    ) -> Result<Vec<(usize, TokenVectors)>, ModelError> {
        let sequence = |(index, tokens, own)| Sequence { index, tokens, wanted: EncoderOutput::Tokens(own) };
        let sequences: VecDeque<Sequence> = sequences.into_iter().map(sequence).collect();
        let mut missing = sequences.len();
        let replies = self.user.urgent(sequences, deadline)?;
        let mut ready = Vec::with_capacity(missing);
        while missing > 0 {
            match replies.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(reply) => {
                    let (index, vectors) = reply?;
                    ready.push((index, TokenVectors::new(self.dimension(), &vectors)));
                    missing -= 1;
                }
                Err(RecvTimeoutError::Timeout) => break,
                // What was not begun in time was passed over.
                Err(RecvTimeoutError::Disconnected) if Instant::now() >= deadline => break,
                Err(RecvTimeoutError::Disconnected) => return Err(ModelError::Stopped),
            }
        }
        Ok(ready)
    }
}

/// Maximum number of bytes. A chunk of 110 tokens takes 42 kB of the bundled model, so that about 750 fit.
const MAX_BYTES: usize = 32_000_000;

/// Remembers the tokens of the most recently used texts.
pub(super) struct TokenCache {
    texts: LruCache<ContentHash, TokenVectors>,
    bytes: usize,
}

impl Default for TokenCache {
    fn default() -> Self {
        Self { texts: LruCache::unbounded(), bytes: 0 }
    }
}

impl TokenCache {
    pub(super) fn get(&mut self, text: &ContentHash) -> Option<TokenVectors> {
        self.texts.get(text).cloned()
    }

    pub(super) fn put(&mut self, text: ContentHash, tokens: &TokenVectors) {
        self.bytes += tokens.bytes();
        if let Some((_, before)) = self.texts.push(text, tokens.clone()) {
            self.bytes -= before.bytes();
        }
        while self.bytes > MAX_BYTES
            && let Some((_, oldest)) = self.texts.pop_lru()
        {
            self.bytes -= oldest.bytes();
        }
    }
}

/// Of their tokens the mean is taken that those of all texts are compared with. It is a constant of the model: taken from the notes of a
/// vault, a note would change how others are packed.
const TYPICAL: [&str; 12] = [
    "We met on Tuesday to talk about the budget, and agreed to wait until the new numbers are in.",
    "Preheat the oven to 220 degrees. Fold the dough three times, and let it rest for half an hour in between.",
    "The function returns an error when the file cannot be read; the caller decides whether to try again.",
    "Remember to call the plumber, buy oat milk, and send the signed contract back before Friday.",
    "In the second chapter the author argues that cities grow along rivers, roads and railways, in that order.",
    "I slept badly and went for a long walk along the coast; the light in the evening was worth it.",
    "To install the package, run the command below, then add the key to your configuration and start the service.",
    "The patient should take two tablets a day with food, and come back if the fever has not gone down.",
    "Our flight leaves at 6:40 from gate B12, and the hotel is two stops from the station on the blue line.",
    "Question: who owns the decision? Answer: the team that is called at night when it breaks.",
    "The orchestra played the slow movement too fast, but the last one had the whole hall on its feet.",
    "A hash table finds an entry in constant time on average, and a tree keeps its entries in order.",
];

impl GgufEmbedder {
    /// The mean of the tokens of ordinary texts, computed when it is first wanted.
    ///
    /// # Errors
    /// When the model fails on one.
    fn typical_token(&self) -> Result<&[f32], ModelError> {
        if let Some(typical) = self.working.typical.get() {
            return Ok(typical);
        }
        let documents = TYPICAL.map(|text| Document { text: text.to_owned(), ..Document::default() });
        let own = |_: &Document, tokens: &[LlamaToken]| {
            EncoderOutput::Tokens(self.working.tokenizer.text_in_document(tokens))
        };
        let mut sum = vec![0.0_f64; self.working.model.dimension];
        let mut count = 0.0_f64;
        for vectors in self.encode(&documents, own, None)? {
            for token in TokenVectors::new(self.working.model.dimension, &vectors).iter() {
                sum.iter_mut().zip(&token).for_each(|(sum, value)| *sum += f64::from(*value));
                count += 1.0;
            }
        }
        let mean = || sum.into_iter().map(|sum| (sum / count.max(1.0)) as f32).collect();
        Ok(self.working.typical.get_or_init(mean))
    }

    /// Embeds chunks, with the tokens packed of those that keep them.
    pub(super) fn embed_with_tokens(
        &self,
        documents: &[Document],
        deadline: Option<Instant>,
    ) -> Result<Vec<EmbeddedText>, ModelError> {
        let mean = self.typical_token()?;
        let wanted = |document: &Document, tokens: &[LlamaToken]| match document.keeps_tokens {
            true => EncoderOutput::PooledAndTokens(self.working.tokenizer.text_in_document(tokens)),
            false => EncoderOutput::Pooled,
        };
        let dimension = self.working.model.dimension;
        let packed = |(document, computed): (&Document, Vec<f32>)| {
            let (vector, tokens) = computed.split_at(dimension);
            let embedded = EmbeddedText::of(vector);
            match document.keeps_tokens {
                true => {
                    EmbeddedText { tokens: PackedTokens::of(&TokenVectors::new(dimension, tokens), mean), ..embedded }
                }
                false => embedded,
            }
        };
        Ok(documents.iter().zip(self.encode(documents, wanted, deadline)?).map(packed).collect())
    }

    /// A query's vector and its tokens, of one pass, with none of a model whose tokens stand for nothing; remembered for whoever asked.
    fn query_with_tokens(
        &self,
        asker: Option<&ModelAsker>,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<(Vec<f32>, TokenVectors), ModelError> {
        self.queries.get_or(asker, text, || {
            let tokens = self.working.tokenizer.query(text);
            let wanted = match self.has_tokens() {
                true => EncoderOutput::PooledAndTokens(self.working.tokenizer.text_in_query(&tokens)),
                false => EncoderOutput::Pooled,
            };
            let replies = self.user.query(Sequence { index: 0, tokens, wanted }, deadline)?;
            let both = collect(1, &replies, deadline)?.remove(0);
            let dimension = self.working.model.dimension;
            let (vector, tokens) = both.split_at(if self.has_tokens() { dimension } else { both.len() });
            Ok((vector.to_vec(), TokenVectors::new(dimension, tokens)))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::Document;
    use super::*;

    #[test]
    fn the_least_recently_used_goes_first_and_all_is_counted() {
        let mut cache = TokenCache::default();
        let name = |text: &str| {
            ContentHash::of(&Document { context: String::new(), text: text.to_owned(), ..Document::default() })
        };
        let tokens = TokenVectors::new(MAX_BYTES / 3, &vec![1.0; MAX_BYTES / 3]);
        for text in ["a", "b", "a", "c"] {
            cache.put(name(text), &tokens);
        }
        assert!(cache.get(&name("a")).is_some());
        cache.put(name("d"), &tokens);
        let kept = ["a", "b", "c", "d"].map(|text| cache.get(&name(text)).is_some());
        assert_eq!(kept, [true, false, true, true]);
        assert!(cache.bytes <= MAX_BYTES);
    }
}
