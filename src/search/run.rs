//! The search itself.

use std::sync::Arc;

use super::candidates::{Candidate, Meaning, Side};
use super::filter::Filter;
use super::fuse::Sides;
use super::query::ParsedQuery;
use super::visible::Visible;
use crate::config::{Mode, SearchConfig};
use crate::embed::{EmbedError, Embedder};
use crate::index::catalog::{CatalogError, ChunkText};
use crate::index::keyword::KeywordError;
use crate::index::vectors::VectorError;
use crate::index::{FileEntry, Snapshot};

/// What is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct SearchRequest {
    /// What was typed.
    pub text: String,
    /// Which sides are asked.
    pub mode: Mode,
    /// Hits at most.
    pub limit: usize,
    /// Which files.
    pub filter: Filter,
}

/// A chunk that was found.
#[derive(Debug, Clone)]
pub struct Hit {
    /// Its file.
    pub file: Arc<FileEntry>,
    /// What is shown of it.
    pub chunk: ChunkText,
    /// What the hits are ordered by; compares within one response.
    pub score: f64,
    /// BM25, when the words were asked.
    pub keyword: Option<f64>,
    /// Cosine, when the meaning was asked and the chunk is embedded.
    pub semantic: Option<f64>,
}

/// Why an answer is less than what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Degraded {
    /// There is no model, or not yet: the words alone were searched, or nothing.
    NoModel,
    /// The model failed on this query.
    ModelFailed(String),
    /// The words are damaged and being indexed anew: the meaning alone was searched, or nothing.
    NoWords,
    /// Some passages cannot be read, for the reason given, and are left out.
    Damaged(String),
    /// A quoted phrase occurs nowhere as it is: its words were looked for.
    PhraseAbsent,
    /// Only so many of so many chunks are embedded yet.
    Embedding {
        /// Embedded chunks.
        embedded: usize,
        /// Chunks that have something to embed.
        of: usize,
    },
}

/// The answer.
#[derive(Debug)]
pub struct Results {
    /// The mode that was used.
    pub mode: Mode,
    /// The hits, best first.
    pub hits: Vec<Hit>,
    /// Why the answer is less than what was asked for, if it is.
    pub degraded: Option<Degraded>,
}

/// A search failed.
#[derive(Debug, thiserror::Error)]
pub enum SearchError {
    /// The catalog did.
    #[error(transparent)]
    Catalog(#[from] CatalogError),
    /// The keyword index did.
    #[error(transparent)]
    Keyword(#[from] KeywordError),
    /// The vectors did.
    #[error(transparent)]
    Vector(#[from] VectorError),
}

/// Searches one state of the index.
///
/// # Errors
/// When a store cannot be read.
pub fn search(
    snapshot: &Snapshot,
    embedder: Option<&dyn Embedder>,
    visible: &Visible,
    config: &SearchConfig,
    request: &SearchRequest,
) -> Result<Results, SearchError> {
    let query = ParsedQuery::new(&request.text);
    if query.is_empty() || request.limit == 0 {
        return Ok(Results { mode: request.mode, hits: Vec::new(), degraded: None });
    }
    let allow = request.filter.resolve(visible, &snapshot.files);
    let side = Side { snapshot, allow: allow.as_ref(), seen: visible.set(), stemmer: config.stemmer };
    let mut words = side.words(&query.keyword)?;
    let mut degraded = None;
    let has_words = snapshot.keyword.is_some();
    let meaning = if request.mode == Mode::Keyword && has_words {
        None
    } else {
        let width = (request.mode == Mode::Hybrid).then(|| config.candidates.max(request.limit));
        match embed_beside(snapshot, embedder, &query.semantic, || words.look_ahead(width))? {
            Ok(found) => Some(found),
            Err(reason) => {
                degraded = Some(reason);
                None
            }
        }
    };
    let (embedded, of) = snapshot.embedded_within(visible.set());
    if meaning.is_some() && embedded < of {
        degraded = Some(Degraded::Embedding { embedded, of });
    }
    // Without a model, the words answer for the meaning; without the words, the meaning answers for them.
    let mode = match (has_words, &meaning) {
        (false, _) => Mode::Semantic,
        (true, None) => Mode::Keyword,
        (true, Some(_)) => request.mode,
    };
    if !has_words {
        degraded = Some(Degraded::NoWords);
    }

    let mut ranked = side.ranked(&mut words, mode, meaning.as_ref(), config, request.limit)?;
    if ranked.is_empty() && !query.keyword.phrases.is_empty() {
        let mut words = side.words(&query.without_phrases().keyword)?;
        ranked = side.ranked(&mut words, mode, meaning.as_ref(), config, request.limit)?;
        let by_words = |candidate: &Candidate| candidate.sides.keyword.is_some_and(|score| score > 0.0);
        if mode != Mode::Semantic && !ranked.iter().any(by_words) {
            // What is merely near in meaning is not what a phrase asks for.
            ranked.clear();
        } else {
            degraded = degraded.or(Some(Degraded::PhraseAbsent));
        }
    }
    let mut hits = Vec::with_capacity(ranked.len());
    for candidate in ranked {
        let chunk = match snapshot.read(|reader| reader.chunk(candidate.row)) {
            Ok(Some(chunk)) => chunk,
            Ok(None) => continue,
            // What is damaged is never shown, and takes nothing else with it.
            Err(error) if error.is_damage() => {
                degraded = Some(Degraded::Damaged(error.to_string()));
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let Sides { keyword, semantic } = candidate.sides;
        hits.push(Hit { file: candidate.file, chunk, score: candidate.score, keyword, semantic });
    }
    Ok(Results { mode, hits, degraded })
}

/// Embeds the query on the model's thread while `meanwhile` runs on this one: each takes a few milliseconds of a hybrid search.
fn embed_beside<'a>(
    snapshot: &'a Snapshot,
    embedder: Option<&dyn Embedder>,
    text: &str,
    meanwhile: impl FnOnce() -> Result<(), KeywordError>,
) -> Result<Result<Meaning<'a>, Degraded>, SearchError> {
    let (Some(embedder), Some(vectors)) = (embedder, snapshot.vectors.as_ref()) else {
        return Ok(Err(Degraded::NoModel));
    };
    let embedded = std::thread::scope(|scope| {
        let embedding = scope.spawn(|| embedder.embed_query(text));
        let done = meanwhile();
        let failed = |_| Err(EmbedError::Panicked("embedding a query".into()));
        done.map(|()| embedding.join().unwrap_or_else(failed))
    })?;
    Ok(match embedded {
        Ok(query) if query.len() == vectors.dims() => Ok(Meaning { vectors, query }),
        Ok(_) | Err(EmbedError::Stopped) => Err(Degraded::NoModel),
        Err(error) => Err(Degraded::ModelFailed(error.to_string())),
    })
}
