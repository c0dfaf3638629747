//! What agents tell of their work, event by event: checked, without secrets and what was forgotten, kept to the last; and read by the
//! agent itself and the person, by nobody else.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Map, Number, Value, json};

use crate::access::request::{Edge, RequestError, Viewer, Workspace, parse, parse_last};
use crate::access::rules::{Scope, Token};
use crate::base::fs::FsError;
use crate::base::redact::redact;
use crate::base::tasks::{Task, TaskSignal};
use crate::memory::trace_files::{FoundTraces, TraceQuestion, change_texts, is_time};
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
    let config = &workspace.config.traces;
    let writer = viewer.agent().map(|_| viewer.memory_writer()).transpose()?;
    let agent = match &writer {
        Some(writer) => own_name(&writer.slug, params.agent_name.as_deref())?,
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
    let reach = writer.as_ref().map_or(&Scope::Everything, |writer| &writer.rights);
    let forgotten = &workspace.forgotten;
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
    let kept = workspace.traces.append(agent, &event, viewer.at());
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
    viewer.workspace().agents.named(named).map(|_| named).ok_or_else(no_such_agent)
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
        None => workspace.agents.named(name).is_some() || workspace.traces.has(name),
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
            found = workspace.traces.newest(name, &question, || !viewer.turn().is_over())?;
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
    params.kind.as_deref().map(needed).transpose()?;
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
        let days = vault.config.retention.of_traces();
        vault.traces.tidy(Timestamp::now(), days);
        Some(LOOK_EVERY)
    })
}

/// Each kind, and the text that its payload has to have. Other fields are kept as they are.
const KINDS: [(&str, &str); 8] = [
    ("message_in", "text"),
    ("message_out", "content"),
    ("llm_call", "status"),
    ("tool_call", "tool"),
    ("tool_result", "tool"),
    ("reasoning", "text"),
    ("error", "message"),
    ("lifecycle", "event"),
];

/// Maximum length of a name, in characters.
const MAX_NAME: usize = 200;
/// Maximum whole number, inclusive: 2^53, beyond which floating point numbers do not tell each from the next.
const MAX_COUNT: u64 = 1 << 53;
/// Maximum time by which a clock may be ahead, in seconds.
const MAX_AHEAD_SECONDS: f64 = 24.0 * 3600.0;

/// The text that the payload of a kind has to have.
///
/// # Errors
/// When there is no such kind.
fn needed(name: &str) -> Result<&'static str, RequestError> {
    KINDS.iter().find(|(kind, _)| *kind == name).map(|(_, needed)| *needed).ok_or_else(|| {
        let kinds = KINDS.map(|(kind, _)| kind);
        let name: String = name.chars().take(MAX_NAME).collect();
        RequestError::invalid(format!("`kind` is `{name}`; it takes {}", kinds.join(", ")))
    })
}

