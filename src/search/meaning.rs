//! The query's vectors, made while its words are looked for.

use std::thread::ScopedJoinHandle;
use std::time::Instant;

use crate::engine::{EngineError, QueryVector, Reader};
use crate::models::{Embedder, ModelAsker, ModelError};

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
    let vector = |vector: &[f32]| QueryVector::new(vector).map_err(EngineError::other);
    Ok(match (typed, meant) {
        (Ok(typed), Some(Ok(meant))) => {
            let all: Vec<f32> = typed.iter().zip(meant).map(|(typed, meant)| TYPED_MEANING * typed + meant).collect();
            Ok(QueryMeaning { all: vector(&all)?, typed: Some(vector(&typed)?), lacks: None })
        }
        (Ok(typed), meant) => {
            let lacks = meant.and_then(Result::err).map(|error| error.to_string());
            Ok(QueryMeaning { all: vector(&typed)?, typed: None, lacks })
        }
        (Err(error), _) => Err(error),
    })
}

fn ended(embedding: ScopedJoinHandle<'_, Result<Vec<f32>, ModelError>>) -> Result<Vec<f32>, ModelError> {
    embedding.join().unwrap_or_else(|_| Err(ModelError::Panicked("embedding a query".into())))
}
