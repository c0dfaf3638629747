//! What is kept of the tokens of chunks, and the tokens of queries that are held against it.

use std::time::Instant;

use llama_cpp_2::token::LlamaToken;

use super::super::{Document, EmbeddedText, ModelAsker, ModelError, PackedTokens, TokenVectors};
use super::embedder::{GgufEmbedder, collect};
use super::queue::{EncoderOutput, Sequence};

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
