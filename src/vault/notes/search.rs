//! Finding chunks.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use crate::access::request::{
    Edge, Given, MAX_CONTEXT, RequestError, Viewer, limit, memory_scopes, parse, query_text, within,
};
use crate::base::config::{MemoryScope, SearchConfig, VaultPart};
use crate::index::engine::{Filter, Predicate};
use crate::index::search::{SearchRequest, condition_without_value};
use crate::serve::wire::{SearchQuery, SearchResponse};
use crate::text::derive::Label;

/// Finds chunks.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub fn search(viewer: &Viewer, query: &SearchQuery) -> Result<SearchResponse, RequestError> {
    search_times(viewer, query, 1)
}

/// The same, where each hit is given so many `times`.
///
/// # Errors
/// As [`search`].
pub(crate) fn search_times(viewer: &Viewer, query: &SearchQuery, times: usize) -> Result<SearchResponse, RequestError> {
    let started = Instant::now();
    let config = settings(viewer, query)?;
    let timeout = query.timeout_ms.map(Duration::from_millis);
    let given = Given { highlights: query.highlight, times, timeout };
    let (mut filter, parts) = (filter(query, viewer.at())?, parts(viewer, query)?);
    filter.summaries_since_ms = summaries_since(viewer);
    if !parts.is_empty() {
        filter.conditions.push(Predicate::Within(parts.iter().map(|(part, _)| part.clone()).collect()).into());
    }
    let text = query_text("q", &query.q)?.to_owned();
    if let Some(part) = condition_without_value(&text) {
        let hint = "add one, as in `tag:travel` and `[rating:>3]`, or quote it to search for its words";
        return Err(RequestError::invalid(format!("`{part}` has no value")).hint(hint));
    }
    let request = SearchRequest {
        text,
        mode: query.mode.unwrap_or(config.mode),
        limit: limit(query.limit, config.limit)?,
        filter,
        parts,
        at: viewer.at(),
        min_relevance: within("min_score", query.min_score, 0.0..=1.0)?,
        context: within("context", query.context, 0..=MAX_CONTEXT)?,
        turn: viewer.turn().clone(),
    };
    let fresh = if query.fresh == Some(true) { viewer.make_fresh() } else { None };
    viewer.await_model(request.mode, &config);
    let find = |request: SearchRequest| viewer.read_scope()?.find(request, &config, given, started);
    let of_topic = topic(query).map(|topic| {
        let mut request = request.clone();
        request.filter.conditions.push(topic.into());
        find(request)
    });
    let most = viewer.limits().map_or(request.limit, |limits| request.limit.min(limits.max_results));
    let mut found = match of_topic.transpose()? {
        Some(found) if found.results.len() >= ENOUGH_OF_A_TOPIC.min(most) => found,
        few => SearchResponse { without_topic: few.is_some(), ..find(request)? },
    };
    found.fresh = fresh;
    viewer.log("search", &query.q, found.citations());
    Ok(found)
}

/// Hits of a topic from which on no others are looked for.
const ENOUGH_OF_A_TOPIC: usize = 3;

/// That a note is of the topic that is asked for.
fn topic(query: &SearchQuery) -> Option<Predicate> {
    let topic = query.topic.as_deref().map(str::trim).filter(|topic| !topic.is_empty())?;
    Some(Predicate::Labelled(Label::of_property("topic", Some(topic))))
}

/// A memory scope that is named as a collection, as other programs do: `aq_project_mech`, `project:mech`.
fn scope_as_collection(query: &SearchQuery) -> Option<&str> {
    let name = query.collection.as_deref().filter(|name| name.starts_with("aq_") || name.contains(':'))?;
    MemoryScope::parse(name).is_ok().then_some(name)
}

/// The parts of the vault that are asked, and what each counts.
fn parts(viewer: &Viewer, query: &SearchQuery) -> Result<Vec<(VaultPart, f64)>, RequestError> {
    let config = &viewer.workspace().config;
    let scopes = query.resolve.as_deref().or(query.scope.as_deref()).or(scope_as_collection(query));
    let Some(scopes) = scopes else { return Ok(Vec::new()) };
    let part = |(scope, weight): (MemoryScope, Option<f64>)| {
        let usual = match scope {
            MemoryScope::Project(_) | MemoryScope::Agent(_) | MemoryScope::User => 1.0,
            MemoryScope::AgentType(_) => 0.7,
            MemoryScope::Orchestrator | MemoryScope::System => 0.4,
        };
        (scope.part(&config.collections), weight.unwrap_or(usual))
    };
    Ok(memory_scopes("scope", scopes)?.into_iter().map(part).collect())
}

/// From when on summaries are searched as their layer; always where they are kept for ever.
fn summaries_since(viewer: &Viewer) -> Option<i64> {
    let days = viewer.workspace().config.memory.summary_retention_days;
    (days > 0).then(|| viewer.at().as_millisecond().saturating_sub(days as i64 * MILLISECONDS_OF_A_DAY))
}

const MILLISECONDS_OF_A_DAY: i64 = 24 * 60 * 60 * 1000;

/// `[search]`, with what is said otherwise for one search.
fn settings<'a>(viewer: &'a Viewer, query: &SearchQuery) -> Result<Cow<'a, SearchConfig>, RequestError> {
    let hint = "the keys and their values are those of `[search]` in memory.toml";
    let wrong = |reason| RequestError::invalid(format!("`set`: {reason}")).hint(hint);
    let config = &viewer.workspace().config.search;
    let mut config = match &query.set {
        None => Cow::Borrowed(config),
        Some(_) if viewer.limits().is_some() => {
            let message = "`set` is only for the owner; an agent searches with the configured settings";
            return Err(RequestError::forbidden(message));
        }
        Some(set) => Cow::Owned(config.with(set).map_err(wrong)?),
    };
    if let Some(asked) = within("timeout_ms", query.timeout_ms, 1..=60_000)? {
        // An agent may wait less long than the person has said, and not longer.
        let most = Some(config.timeout_ms).filter(|most| *most > 0 && viewer.limits().is_some());
        config.to_mut().timeout_ms = most.map_or(asked, |most| asked.min(most));
    }
    Ok(config)
}

fn filter(query: &SearchQuery, now: Timestamp) -> Result<Filter, RequestError> {
    let time = |name, text: &Option<String>, edge| text.as_ref().map(|text| parse(name, text, edge, now)).transpose();
    let (since, until) = (time("since", &query.since, Edge::Start)?, time("until", &query.until, Edge::End)?);
    let collection = query.collection.clone().filter(|_| scope_as_collection(query).is_none());
    let tags = query.tag.iter().flat_map(|tags| tags.split(',')).map(str::trim).filter(|tag| !tag.is_empty());
    let mut wanted: Vec<Predicate> = collection.map(Predicate::Collection).into_iter().collect();
    wanted.extend(tags.map(|tag| Predicate::Tag(tag.to_owned())));
    if since.is_some() || until.is_some() {
        wanted.push(Predicate::Updated(since.unwrap_or(i64::MIN), until.unwrap_or(i64::MAX)));
    }
    wanted.extend(query.path.clone().map(Predicate::PathPrefix));
    wanted.extend(query.layer.map(Predicate::Layer));
    Ok(Filter::of(wanted))
}
