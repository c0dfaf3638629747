//! Finding chunks.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::time::Instant;

use jiff::Timestamp;

use crate::config::SearchConfig;
use crate::engine::Filter;
use crate::request::{Edge, Given, RequestError, Viewer, context, limit, min_score, parse, query_text};
use crate::search::SearchRequest;
use crate::wire::{SearchQuery, SearchResponse, named};

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
    if let Some(name) = query.collection.as_ref().filter(|_| found.results.is_empty()) {
        found.no_such_collection = collections_but(viewer, name)?;
        let says = found.no_such_collection.as_ref().map(|names| no_collection(name, names));
        found.degraded = says.or(found.degraded);
    }
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

/// The collections of what is seen, where that of a name is not among them: to an agent one that is hidden is none.
fn collections_but(viewer: &Viewer, name: &str) -> Result<Option<Vec<String>>, RequestError> {
    // While the vault is read for the first time, nobody knows.
    if !viewer.workspace().shared().progress().caught_up
        || viewer.read_scope()?.files().any(|file| file.path.collection() == name)
    {
        return Ok(None);
    }
    let scope = viewer.settled_scope()?;
    let names: BTreeSet<&str> = scope.files().map(|file| file.path.collection()).collect();
    Ok((!names.contains(name)).then(|| names.into_iter().map(str::to_owned).collect()))
}

/// Says that there is no collection of a name, and which there are. It is no error, as programs ask for collections that are yet to
/// be filled.
fn no_collection(name: &str, there: &[String]) -> String {
    match named(there) {
        None => format!("no note is in a collection `{name}`"),
        Some(there) => format!("no note is in a collection `{name}`; notes are in {there}"),
    }
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
