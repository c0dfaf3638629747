//! Takes an event in, safe on disk before its sender hears of it; gives the events of an agent; and has files mended, sealed and removed.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::check::{check, kind};
use crate::access::request::{Edge, RequestError, Viewer, Workspace, parse, parse_last};
use crate::access::rules::Scope;
use crate::base::fs::FsError;
use crate::base::redact::redact;
use crate::base::tasks::{Task, TaskSignal};
use crate::memory::trace_files::{FoundTraces, TraceQuestion, change_texts};
use crate::serve::wire::{TRACE_VERSION, TraceParams, TraceStored, TracesParams, TracesView};

/// Default number of events of an answer.
const EVENTS: usize = 100;
/// Maximum number of events of an answer.
const MAX_EVENTS: usize = 1000;
/// The longest time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// Keeps an event of an agent. The same again is success, and is not kept twice.
///
/// # Errors
/// When it is not right, the agent may send none, or none can be kept now.
pub(crate) fn keep(viewer: &Viewer, params: &TraceParams) -> Result<TraceStored, RequestError> {
    let workspace = viewer.workspace();
    let config = &workspace.config().traces;
    let writer = viewer.agent().map(|_| viewer.memory_writer()).transpose()?;
    let agent = match &writer {
        Some(writer) => own_name(writer.slug(), params.agent_name.as_deref())?,
        None => agent_of_person(viewer, params.agent_name.as_deref())?,
    };
    if !config.enabled {
        return Err(RequestError::forbidden(
            "traces are switched off: `enabled` of `[traces]` in memory.toml is false",
        ));
    }
    // Only who has the vault writes into it.
    workspace.files()?;
    let mut event = check(params, agent, viewer.at(), config.max_payload_bytes)?;
    change_texts(&mut event, &mut without_secrets);
    let reach = writer.as_ref().map_or(&Scope::Everything, |writer| writer.rights());
    let forgotten = workspace.forgotten();
    let asked = forgotten.ask()?;
    let mut tombstone = None;
    change_texts(&mut event, &mut |_, text| {
        let left = asked.without(text, reach)?;
        tombstone.get_or_insert(left.tombstone);
        Some(left.text.unwrap_or_default())
    });
    if viewer.turn().left().is_some_and(|left| left.is_zero()) || !viewer.turn().begin() {
        return Err(RequestError::unavailable("the request took too long", "nothing was stored; send it again"));
    }
    let kept = workspace.traces().append(agent, &event, viewer.at());
    let is_new = kept.inspect_err(|_| viewer.turn().rest())?;
    drop(asked);
    if let Some(tombstone) = tombstone.filter(|_| is_new) {
        forgotten.note(&format!("agent {agent}"), &format!("traces/{agent}/"), false, tombstone);
    }
    let id = event["id"].as_str().unwrap_or_default().to_owned();
    Ok(TraceStored { id, agent_name: agent.to_owned(), schema_version: TRACE_VERSION })
}

/// The same for every name but its own, whether there is such an agent or not.
fn no_such_agent() -> RequestError {
    RequestError::not_found("there is no agent of this name")
}

fn own_name<'n>(own: &'n str, named: Option<&str>) -> Result<&'n str, RequestError> {
    named.is_none_or(|named| named.is_empty() || named == own).then_some(own).ok_or_else(no_such_agent)
}

fn agent_of_person<'n>(viewer: &Viewer, named: Option<&'n str>) -> Result<&'n str, RequestError> {
    let missing = || RequestError::invalid("`agent_name` is required");
    let named = named.filter(|named| !named.is_empty()).ok_or_else(missing)?;
    viewer.workspace().agents().named(named).map(|_| named).ok_or_else(no_such_agent)
}

/// A text without the secrets in it; what its field is called says that it is one, too.
fn without_secrets(name: Option<&str>, text: &str) -> Option<String> {
    let redacted = redact(text);
    if redacted != text {
        return Some(redacted.into_owned());
    }
    let head = format!("{}=\"", name?);
    let whole = format!("{head}{text}\"");
    let redacted = redact(&whole);
    let left = redacted.strip_prefix(&head)?.strip_suffix('"')?;
    (left != text).then(|| left.to_owned())
}

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

/// Starts the task.
///
/// # Errors
/// When no thread can be started; so in all rooms that have one.
pub(crate) fn tidy_traces(workspace: &Arc<Workspace>) -> Result<Task, FsError> {
    let vault = Arc::clone(workspace);
    Task::start("traces", TaskSignal::default(), move |_, _| {
        let days = vault.config().traces.retention_days;
        vault.traces().tidy(Timestamp::now(), days);
        Some(LOOK_EVERY)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_known_by_its_shape_or_by_the_name_of_its_field() {
        for (name, text, left) in [
            (Some("password"), "hunter2 and more", Some("[redacted: password]")),
            (Some("api_key"), "a8F3kZ0qL9xT2mB7", Some("[redacted: secret]")),
            (Some("text"), "password: hunter2!", Some("password: [redacted: password]")),
            (Some("text"), "nothing of that kind", None),
            (None, "nothing", None),
        ] {
            assert_eq!(without_secrets(name, text).as_deref(), left, "{name:?} {text}");
        }
    }
}
