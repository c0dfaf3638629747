//! The stage for what counts less or more: collections that are given a weight, what is old and of a day, and what was given before. It does
//! nothing unless `[search]` says so.

use std::thread::ScopedJoinHandle;
use std::time::Instant;

use super::candidate::{Candidate, sort};
use crate::base::config::{SearchConfig, VaultPart};
use crate::index::engine::{EngineError, FileEntry, FileTable, QueryVector, Reader};
use crate::models::{Embedder, ModelAsker, ModelError};
use crate::text::derive::{CONVERSATIONS, ChunkId, Label};

/// The collections whose notes are of a day. Other notes do not grow old.
const DATED: [&str; 3] = [CONVERSATIONS, "files", "searches"];

/// Number of times that a chunk was given at which it counts half of what it can count more.
const HALF_GIVEN: f64 = 4.0;

/// How often who asks was given each of some chunks, in their order.
pub(crate) type GivenCounts<'a> = &'a dyn Fn(&[ChunkId]) -> Vec<u64>;

const DAY_MS: f64 = 86_400_000.0;

/// Multiplies each score with the weight of its collection and, of what is dated and not `evergreen: true`, with ½ to the power of its age in
/// half-lives; best first again. A score below 0 is divided, so that less is always less.
///
/// A memory scope that is asked with a weight multiplies the scores of its notes likewise.
///
/// What the asker was given before counts more by a share of `usage_weight` that grows with how often, and slower and slower.
pub(super) fn weigh(
    candidates: &mut [Candidate],
    files: &FileTable,
    config: &SearchConfig,
    now_ms: i64,
    given: Option<GivenCounts<'_>>,
    parts: &[(VaultPart, f64)],
) {
    let given = given.filter(|_| config.usage_weight > 0.0);
    if config.weights.is_empty() && config.half_life_days == 0.0 && given.is_none() && parts.is_empty() {
        return;
    }
    let ids = || candidates.iter().filter_map(|one| Some(one.file.chunks.get(one.ordinal)?.id)).collect::<Vec<_>>();
    let counts = given.map(|given| given(&ids())).unwrap_or_default();
    let mut counts = counts.into_iter();
    let evergreen = files.facets().labelled(Label::of_property("evergreen", Some("true")));
    let weight = |file: &FileEntry| {
        let collection = file.path.collection();
        let part = parts.iter().find(|(part, _)| part.holds(file.path.as_str())).map_or(1.0, |(_, weight)| *weight);
        let weight = part * config.weights.get(collection).copied().unwrap_or(1.0);
        if config.half_life_days == 0.0 || !DATED.contains(&collection) || evergreen.contains(file.id) {
            return weight;
        }
        let age = (now_ms.saturating_sub(file.updated_ms)).max(0) as f64 / DAY_MS;
        weight * 0.5_f64.powf(age / config.half_life_days)
    };
    for candidate in candidates.iter_mut() {
        let count = counts.next().unwrap_or_default() as f64;
        let used = 1.0 + config.usage_weight * count / (count + HALF_GIVEN);
        let weight = (weight(&candidate.file) * used).max(f64::MIN_POSITIVE);
        candidate.score = if candidate.score < 0.0 { candidate.score / weight } else { candidate.score * weight };
    }
    sort(candidates);
}

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
