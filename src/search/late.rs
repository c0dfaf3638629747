//! Late interaction: the best candidates are looked at token by token, and put in order anew.

use std::time::{Duration, Instant};

use super::candidate::{Candidate, sort};
use super::fuse::min_max;
use crate::config::SearchConfig;
use crate::engine::{EngineError, Reader};
use crate::models::{Document, ModelError, TokenEmbedder, TokenVectors};

/// The weights of the words, of the meaning of the whole and of MaxSim, each scaled to 0..1 over the candidates that were looked at.
const WORDS: f64 = 0.45;
const WHOLE: f64 = 0.15;
const TOKENS: f64 = 0.40;

/// A query's tokens, and until when chunks may be computed for them.
pub(super) struct LateInteraction<'a> {
    reader: &'a dyn Reader,
    model: &'a dyn TokenEmbedder,
    query: TokenVectors,
    deadline: Instant,
    candidates: usize,
}

impl<'a> LateInteraction<'a> {
    /// Begins with the query.
    ///
    /// # Errors
    /// When the model fails on it, or takes too long.
    pub(super) fn of(
        query: &str,
        model: &'a dyn TokenEmbedder,
        reader: &'a dyn Reader,
        config: &SearchConfig,
        until: Option<Instant>,
    ) -> Result<Self, ModelError> {
        let deadline = Instant::now() + Duration::from_millis(config.deep_ms);
        let deadline = until.map_or(deadline, |until| until.min(deadline));
        let query = model.query_tokens(query, deadline)?;
        Ok(Self { reader, model, query, deadline, candidates: config.deep_candidates })
    }

    /// Ranks the best candidates anew, as many as there is time for; the others stay behind them. `candidates` are in order.
    ///
    /// # Errors
    /// When the store cannot be read; within, when the model fails on a chunk, and all is as it was.
    pub(super) fn rank(&self, candidates: &mut [Candidate]) -> Result<Result<(), ModelError>, EngineError> {
        let best = candidates.len().min(self.candidates);
        let mut documents = Vec::with_capacity(best);
        for candidate in &candidates[..best] {
            // Of what is damaged or has nothing to embed, nothing is like the query.
            let text = match self.reader.chunk(candidate.row) {
                Ok(text) => text.filter(|_| candidate.is_embeddable()),
                Err(error) if error.is_damage() => None,
                Err(error) => return Err(error),
            };
            documents.push(text.map_or_else(Document::default, |text| text.document(&candidate.file.title)));
        }
        let tokens = match self.model.document_tokens(&documents, self.deadline) {
            Ok(tokens) => tokens,
            Err(error) => return Ok(Err(error)),
        };
        let ready = tokens.iter().take_while(|tokens| tokens.is_some()).count();
        let (looked_at, rest) = candidates.split_at_mut(ready);
        for (candidate, tokens) in looked_at.iter_mut().zip(tokens.iter().flatten()) {
            candidate.scores.late = Some(self.query.max_sim(tokens));
        }
        // Above all that was not looked at.
        let least = rest.first().map_or(0.0, |candidate| candidate.score);
        let scores = scores(looked_at);
        for (candidate, score) in looked_at.iter_mut().zip(scores) {
            candidate.score = least + (1.0 - least) * score;
        }
        sort(looked_at);
        Ok(Ok(()))
    }
}

/// One score of 0 to 1 for each; what waits for its vector is taken to be as near as it is by its words, as in hybrid searches.
fn scores(candidates: &[Candidate]) -> Vec<f64> {
    let side = |score: fn(&Candidate) -> Option<f64>| min_max(&candidates.iter().map(score).collect::<Vec<_>>());
    let words = side(|candidate| candidate.scores.keyword);
    let whole = side(|candidate| candidate.scores.semantic);
    let tokens = side(|candidate| candidate.scores.late);
    let sum = |at: usize| {
        let whole = if candidates[at].scores.waits { words[at] } else { whole[at] };
        WORDS * words[at] + WHOLE * whole + TOKENS * tokens[at]
    };
    (0..candidates.len()).map(sum).collect()
}
