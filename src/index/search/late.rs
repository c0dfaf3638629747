//! What the embedding model is asked of a query: its vectors, and the vectors of its tokens, which are compared with those that are kept of
//! conversations (late interaction).

use std::cell::OnceCell;
use std::thread::ScopedJoinHandle;
use std::time::Instant;

use super::fuse::Candidate;
use crate::index::engine::{EngineError, QueryVector, Reader, unless_damaged};
use crate::models::{Embedder, ModelAsker, ModelError, TokenQuery};

/// How many times as much what was typed counts in the meaning as all that was not.
const TYPED_MEANING: f32 = 2.0;

/// A query's vectors.
pub(super) struct QueryMeaning {
    /// That of all that is looked for.
    pub(super) all: QueryVector,
    /// That of what was typed alone, where `all` has more.
    pub(super) typed: Option<QueryVector>,
    /// Why it has no more, where it was to have.
    pub(super) lacks: Option<String>,
}

/// Embeds the query on the model's thread while `meanwhile` runs on this one: each takes a few milliseconds of a hybrid search. What is
/// `meant` besides counts less. A model that is not there is one that was stopped.
pub(super) fn embed_beside(
    reader: &dyn Reader,
    (embedder, asker): (Option<&dyn Embedder>, Option<&ModelAsker>),
    (text, meant): (&str, Option<&str>),
    deadline: Option<Instant>,
    meanwhile: impl FnOnce() -> Result<(), EngineError>,
) -> Result<Result<QueryMeaning, ModelError>, EngineError> {
    // A model that has just taken the place of another has no vectors here yet.
    let Some(embedder) = embedder.filter(|embedder| reader.model() == Some(embedder.fingerprint())) else {
        return Ok(Err(ModelError::Stopped));
    };
    let (typed, meant) = std::thread::scope(|scope| {
        let embed = |text| scope.spawn(move || embedder.embed_query_of(asker, text, deadline));
        // Both at once, as a service may take a while for each.
        let (typed, meant) = (embed(text), meant.map(embed));
        let done = meanwhile();
        let (typed, meant) = (ended(typed), meant.map(ended));
        done.map(|()| (typed, meant))
    })?;
    Ok(match (typed, meant) {
        (Ok(typed), Some(Ok(meant))) => {
            let all: Vec<f32> = typed.iter().zip(meant).map(|(typed, meant)| TYPED_MEANING * typed + meant).collect();
            Ok(QueryMeaning { all: QueryVector::new(&all)?, typed: Some(QueryVector::new(&typed)?), lacks: None })
        }
        (Ok(typed), meant) => {
            let lacks = meant.and_then(Result::err).map(|error| error.to_string());
            Ok(QueryMeaning { all: QueryVector::new(&typed)?, typed: None, lacks })
        }
        (Err(error), _) => Err(error),
    })
}

fn ended(embedding: ScopedJoinHandle<'_, Result<Vec<f32>, ModelError>>) -> Result<Vec<f32>, ModelError> {
    embedding.join().unwrap_or_else(|_| Err(ModelError::Panicked("embedding a query".into())))
}

/// What was said in conversations, whose tokens were kept when it was embedded.
pub(super) struct StoredTokens<'a> {
    pub(super) embedder: &'a dyn Embedder,
    pub(super) asker: Option<&'a ModelAsker>,
    pub(super) query: &'a str,
    pub(super) until: Option<Instant>,
    /// The query's tokens, once they were wanted; `None` of a model that has none.
    pub(super) tokens: OnceCell<Option<TokenQuery>>,
}

impl StoredTokens<'_> {
    /// Scores the candidates that are of conversations. What the model fails on now, it did not a moment ago: then the order is that of the
    /// fusion without tokens.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub(super) fn score(&self, candidates: &mut [Candidate], reader: &dyn Reader) -> Result<(), EngineError> {
        for candidate in candidates.iter_mut().filter(|candidate| candidate.file.is_conversation()) {
            let ask = || self.embedder.token_query(self.asker, self.query, self.until).ok().flatten();
            let Some(query) = self.tokens.get_or_init(ask) else { return Ok(()) };
            // Of one that has no vector here nothing is known, be it that its text has one elsewhere.
            let content = candidate.content().filter(|_| reader.is_embedded(candidate.row));
            // Of what is damaged, the vectors are in memory, and this is no worse than without tokens.
            let tokens = content.map_or(Ok(None), |content| unless_damaged(reader.tokens(&content)))?;
            candidate.scores.late = tokens.and_then(|tokens| query.max_sim(&tokens));
        }
        Ok(())
    }
}