/// The event that an agent or the person has sent, with all fields of the envelope.
///
/// # Errors
/// When one of them is not right, by its name.
fn check(params: &TraceParams, agent: &str, now: Timestamp, max_payload: u64) -> Result<Value, RequestError> {
    if let Some(v) = params.v.as_ref().filter(|v| whole(v) != Some(TRACE_VERSION.into())) {
        return Err(RequestError::invalid(format!("`v` is {v}; it takes {TRACE_VERSION}")));
    }
    let payload = payload(params, max_payload)?;
    let seconds = now.as_millisecond() as f64 / 1000.0;
    let said = params.created_at.as_ref().filter(|time| time.as_f64() != Some(0.0));
    let created_at = said.cloned().or_else(|| Number::from_f64(seconds));
    let time = created_at.as_ref().and_then(Number::as_f64).filter(|time| *time <= seconds + MAX_AHEAD_SECONDS);
    if !time.is_some_and(is_time) {
        let said = created_at.as_ref().map(Number::to_string).unwrap_or_default();
        let message = format!("`created_at` is {said}; it takes seconds since 1970, not in the future");
        return Err(RequestError::invalid(message));
    }
    let id = match name("id", params.id.as_deref())? {
        Some(id) => id.to_owned(),
        None => random_id()?,
    };
    let duration = params.duration_ms.clone().or_else(|| {
        let start = params.ts_start.as_ref().and_then(Number::as_f64)?;
        Some(Number::from(((seconds - start) * 1000.0).max(0.0) as u64))
    });
    for (field, value) in [("duration_ms", &duration), ("cost_usd", &params.cost_usd)] {
        if let Some(value) = value.as_ref().filter(|value| value.as_f64().is_none_or(|value| value < 0.0)) {
            return Err(RequestError::invalid(format!("`{field}` is {value}; it takes 0 and more")));
        }
    }
    Ok(json!({
        "v": TRACE_VERSION,
        "id": id,
        "trace_id": name("trace_id", params.trace_id.as_deref())?,
        "parent_id": name("parent_id", params.parent_id.as_deref())?,
        "created_at": created_at,
        "agent_name": agent,
        "kind": params.kind,
        "channel_id": name("channel_id", params.channel_id.as_deref())?,
        "thread_id": name("thread_id", params.thread_id.as_deref())?,
        "backend_name": name("backend_name", params.backend_name.as_deref())?,
        "model": name("model", params.model.as_deref())?,
        "duration_ms": duration,
        "tokens_in": count("tokens_in", params.tokens_in.as_ref())?,
        "tokens_out": count("tokens_out", params.tokens_out.as_ref())?,
        "cost_usd": params.cost_usd,
        "error": params.error,
        "payload": payload,
    }))
}

fn payload(params: &TraceParams, max: u64) -> Result<Map<String, Value>, RequestError> {
    let (kind, needed) = (&params.kind, needed(&params.kind)?);
    let payload = params.payload.clone().unwrap_or_default();
    if !payload.get(needed).is_some_and(Value::is_string) {
        return Err(RequestError::invalid(format!("`payload.{needed}` of `{kind}` is missing, or no text")));
    }
    let bytes = serde_json::to_vec(&payload).map_or(0, |json| json.len()) + params.error.as_deref().map_or(0, str::len);
    match bytes as u64 > max {
        true => Err(RequestError::invalid(format!("`payload` and `error` have {bytes} bytes, and take {max}"))),
        false => Ok(payload),
    }
}

/// A whole number, however it is written: programs that know floating point numbers alone write 3 as `3.0`.
fn whole(number: &Number) -> Option<u64> {
    let float = || number.as_f64().filter(|value| value.fract() == 0.0 && (0.0..=MAX_COUNT as f64).contains(value));
    number.as_u64().or_else(|| float().map(|value| value as u64)).filter(|value| *value <= MAX_COUNT)
}

/// How many there were of something.
fn count(field: &str, number: Option<&Number>) -> Result<Option<u64>, RequestError> {
    let wrong = |number: &Number| {
        RequestError::invalid(format!("`{field}` is {number}; it takes whole numbers from 0 to {MAX_COUNT}"))
    };
    number.map(|number| whole(number).ok_or_else(|| wrong(number))).transpose()
}

/// A name of something; nothing is none.
fn name<'p>(field: &str, text: Option<&'p str>) -> Result<Option<&'p str>, RequestError> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(None) };
    match text.chars().count() <= MAX_NAME && !text.chars().any(char::is_control) {
        true => Ok(Some(text)),
        false => Err(RequestError::invalid(format!("`{field}` takes up to {MAX_NAME} characters on one line"))),
    }
}

