//! Gives the events of an agent.

use jiff::Timestamp;

use super::check::kind;
use super::keep::no_such_agent;
use crate::request::{Edge, RequestError, Viewer, parse, parse_last};
use crate::trace_files::{FoundTraces, TraceQuestion};
use crate::wire::{TRACE_VERSION, TracesParams, TracesView};

/// Default number of events of an answer.
const EVENTS: usize = 100;
/// Maximum number of events of an answer.
const MAX_EVENTS: usize = 1000;

/// The newest events of an agent, for that agent and the person. For anybody else there is no agent of that name.
///
/// # Errors
/// When there is no such agent, a parameter makes no sense, or the disk refuses.
pub(crate) fn list(viewer: &Viewer, name: &str, params: &TracesParams) -> Result<TracesView, RequestError> {
    let workspace = viewer.workspace();
    let is_there = match viewer.agent() {
        Some(own) => own == name,
        // What an agent that was removed has told stays.
        None => workspace.agents().named(name).is_some() || workspace.traces().has(name),
    };
    if !is_there {
        return Err(no_such_agent());
    }
    let question = question(params, viewer.at())?;
    let mut found = FoundTraces::default();
    match viewer.agent().map(|_| viewer.memory_writer()).transpose()? {
        // Where it may not even read its own memory there is nothing.
        Some(writer) if writer.is_closed() => {}
        writer => {
            if let Some(writer) = writer {
                writer.log_own(
                    "trace",
                    params.trace_id.as_deref().or(params.kind.as_deref()).unwrap_or_default(),
                    Vec::new(),
                );
            }
            found = workspace.traces().newest(name, &question, || !viewer.turn().is_over())?;
        }
    }
    if found.damaged > 0 {
        tracing::warn!("{} lines of the traces of `{name}` are damaged", found.damaged);
    }
    Ok(TracesView {
        agent_name: name.to_owned(),
        schema_version: TRACE_VERSION,
        events: found.events,
        damaged: Some(found.damaged).filter(|damaged| *damaged > 0),
        cut: found.is_cut.then_some(true),
    })
}

fn question(params: &TracesParams, now: Timestamp) -> Result<TraceQuestion, RequestError> {
    let limit = params.limit.unwrap_or(EVENTS);
    if !(1..=MAX_EVENTS).contains(&limit) {
        return Err(RequestError::invalid(format!("`limit` is {limit}; it takes 1 to {MAX_EVENTS}")));
    }
    params.kind.as_deref().map(kind).transpose()?;
    let since = |text: &str| parse("since", text, Edge::Start, now);
    let until = |text: &str| parse_last("until", text, now);
    Ok(TraceQuestion {
        kind: params.kind.clone(),
        channel_id: params.channel_id.clone(),
        trace_id: params.trace_id.clone(),
        since: params.since.as_deref().map(|text| seconds(text, since)).transpose()?,
        until: params.until.as_deref().map(|text| seconds(text, until)).transpose()?,
        limit,
    })
}

/// A point in time in seconds since 1970: as such, or as people write it.
fn seconds(text: &str, read: impl Fn(&str) -> Result<i64, RequestError>) -> Result<f64, RequestError> {
    let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
    number.map_or_else(|| read(text).map(|ms| ms as f64 / 1000.0), Ok)
}
