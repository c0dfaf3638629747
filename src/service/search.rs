//! Finding passages.

use std::collections::BTreeSet;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use serde_json::Value;

use super::error::ServiceError;
use super::reach::{Limits, Reach, turn_of};
use super::read::{limit, share};
use super::start::Service;
use super::time::{Edge, parse};
use super::views::{ChunkView, HitView, Scores, SearchParams, SearchResponse};
use crate::access::Principal;
use crate::config::Mode;
use crate::engine::{EngineError, Filter};
use crate::search::{Degraded, Highlighter, Results, SearchRequest, search, snippet};
use crate::sync::ModelStatus;

/// Queries over this are refused: nothing that a person or an agent looks for is longer.
pub(super) const MAX_QUERY_BYTES: usize = 16 * 1024;
/// Maximum number of collections that are named to whoever asks for one that is not there.
const SHOWN_NAMES: usize = 50;
/// While notes change as fast as they are found, a search is begun anew so often.
const MAX_CHANGED_ROUNDS: usize = 4;

impl Service {
    /// Finds passages.
    ///
    /// # Errors
    /// When a parameter makes no sense, or the index is not open yet.
    pub fn search(&self, principal: &Principal, params: &SearchParams) -> Result<SearchResponse, ServiceError> {
        let started = Instant::now();
        if params.q.len() > MAX_QUERY_BYTES {
            let message = format!("`q` has {} bytes; it takes {MAX_QUERY_BYTES}", params.q.len());
            return Err(ServiceError::invalid(message));
        }
        let request = SearchRequest {
            text: params.q.clone(),
            mode: params.mode.unwrap_or(self.config.search.mode),
            limit: limit(params.limit, self.config.search.limit)?,
            filter: filter(params)?,
            turn: turn_of(principal),
        };
        let mut found = self.search_in(self.reach(principal)?, request, params.highlight, started)?;
        self.log_read(principal, "search", &params.q, found.citations());
        if let Some(name) = params.collection.as_ref().filter(|_| found.results.is_empty()) {
            found.no_such_collection = self.collections_but(principal, name)?;
            let says = found.no_such_collection.as_ref().map(|names| no_collection(name, names));
            found.degraded = says.or(found.degraded);
        }
        Ok(found)
    }

    /// The collections of what is seen, where that of a name is not among them: to an agent one that is hidden is none.
    fn collections_but(&self, principal: &Principal, name: &str) -> Result<Option<Vec<String>>, ServiceError> {
        // While the vault is read for the first time, nobody knows.
        if !self.shared.progress().caught_up
            || self.reach(principal)?.files().any(|file| file.path.collection() == name)
        {
            return Ok(None);
        }
        let reach = self.settled_reach(principal)?;
        let names: BTreeSet<&str> = reach.files().map(|file| file.path.collection()).collect();
        Ok((!names.contains(name)).then(|| names.into_iter().map(str::to_owned).collect()))
    }