/// A name that nothing has.
fn random_id() -> Result<String, RequestError> {
    let random = Token::random().map_err(|error| {
        RequestError::unavailable(format!("cannot get random numbers from the system: {error}"), "send an `id`")
    })?;
    Ok(random.reveal().chars().take(32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(event: Value) -> Result<Value, String> {
        let params: TraceParams = serde_json::from_value(event).unwrap();
        let now = "2026-03-02T10:30:00Z".parse().unwrap();
        check(&params, "ada", now, 1000).map_err(|error| error.message)
    }

    #[test]
    fn an_event_has_all_fields_and_its_numbers_as_they_were() {
        let event = read(json!({
            "id": "e1", "kind": "llm_call", "created_at": 1_772_446_200, "tokens_in": 7, "cost_usd": 0.25, "ts_start": 1_772_447_399.5,
            "payload": { "status": "success", "messages": [{ "role": "user", "content": "Hi" }], "own": 1 }, "else": true,
        }))
        .unwrap();
        let keys: Vec<&str> = event.as_object().unwrap().keys().map(String::as_str).collect();
        let all = "v id trace_id parent_id created_at agent_name kind channel_id thread_id backend_name model duration_ms tokens_in \
                   tokens_out cost_usd error payload";
        assert_eq!(keys, all.split_whitespace().collect::<Vec<_>>());
        assert_eq!(event["created_at"].to_string(), "1772446200");
        assert_eq!(
            (&event["duration_ms"], &event["cost_usd"], &event["agent_name"]),
            (&json!(500), &json!(0.25), &json!("ada"))
        );
        assert_eq!(event["payload"]["own"], 1);
        let own = read(json!({ "kind": "lifecycle", "payload": { "event": "start" } })).unwrap();
        assert_eq!((own["id"].as_str().unwrap().len(), own["created_at"].as_f64()), (32, Some(1_772_447_400.0)));
    }

    #[test]
    fn a_whole_number_may_be_written_as_a_float() {
        let event = |fields: &str| {
            let text = format!("{{\"kind\":\"reasoning\",\"payload\":{{\"text\":\"x\"}},{fields}}}");
            read(serde_json::from_str(&text).unwrap())
        };
        for (written, kept) in [
            ("3", 3),
            ("3.0", 3),
            ("3e2", 300),
            ("0", 0),
            ("-0.0", 0),
            ("9007199254740992.0", 9_007_199_254_740_992_u64),
        ] {
            let event = event(&format!("\"v\":1.0,\"tokens_in\":{written},\"tokens_out\":{written}")).unwrap();
            for field in ["tokens_in", "tokens_out"] {
                assert_eq!((&event[field], event[field].is_u64()), (&json!(kept), true), "{written}");
            }
            assert_eq!(event["v"], json!(1));
        }
        assert_eq!(event("\"tokens_in\":null").unwrap()["tokens_in"], Value::Null);
        for wrong in ["3.5", "-1", "-1.0", "9007199254740993", "9007199254740994.0", "1e300", "18446744073709551615"] {
            for field in ["tokens_in", "tokens_out", "v"] {
                let error = event(&format!("\"{field}\":{wrong}")).unwrap_err();
                assert!(error.starts_with(&format!("`{field}` is ")), "{field} {wrong}: {error}");
            }
        }
        assert!(event("\"v\":1.5").is_err());
        for strange in ["\"3\"", "\"NaN\"", "[3]", "true"] {
            let text = format!("{{\"kind\":\"reasoning\",\"tokens_in\":{strange}}}");
            assert!(serde_json::from_str::<TraceParams>(&text).is_err(), "{strange}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        let payload = json!({ "text": "x" });
        for (event, named) in [
            (json!({ "kind": "thought", "payload": {} }), "`kind` is `thought`; it takes message_in, message_out"),
            (json!({ "kind": "message_in", "payload": {} }), "`payload.text` of `message_in` is missing"),
            (json!({ "kind": "tool_call", "payload": { "tool": 1 } }), "`payload.tool` of `tool_call` is missing"),
            (json!({ "kind": "reasoning", "v": 2, "payload": payload }), "`v` is 2"),
            (json!({ "kind": "reasoning", "created_at": 1_772_447_399_500_i64, "payload": payload }), "`created_at`"),
            (json!({ "kind": "reasoning", "created_at": -1, "payload": payload }), "`created_at`"),
            (json!({ "kind": "reasoning", "duration_ms": -1, "payload": payload }), "`duration_ms`"),
            (json!({ "kind": "reasoning", "id": "a\nb", "payload": payload }), "`id`"),
            (json!({ "kind": "reasoning", "channel_id": "x".repeat(201), "payload": payload }), "`channel_id`"),
            (json!({ "kind": "reasoning", "payload": { "text": "x".repeat(1000) } }), "`payload` and `error` have"),
        ] {
            let error = read(event).unwrap_err();
            assert!(error.starts_with(named), "{named}: {error}");
        }
    }

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
