//! The embedder that callers see, with the vectors of single tokens for late interaction.

use std::cmp::Reverse;
use std::path::Path;
use std::sync::OnceLock;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Instant;

use super::super::asker::{ByAsker, ModelAsker};
use super::super::{Document, EmbeddedText, Embedder, Fingerprint, ModelError, PackedTokens, TokenQuery, TokenVectors};
use super::cpu;
use super::model::{LoadedModel, ModelSource};
use super::queue::{Reply, Sequence};
use super::worker::WorkingModel;
use crate::base::config::{EmbedConfig, PoolingChoice};

/// Embeds with a GGUF model in this process.
///
/// One thread a core embeds documents, and one more answers queries alone, so that a search in the middle of a bulk import
/// shares the processor with it but does not wait for it. Dropping it stops its threads.
pub struct GgufEmbedder {
    pub(super) working: WorkingModel,
    /// The mean of its tokens, once those of a chunk are kept.
    typical: OnceLock<Vec<f32>>,
    queries: ByAsker<(Vec<f32>, TokenVectors)>,
}

impl GgufEmbedder {
    /// Loads a model and starts its threads. The bundled one is unpacked into `cache_dir`.
    ///
    /// This reads the whole file, for the fingerprint, and embeds one text, to see that the model does: 50 ms for the
    /// bundled model.
    ///
    /// # Errors
    ///
    /// When the file is missing, damaged, or not of an embedding model, when the cache folder of the bundled model cannot
    /// be written, and when an option is out of range. The message names the file.
    pub fn open(model: &ModelSource, config: &EmbedConfig, cache_dir: &Path) -> Result<Self, ModelError> {
        let working = WorkingModel::start(LoadedModel::load(model, config, cache_dir)?, config)?;
        let embedder = Self { working, typical: OnceLock::new(), queries: ByAsker::default() };
        let probe = embedder.embed_query("probe", None)?;
        if probe.len() != embedder.dimension() {
            return Err(ModelError::UnsuitableModel {
                path: embedder.working.model.path.clone(),
                reason: format!("it announces vectors of {} numbers and returns {}", embedder.dimension(), probe.len()),
            });
        }
        Ok(embedder)
    }

    /// The vector of each document, in the order of the documents, and behind it those of its tokens where they are wanted.
    fn encode(
        &self,
        documents: &[Document],
        with_tokens: impl Fn(&Document) -> bool,
        deadline: Option<Instant>,
    ) -> Result<Vec<Vec<f32>>, ModelError> {
        let tokenizer = &self.working.tokenizer;
        let sequence = |(index, document): (usize, &Document)| {
            let tokens = tokenizer.document(document);
            let tokens_wanted =
                if with_tokens(document) { tokenizer.text_in(&tokens, &tokenizer.document_prefix) } else { 0..0 };
            Sequence { index, tokens, tokens_wanted }
        };
        let mut sequences: Vec<Sequence> = documents.iter().enumerate().map(sequence).collect();
        // The longest first, so that the workers end together.
        sequences.sort_by_key(|sequence| Reverse(sequence.tokens.len()));
        let replies = self.working.queue.documents(sequences.into())?;
        collect(documents.len(), &replies, deadline)
    }

    /// Whether its tokens stand for something: where one token's vector stands for the whole text, the others were never taught to.
    fn has_tokens(&self) -> bool {
        self.working.model.pooling == PoolingChoice::Mean
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
        let keeps_tokens = |document: &Document| self.has_tokens() && document.keeps_tokens;
        let mean = if documents.iter().any(keeps_tokens) { self.typical_token()? } else { &[] };
        let dimension = self.dimension();
        let embedded = |(document, computed): (&Document, Vec<f32>)| {
            let (vector, tokens) = computed.split_at(dimension);
            let tokens = match keeps_tokens(document) {
                true => PackedTokens::of(&TokenVectors::new(dimension, tokens), mean),
                false => PackedTokens::default(),
            };
            EmbeddedText { tokens, ..EmbeddedText::of(vector) }
        };
        Ok(documents.iter().zip(self.encode(documents, keeps_tokens, deadline)?).map(embedded).collect())
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
        self.encode(documents, |_| false, deadline)
    }

    fn has_word(&self, word: &str) -> bool {
        self.working.tokenizer.has_word(word)
    }

    fn stop(&self) {
        self.working.queue.stop();
    }
}

/// All of a call's vectors, in the order of its sequences.
fn collect(count: usize, replies: &Receiver<Reply>, deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError> {
    let mut all = Vec::with_capacity(count);
    while all.len() < count {
        let reply = match deadline {
            None => replies.recv().map_err(|_| ModelError::Stopped),
            Some(deadline) => {
                let left = deadline.saturating_duration_since(Instant::now());
                // What nobody was to wait for any more was passed over.
                let is_over = |ended| ended == RecvTimeoutError::Timeout || Instant::now() >= deadline;
                replies.recv_timeout(left).map_err(|ended| match is_over(ended) {
                    true => ModelError::TimedOut,
                    false => ModelError::Stopped,
                })
            }
        };
        all.push(reply??);
    }
    all.sort_unstable_by_key(|(number, _)| *number);
    Ok(all.into_iter().map(|(_, vector)| vector).collect())
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
        if let Some(typical) = self.typical.get() {
            return Ok(typical);
        }
        let documents = TYPICAL.map(|text| Document { text: text.to_owned(), ..Document::default() });
        let dimension = self.working.model.dimension;
        let mut sum = vec![0.0_f64; dimension];
        let mut count = 0.0_f64;
        for computed in self.encode(&documents, |_| true, None)? {
            for token in TokenVectors::new(dimension, &computed[dimension..]).iter() {
                sum.iter_mut().zip(&token).for_each(|(sum, value)| *sum += f64::from(*value));
                count += 1.0;
            }
        }
        let mean = || sum.into_iter().map(|sum| (sum / count.max(1.0)) as f32).collect();
        Ok(self.typical.get_or_init(mean))
    }

    /// A query's vector and its tokens, of one pass, with none of a model whose tokens stand for nothing; remembered for whoever asked.
    fn query_with_tokens(
        &self,
        asker: Option<&ModelAsker>,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<(Vec<f32>, TokenVectors), ModelError> {
        self.queries.get_or(asker, text, || {
            let tokenizer = &self.working.tokenizer;
            let tokens = tokenizer.query(text);
            let wanted = || tokenizer.text_in(&tokens, &tokenizer.query_prefix);
            let tokens_wanted = if self.has_tokens() { wanted() } else { 0..0 };
            let replies = self.working.queue.query(Sequence { index: 0, tokens, tokens_wanted }, deadline)?;
            let both = collect(1, &replies, deadline)?.remove(0);
            let dimension = self.working.model.dimension;
            let (vector, tokens) = both.split_at(dimension.min(both.len()));
            Ok((vector.to_vec(), TokenVectors::new(dimension, tokens)))
        })
    }
}