    /// Finds passages of what is seen.
    pub(super) fn search_in(
        &self,
        mut reach: Reach,
        mut request: SearchRequest,
        highlight: bool,
        started: Instant,
    ) -> Result<SearchResponse, ServiceError> {
        let config = &self.config.search;
        let mut snippet_chars = config.max_snippet_chars;
        if let Some(limits) = reach.limits {
            request.limit = request.limit.min(limits.max_results);
            snippet_chars = snippet_chars.min(limits.max_snippet_chars);
        }
        let mut found = self.found(&reach, &request)?;
        if reach.is_agents() {
            // What changed since it was indexed may be private by now. It is hidden before the ranking, not taken out after it.
            for _ in 0..MAX_CHANGED_ROUNDS {
                let changed: Vec<_> = found
                    .hits
                    .iter()
                    .map(|hit| &hit.file)
                    .filter(|file| !self.is_as_indexed(&reach, file))
                    .cloned()
                    .collect();
                if changed.is_empty() {
                    break;
                }
                changed.iter().for_each(|file| reach.visible.hide(file));
                found = self.found(&reach, &request)?;
            }
            found.hits.retain(|hit| self.is_as_indexed(&reach, &hit.file));
        }
        let (snapshot, mut degraded) = (Arc::clone(&reach.snapshot), found.degraded);
        let mut highlighter = Highlighter::new(&request.text, config.stemmer);
        let mut results = Vec::with_capacity(found.hits.len());
        for hit in found.hits {
            let snippet = snippet(&hit.chunk.text, &mut highlighter, snippet_chars);
            let highlights = highlight.then(|| in_characters(&snippet, &highlighter.matches(&snippet)));
            match self.view(&reach, &hit.file, hit.chunk) {
                Ok(chunk) => results.push(HitView {
                    snippet,
                    highlights,
                    score: hit.score,
                    scores: Scores { keyword: hit.keyword, semantic: hit.semantic },
                    chunk,
                }),
                Err(error) if error.is_damage() => degraded = Some(Degraded::Damaged(error.to_string())),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(Degraded::Damaged(reason)) = &degraded {
            self.suspect(reason);
        }
        drop(snapshot);
        let (embedded, of) = reach.embedded();
        let explain = |degraded| match reach.is_agents() {
            true => explain_briefly(&degraded, found.mode),
            false => self.explain(&degraded, found.mode),
        };
        if let Some(limits) = reach.limits {
            cut_to(&mut results, limits.max_injected_chars);
        }
        Ok(SearchResponse {
            query: request.text,
            mode: found.mode,
            results,
            degraded: degraded.map(explain).or_else(|| self.mending(&reach)),
            no_such_collection: None,
            embedded_share: share(embedded, of),
            took_ms: (!reach.is_agents()).then(|| started.elapsed().as_secs_f64() * 1000.0),
        })
    }

    fn found(&self, reach: &Reach, request: &SearchRequest) -> Result<Results, ServiceError> {
        let embedder = self.shared.embedder();
        let searching =
            || search(reach.snapshot.as_ref(), embedder.as_deref(), &reach.visible, &self.config.search, request);
        // tantivy panics on what it does not expect in its files.
        let found = catch_unwind(AssertUnwindSafe(searching))
            .unwrap_or_else(|_| Err(EngineError::damage("the keyword index: a search in it failed unexpectedly")));
        found.map_err(|error| self.damaged(error))
    }

    fn explain(&self, degraded: &Degraded, mode: Mode) -> String {
        let by_words = if mode == Mode::Keyword { "searched by keyword alone: " } else { "" };
        match degraded {
            Degraded::ModelFailed(reason) => format!("{by_words}the model failed: {reason}"),
            Degraded::Embedding { embedded, of } => {
                format!("{embedded} of {of} passages are embedded so far; the others are found by keyword alone")
            }
            Degraded::NoWords => "searched by meaning alone: the keyword index is damaged and being built anew".into(),
            Degraded::Damaged(reason) => {
                format!("some passages cannot be shown ({reason}); the index is checked and mended")
            }
            Degraded::PhraseAbsent => "no passage has the quoted phrase as it is; these have its words".into(),
            Degraded::NoModel if self.syncer.is_none() => {
                format!("{by_words}another process is writing the index; this is the index as it is now")
            }
            Degraded::NoModel => match self.shared.progress().model {
                ModelStatus::Off => format!("{by_words}`embed.model` is \"none\""),
                ModelStatus::Failed(reason) => format!("{by_words}{reason}"),
                ModelStatus::Loading | ModelStatus::Ready { .. } => format!("{by_words}the model is being loaded"),
            },
        }
    }

    /// Why not everything may be found, while the index is built anew.
    fn mending(&self, reach: &Reach) -> Option<String> {
        let progress = self.shared.progress();
        progress.rebuilt.filter(|_| progress.mending).map(|why| match reach.is_agents() {
            true => "not everything may be found yet".into(),
            false => format!("not everything may be found yet: {why}"),
        })
    }
}

/// Says that there is no collection of a name, and which there are. It is no error, as programs ask for collections that are yet to
/// be filled.
fn no_collection(name: &str, there: &[String]) -> String {
    match named(there) {
        None => format!("no note is in a collection `{name}`"),
        Some(there) => format!("no note is in a collection `{name}`; notes are in {there}"),
    }
}

/// The names of collections for a sentence, not more than can be read; `None` when there is none.
pub fn named(collections: &[String]) -> Option<String> {
    let shown: Vec<String> = collections.iter().take(SHOWN_NAMES).map(|name| format!("`{name}`")).collect();
    match collections.len().checked_sub(SHOWN_NAMES) {
        _ if collections.is_empty() => None,
        None | Some(0) => Some(shown.join(", ")),
        Some(more) => Some(format!("{}, and {more} more", shown.join(", "))),
    }
}

/// Why an answer is less than it could be, without the names of files and models that an agent is not to know.
fn explain_briefly(degraded: &Degraded, mode: Mode) -> String {
    match degraded {
        Degraded::NoModel | Degraded::ModelFailed(_) if mode == Mode::Keyword => "searched by keyword alone",
        Degraded::NoModel | Degraded::ModelFailed(_) => "searched without the model",
        Degraded::Embedding { .. } => "some passages are found by keyword alone so far",
        Degraded::NoWords => "searched by meaning alone",
        Degraded::Damaged(_) => "some passages cannot be shown now",
        Degraded::PhraseAbsent => "no passage has the quoted phrase as it is; these have its words",
    }
    .into()
}

/// Keeps so many characters of the passages, the best first: what does not fit is cut, and what is left of it left out.
fn cut_to(results: &mut Vec<HitView>, max_chars: usize) {
    let mut left = max_chars;
    results.retain_mut(|hit| {
        let snippet = hit.snippet.chars().count();
        let names = within(&mut hit.chunk, left.saturating_sub(snippet));
        let content = hit.chunk.content.chars().count();
        if left == 0 || snippet + names > left {
            left = 0;
            return false;
        }
        left -= snippet + names;
        if content > left {
            hit.chunk.content = hit.chunk.content.chars().take(left).collect();
        }
        left -= content.min(left);
        true
    });
}

/// Characters of what is given of a passage besides its text. Frontmatter that does not fit into `left` is not given.
pub(super) fn within(chunk: &mut ChunkView, left: usize) -> usize {
    let names = around(chunk);
    if names > left {
        chunk.metadata = Value::Object(serde_json::Map::new());
        return around(chunk);
    }
    names
}

/// Characters of what is given of a passage besides its text.
fn around(chunk: &ChunkView) -> usize {
    let names = chunk.heading_path.iter().chain(&chunk.tags).chain([&chunk.title]);
    let metadata = match &chunk.metadata {
        Value::Object(fields) if fields.is_empty() => 0,
        metadata => metadata.to_string().chars().count(),
    };
    names.map(|name| name.chars().count()).sum::<usize>() + metadata
}

impl SearchResponse {
    /// The same, where each hit is given twice.
    #[must_use]
    pub fn given_twice(mut self, limits: Option<Limits>) -> Self {
        if let Some(limits) = limits {
            cut_to(&mut self.results, limits.max_injected_chars / 2);
        }
        self
    }
}

fn filter(params: &SearchParams) -> Result<Filter, ServiceError> {
    let now = Timestamp::now();
    let time = |name, text: &Option<String>, edge| match text {
        Some(text) => parse(name, text, edge, now).map(Some),
        None => Ok(None),
    };
    Ok(Filter {
        collection: params.collection.clone(),
        path: params.path.clone(),
        tag: params.tag.clone(),
        since_ms: time("since", &params.since, Edge::Start)?,
        until_ms: time("until", &params.until, Edge::End)?,
    })
}

/// Ranges of bytes, in order, as ranges of characters.
fn in_characters(text: &str, ranges: &[Range<usize>]) -> Vec<[usize; 2]> {
    let (mut bytes, mut characters) = (0, 0);
    let mut at = |byte: usize| {
        characters += text[bytes..byte].chars().count();
        bytes = byte;
        characters
    };
    ranges.iter().map(|range| [at(range.start), at(range.end)]).collect()
}
