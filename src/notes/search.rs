//! Finding chunks.

use std::borrow::Cow;
use std::time::Instant;

use jiff::Timestamp;

use crate::config::SearchConfig;
use crate::engine::Filter;
use crate::request::{Edge, Given, RequestError, Viewer, context, limit, min_score, parse, query_text};
use crate::search::SearchRequest;
use crate::wire::{SearchQuery, SearchResponse};

/// Finds chunks.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub fn search(viewer: &Viewer, query: &SearchQuery) -> Result<SearchResponse, RequestError> {
    found(viewer, query, Given { highlights: query.highlight, times: 1 })
}

/// The same, where each hit is given twice.
///
/// # Errors
/// As [`search`].
pub(crate) fn search_for_both_shapes(viewer: &Viewer, query: &SearchQuery) -> Result<SearchResponse, RequestError> {
    found(viewer, query, Given { highlights: query.highlight, times: 2 })
}

fn found(viewer: &Viewer, query: &SearchQuery, given: Given) -> Result<SearchResponse, RequestError> {
    let started = Instant::now();
    let config = settings(viewer, query.set.as_deref())?;
    let request = SearchRequest {
        text: query_text("q", &query.q)?.to_owned(),
        mode: query.mode.unwrap_or(config.mode),
        limit: limit(query.limit, config.limit)?,
        filter: filter(query, viewer.at())?,
        at: viewer.at(),
        min_relevance: min_score(query.min_score)?,
        context: context(query.context)?,
        turn: viewer.turn().clone(),
    };
    let fresh = if query.fresh == Some(true) { viewer.make_fresh() } else { None };
    let mut found = viewer.read_scope()?.find(request, &config, given, started)?;
    found.fresh = fresh;
    viewer.log("search", &query.q, found.citations());
    Ok(found)
}

/// `[search]`, with what the person sets otherwise for one search.
fn settings<'a>(viewer: &'a Viewer, set: Option<&str>) -> Result<Cow<'a, SearchConfig>, RequestError> {
    let config = &viewer.workspace().config().search;
    let Some(set) = set else { return Ok(Cow::Borrowed(config)) };
    if viewer.limits().is_some() {
        return Err(RequestError::forbidden(
            "`set` is the person's: an agent searches with the settings that there are",
        ));
    }
    let hint = Some("`[search]` in memory.toml has the keys and what each takes".to_owned());
    let wrong = |reason| RequestError { hint, ..RequestError::invalid(format!("`set`: {reason}")) };
    config.with(set).map(Cow::Owned).map_err(wrong)
}

fn filter(query: &SearchQuery, now: Timestamp) -> Result<Filter, RequestError> {
    let time = |name, text: &Option<String>, edge| match text {
        Some(text) => parse(name, text, edge, now).map(Some),
        None => Ok(None),
    };
    Ok(Filter {
        collection: query.collection.clone(),
        path: query.path.clone(),
        tag: query.tag.clone(),
        since_ms: time("since", &query.since, Edge::Start)?,
        until_ms: time("until", &query.until, Edge::End)?,
        conditions: Vec::new(),
    })
}
