//! Takes an event in: safe on disk before its sender hears of it.

use super::check::check;
use crate::forgotten::TombstoneScope;
use crate::redact::redact;
use crate::request::{RequestError, Viewer};
use crate::trace_files::change_texts;
use crate::wire::{TRACE_VERSION, TraceKept, TraceParams};

/// Keeps an event of an agent. The same again is success, and is not kept twice.
///
/// # Errors
/// When it is not right, the agent may send none, or none can be kept now.
pub(crate) fn keep(viewer: &Viewer, params: &TraceParams) -> Result<TraceKept, RequestError> {
    let workspace = viewer.workspace();
    let config = &workspace.config().traces;
    let writer = viewer.agent().map(|_| viewer.memory_writer()).transpose()?;
    let agent = match &writer {
        Some(writer) => own_name(writer.slug(), params.agent_name.as_deref())?,
        None => agent_of_person(viewer, params.agent_name.as_deref())?,
    };
    if !config.enabled {
        return Err(RequestError::forbidden("traces are not kept: `enabled` of `[traces]` in memory.toml is false"));
    }
    // Only who has the vault writes into it.
    workspace.files()?;
    let mut event = check(params, agent, viewer.at(), config.max_payload_bytes)?;
    change_texts(&mut event, &mut without_secrets);
    let reach = writer.as_ref().map(|writer| writer.reach());
    let reach = reach.as_ref().map_or(TombstoneScope::All, TombstoneScope::Agent);
    let forgotten = workspace.forgotten();
    let asked = forgotten.ask()?;
    let mut tombstone = None;
    change_texts(&mut event, &mut |_, text| {
        let left = asked.without(text, reach)?;
        tombstone.get_or_insert(left.tombstone);
        Some(left.text.unwrap_or_default())
    });
    if viewer.turn().left().is_some_and(|left| left.is_zero()) || !viewer.turn().begin() {
        return Err(RequestError::unavailable("it took too long", "nothing of it was kept: send it again"));
    }
    let kept = workspace.traces().append(agent, &event, viewer.at());
    let is_new = kept.inspect_err(|_| viewer.turn().rest())?;
    drop(asked);
    if let Some(tombstone) = tombstone.filter(|_| is_new) {
        forgotten.note(&format!("agent {agent}"), &format!("traces/{agent}/"), false, tombstone);
    }
    let id = event["id"].as_str().unwrap_or_default().to_owned();
    Ok(TraceKept { id, agent_name: agent.to_owned(), schema_version: TRACE_VERSION })
}

/// The same for every name but its own, whether there is such an agent or not.
pub(super) fn no_such_agent() -> RequestError {
    RequestError::not_found("there is no agent of this name")
}

fn own_name<'n>(own: &'n str, named: Option<&str>) -> Result<&'n str, RequestError> {
    named.is_none_or(|named| named.is_empty() || named == own).then_some(own).ok_or_else(no_such_agent)
}

fn agent_of_person<'n>(viewer: &Viewer, named: Option<&'n str>) -> Result<&'n str, RequestError> {
    let missing = || RequestError::invalid("`agent_name` is missing: it says whose event it is");
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
