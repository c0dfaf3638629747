//! The vectors of single tokens, for late interaction.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use llama_cpp_2::token::LlamaToken;
use lru::LruCache;

use super::super::{
    ContentHash, Document, EmbeddedText, Embedder, ModelAsker, ModelError, PackedTokens, TokenEmbedder, TokenVectors,
};
use super::embedder::{GgufEmbedder, collect};
use super::queue::{EncoderOutput, Sequence};

impl TokenEmbedder for GgufEmbedder {
    fn query_tokens(&self, text: &str, deadline: Instant) -> Result<TokenVectors, ModelError> {
        let sequence = self.working.tokenizer.query(text);
        let own = self.working.tokenizer.text_in_query(&sequence);
        let mut tokens = self.token_vectors(vec![(0, sequence, own)], deadline)?;
        tokens.pop().map(|(_, tokens)| tokens).ok_or(ModelError::TimedOut)
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

    /// A query's vector and its tokens, of one pass; remembered for whoever asked.
    pub(super) fn query_with_tokens(
        &self,
        asker: Option<&ModelAsker>,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<(Vec<f32>, TokenVectors), ModelError> {
        self.queries_with_tokens.get_or(asker, text, || self.computed_with_tokens(text, deadline))
    }

    fn computed_with_tokens(
        &self,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<(Vec<f32>, TokenVectors), ModelError> {
        let tokens = self.working.tokenizer.query(text);
        let own = self.working.tokenizer.text_in_query(&tokens);
        let sequence = Sequence { index: 0, tokens, wanted: EncoderOutput::PooledAndTokens(own) };
        let replies = self.user.query(sequence, deadline)?;
        let both = collect(1, &replies, deadline)?.remove(0);
        let (vector, tokens) = both.split_at(self.working.model.dimension);
        Ok((vector.to_vec(), TokenVectors::new(self.working.model.dimension, tokens)))
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
