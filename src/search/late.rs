//! Late interaction: the best candidates are looked at token by token, and put in order anew.

use std::time::{Duration, Instant};

use super::candidate::{Candidate, CandidateScores, sort};
use super::fuse::{AskedWords, meaning_weights, min_max};
use crate::config::SearchConfig;
use crate::engine::{EngineError, Reader};
use crate::models::{Document, Embedder, ModelAsker, ModelError, TokenEmbedder, TokenQuery, TokenVectors};

/// The share of MaxSim in the meaning; the cosine of the whole chunk has the rest. The words have the weight that they have in the fusion.
///
/// MRR, of scores that were recorded once, of 80 hand-written questions about each of two documentations, the best 50 looked at: 59.3 and 49.3 (58.9 and 48.0 without); of 120
/// headings of each as queries 97.8 and 91.0 (97.1 and 87.6). With shares of 0.3 to 0.6 the mean of the four differs by less than one point.
const TOKENS: f64 = 0.5;

/// A query's tokens, and where those of chunks come from.
pub(super) struct LateInteraction<'a> {
    reader: &'a dyn Reader,
    tokens: TokenSource<'a>,
    config: &'a SearchConfig,
}

enum TokenSource<'a> {
    /// They are computed now: all of them by the deadline, or the order stays as it was.
    Computed { query: TokenVectors, model: &'a dyn TokenEmbedder, deadline: Instant },
    /// They were kept when the chunk was embedded.
    Stored(TokenQuery),
}

impl<'a> LateInteraction<'a> {
    /// Begins with the query, where the chunks' tokens are computed.
    ///
    /// # Errors
    /// When the model fails on it, or takes too long.
    pub(super) fn of(
        query: &str,
        model: &'a dyn TokenEmbedder,
        reader: &'a dyn Reader,
        config: &'a SearchConfig,
        until: Option<Instant>,
    ) -> Result<Self, ModelError> {
        let deadline = Instant::now() + Duration::from_millis(config.deep_ms);
        let deadline = until.map_or(deadline, |until| until.min(deadline));
        let query = model.query_tokens(query, deadline)?;
        Ok(Self { reader, tokens: TokenSource::Computed { query, model, deadline }, config })
    }

    /// The same where they are stored; `None` of a model that keeps none.
    ///
    /// # Errors
    /// When the model fails on the query, or takes too long.
    pub(super) fn stored(
        query: &str,
        (model, asker): (&dyn Embedder, Option<&ModelAsker>),
        reader: &'a dyn Reader,
        config: &'a SearchConfig,
        until: Option<Instant>,
    ) -> Result<Option<Self>, ModelError> {
        let query = model.token_query(asker, query, until)?;
        Ok(query.map(|query| Self { reader, tokens: TokenSource::Stored(query), config }))
    }

    /// Ranks the best candidates anew; the others stay behind them. `candidates` are in order.
    ///
    /// # Errors
    /// When the store cannot be read; within, when the model fails on a chunk or takes too long, and all is as it was.
    pub(super) fn rank(
        &self,
        candidates: &mut [Candidate],
        asked: AskedWords,
    ) -> Result<Result<(), ModelError>, EngineError> {
        let best = candidates.len().min(self.config.deep_candidates);
        let late = match &self.tokens {
            TokenSource::Stored(query) => self.stored_scores(query, &candidates[..best])?,
            TokenSource::Computed { query, model, deadline } => {
                match self.computed_scores(query, *model, *deadline, &candidates[..best])? {
                    Ok(late) => late,
                    Err(error) => return Ok(Err(error)),
                }
            }
        };
        let (looked_at, rest) = candidates.split_at_mut(late.len());
        for (candidate, late) in looked_at.iter_mut().zip(late) {
            // What has nothing to embed is near nothing.
            candidate.scores.late = late.filter(|_| candidate.is_embeddable());
        }
        // Above all that was not looked at.
        let least = rest.first().map_or(0.0, |candidate| candidate.score);
        let scores = scores(looked_at, asked, self.config);
        for (candidate, score) in looked_at.iter_mut().zip(scores) {
            candidate.score = least + (1.0 - least) * score;
        }
        sort(looked_at);
        Ok(Ok(()))
    }

    /// MaxSim of all of them, or none: an order that hangs on how many were ready in time is another each time.
    fn computed_scores(
        &self,
        query: &TokenVectors,
        model: &dyn TokenEmbedder,
        deadline: Instant,
        candidates: &[Candidate],
    ) -> Result<Result<Vec<Option<f64>>, ModelError>, EngineError> {
        let mut documents = Vec::with_capacity(candidates.len());
        for candidate in candidates {
            // Of what is damaged or has nothing to embed, nothing is like the query.
            let text = match self.reader.chunk(candidate.row) {
                Ok(text) => text.filter(|_| candidate.is_embeddable()),
                Err(error) if error.is_damage() => None,
                Err(error) => return Err(error),
            };
            documents.push(text.map_or_else(Document::default, |text| text.document(&candidate.file.title)));
        }
        let tokens = model.document_tokens(&documents, deadline);
        Ok(tokens.map(|tokens| tokens.iter().map(|tokens| Some(query.max_sim(tokens))).collect()))
    }

    /// The same of those whose tokens are stored; `None` of one that has no vector here, be it that its text has one elsewhere.
    fn stored_scores(&self, query: &TokenQuery, candidates: &[Candidate]) -> Result<Vec<Option<f64>>, EngineError> {
        let score = |candidate: &Candidate| {
            let content = candidate.content().filter(|_| self.reader.is_embedded(candidate.row));
            let tokens = match content.map(|content| self.reader.tokens(&content)).transpose() {
                Ok(tokens) => tokens.flatten(),
                // The vectors are in memory, and this is no worse than without tokens.
                Err(error) if error.is_damage() => None,
                Err(error) => return Err(error),
            };
            Ok(tokens.and_then(|tokens| query.max_sim(&tokens)))
        };
        candidates.iter().map(score).collect()
    }
}

/// One score of 0 to 1 for each; what waits for its vector is taken to be as near as it is by its words, as in hybrid searches.
fn scores(candidates: &[Candidate], asked: AskedWords, config: &SearchConfig) -> Vec<f64> {
    let side = |score: fn(&Candidate) -> Option<f64>| min_max(&candidates.iter().map(score).collect::<Vec<_>>());
    let words = side(|candidate| candidate.scores.keyword);
    let whole = side(|candidate| candidate.scores.semantic);
    let tokens = side(|candidate| candidate.scores.late);
    let weights = meaning_weights(candidates, asked, config);
    let sum = |at: usize| {
        let meaning = weights[at];
        let (whole, tokens) = match candidates[at].scores {
            CandidateScores { waits: true, late: None, .. } => (words[at], words[at]),
            CandidateScores { waits: true, .. } => (words[at], tokens[at]),
            CandidateScores { .. } => (whole[at], tokens[at]),
        };
        (1.0 - meaning) * words[at] + meaning * ((1.0 - TOKENS) * whole + TOKENS * tokens)
    };
    (0..candidates.len()).map(sum).collect()
}
