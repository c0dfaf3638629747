//! The vectors of single tokens, for late interaction.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::PoisonError;
use std::sync::mpsc::RecvTimeoutError;
use std::time::Instant;

use llama_cpp_2::token::LlamaToken;

use super::super::{ContentHash, Document, Embedder, ModelError, TokenEmbedder, TokenVectors};
use super::embedder::GgufEmbedder;
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
