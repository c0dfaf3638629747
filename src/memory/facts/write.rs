//! Setting facts: the person anywhere, an agent in the file of its own.

use serde_json::Value;

use super::read::one;
use crate::access::request::{MemoryWriter, RequestError, Viewer, source_place, tags, validity};
use crate::access::rules::Scope;
use crate::base::config::MemoryScope;
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::memory::items::{FactWriter, ItemError};
use crate::serve::wire::{FactNameParams, FactRetractParams, FactSetParams, FactWrittenView};
use crate::text::derive::facts::{
    FactEdit, MAX_VALUE_BYTES, NewFact, Validity, full_name, is_key, is_namespace, written_value,
};
use crate::text::note::Note;
use crate::vault::disk::{Act, Action};
use crate::vault::forgotten::{ANY_SCOPE, FactToWrite};

/// Sets a fact: in its line, or as a new one.
///
/// # Errors
/// When a parameter makes no sense, who asks may not write there, the file was changed at the same moment or cannot be changed so, or
/// the disk refuses.
pub(crate) fn set(viewer: &Viewer, params: &FactSetParams) -> Result<FactWrittenView, RequestError> {
    let name =
        FactNameParams { scope: params.scope.clone(), namespace: params.namespace.clone(), key: params.key.clone() };
    let redacts = viewer.workspace().redacts();
    let value = texts(&params.value, &|text| if redacts { redact(text).into_owned() } else { text.to_owned() })?;
    let redacted = value != texts(&params.value, &str::to_owned)?;
    let written = written_value(&value);
    if written.len() > MAX_VALUE_BYTES {
        return Err(RequestError::invalid(format!("`value` has {} bytes; it takes {MAX_VALUE_BYTES}", written.len())));
    }
    let window = validity(params.from.as_deref(), params.until.as_deref())?;
    let tags = params.tags.as_deref().map(tags).transpose()?;
    let source = params.source.as_deref().map(|text| source_place("source", text, true)).transpose()?;
    let is_correction = params.correct == Some(true);
    let expected = params.if_value.as_deref().map(|value| Some(value).filter(|value| !value.is_empty()));
    let new = NewFact { value: &value, window: &window, tags: tags.as_deref(), is_correction };
    let is_over = window.end().is_some_and(|until| until <= viewer.at().as_millisecond());
    if is_over && !is_correction {
        may_be_past(viewer, &window)?;
    }
    // What was true then says nothing of what is true now.
    let edit = match is_over && !is_correction {
        true => FactEdit::Was { text: written.clone(), window: window.clone() },
        false => FactEdit::Set(new),
    };
    let written = write(viewer, &name, source.as_deref(), Some(&written), &edit, expected)?;
    Ok(FactWrittenView { redacted, ..written })
}

/// Refuses what is over where nothing of now is to be changed by it.
fn may_be_past(viewer: &Viewer, window: &Validity) -> Result<(), RequestError> {
    let refused = |why: &str| Err(RequestError::invalid(format!("`until` is in the past; {why}")));
    if viewer.agent().is_some() {
        return refused("an agent can only set what is true from now on");
    }
    if !viewer.workspace().fact_store.keeps_history {
        return refused("only the history stores past spans, and it is switched off: `[facts] history` in memory.toml");
    }
    if window.from.is_none() {
        return refused("also set `from` (0 for always)");
    }
    Ok(())
}

/// Takes a fact out of its file: it is true no more.
///
/// # Errors
/// As [`set`]; when it is not there.
pub(crate) fn unset(viewer: &Viewer, params: &FactNameParams) -> Result<FactWrittenView, RequestError> {
    write(viewer, params, None, None, &FactEdit::Unset, None)
}

/// Says of a fact when it is true, and when it was confirmed; its value stays as it is written.
///
/// # Errors
/// As [`unset`].
pub(crate) fn set_window(
    viewer: &Viewer,
    params: &FactNameParams,
    window: Validity,
) -> Result<FactWrittenView, RequestError> {
    write(viewer, params, None, None, &FactEdit::Window(window), None)
}

/// Strikes a fact out: it was never true; or, with a span that is over, takes back what is known of that.
///
/// # Errors
/// As [`unset`]; when the span makes no sense, or nothing is known of it.
pub(crate) fn retract(viewer: &Viewer, params: &FactRetractParams) -> Result<FactWrittenView, RequestError> {
    let FactRetractParams { scope, namespace, key, from, until } = params.clone();
    let name = FactNameParams { scope, namespace, key };
    let span = validity(from.as_deref(), until.as_deref())?;
    if span.is_empty() {
        return write(viewer, &name, None, None, &FactEdit::Retract, None);
    }
    if span.end().is_none_or(|until| until > viewer.at().as_millisecond()) {
        let why = "only a past span can be retracted; without `from` and `until` the present value is";
        return Err(RequestError::invalid(format!("`until` is not in the past; {why}")));
    }
    may_be_past(viewer, &span)?;
    write(viewer, &name, None, None, &FactEdit::WasNot { span }, None)
}

/// Makes a change as who asks for it.
fn write(
    viewer: &Viewer,
    params: &FactNameParams,
    source: Option<&str>,
    value: Option<&str>,
    edit: &FactEdit<'_>,
    expected: Option<Option<&str>>,
) -> Result<FactWrittenView, RequestError> {
    let workspace = viewer.workspace();
    let namespace = params.namespace.as_deref().unwrap_or_default();
    check_name(namespace, &params.key)?;
    let files = workspace.files()?;
    let scope = params.scope.as_deref().map(one).transpose()?;
    let (scope, by, agent) = match viewer.agent() {
        None => (scope.unwrap_or(MemoryScope::User), "owner".to_owned(), None),
        Some(slug) => {
            let own = MemoryScope::Agent(slug.to_owned());
            if scope.is_some_and(|scope| scope != own) {
                return Err(RequestError::kept_by_person("an agent can write only the facts of its own memory"));
            }
            (own, format!("agent {slug}"), Some(viewer.memory_writer()?))
        }
    };
    let path = workspace.fact_store.path(&scope)?;
    let act: Act<'_> = match &agent {
        None => Action::Edit.into(),
        Some(agent) => {
            may_write(agent, &path)?;
            agent.act(Action::Edit, value.map_or(0, str::len))
        }
    };

    let forgotten = &workspace.forgotten;
    let asked = forgotten.ask()?;
    let fact = value.map(|value| FactToWrite { namespace, key: &params.key, value });
    let known = agent.as_ref().zip(fact).and_then(|(agent, fact)| asked.in_fact(ANY_SCOPE, fact, &agent.rights));
    // It hears what it would have heard: a refusal would tell what was forgotten.
    let writer = FactWriter { files, by: &by, source, act, leaves: known.is_some() };
    let written = workspace.fact_store.edit(&writer, &scope, (namespace, &params.key), edit, expected);
    if let (Some(tombstone), Ok(_)) = (known, &written) {
        forgotten.note(&by, path.as_str(), true, tombstone);
    }
    let is_known = |fact| asked.in_fact(&scope.to_string(), fact, &Scope::Everything).is_some();
    let forgotten_before = agent.is_none() && fact.is_some_and(is_known);
    drop(asked);
    if let Some(agent) = &agent {
        agent.log_own("fact_set", path.as_str(), Vec::new());
        if written.is_err() {
            agent.turn().rest();
        }
    }
    let written = written.map_err(|error| match error {
        ItemError::Edit { source: crate::text::derive::ItemEditError::Absent("fact"), .. } => {
            RequestError::not_found(format!("there is no fact `{}`", full_name(namespace, &params.key)))
        }
        error => error.into(),
    })?;
    if let Some(agent) = &agent
        && written.checkpoint.is_some()
        && let Err(error) = workspace.settled_within(&path, agent.patience())
    {
        tracing::warn!("{error}");
    }
    Ok(FactWrittenView {
        ok: true,
        scope: scope.to_string(),
        namespace: namespace.to_owned(),
        key: params.key.clone(),
        before: written.before,
        path: path.to_string(),
        checkpoint_id: written.checkpoint.map(|id| id.to_string()),
        redacted: false,
        forgotten_before,
    })
}

/// Refuses what the person does not let an agent write, and a file that it could not read.
fn may_write(agent: &MemoryWriter, path: &VaultPath) -> Result<(), RequestError> {
    agent.may_write_items("set no facts")?;
    let workspace = agent.workspace();
    let scope = agent.own_memory()?;
    let known = scope.reader().files().at(path.as_str());
    let is_private = match workspace.files()?.read(path)? {
        Some((bytes, _)) => {
            std::str::from_utf8(&bytes).map_or(true, |text| Note::parse(text, path.stem()).is_private())
        }
        None => false,
    };
    if workspace.hides(path) || is_private || known.is_some_and(|file| !scope.has(file)) {
        return Err(RequestError::kept_by_person(format!("you cannot access `{path}`; nothing was written")));
    }
    agent.begin()
}

fn check_name(namespace: &str, key: &str) -> Result<(), RequestError> {
    if !is_key(key) {
        let message = format!("`key` is {key:?}; it takes letters, digits, `_`, `-` and `.`, a letter or `_` first");
        return Err(RequestError::invalid(message));
    }
    if !is_namespace(namespace) {
        let message =
            format!("`namespace` is {namespace:?}; it takes up to five headings in lower case, joined by `/`");
        return Err(RequestError::invalid(message));
    }
    Ok(())
}

/// A value of which every scalar is a text.
fn texts(value: &Value, clean: &impl Fn(&str) -> String) -> Result<Value, RequestError> {
    let invalid = |message: &str| Err(RequestError::invalid(format!("`value` {message}")));
    match value {
        Value::Null => invalid("is null; use `unset` to remove a fact"),
        Value::String(text) if text.trim().is_empty() => invalid("is empty; use `unset` to remove a fact"),
        Value::String(text) => Ok(Value::String(clean(text.trim()))),
        // Nobody can tell 3.10 from 3.1 any more.
        Value::Number(number) if number.is_f64() => {
            invalid("has a number that may have lost precision; send it as a text: \"3.10\"")
        }
        Value::Number(number) => Ok(Value::String(number.to_string())),
        Value::Bool(truth) => Ok(Value::String(truth.to_string())),
        Value::Array(values) => {
            values.iter().map(|value| texts(value, clean)).collect::<Result<Vec<_>, _>>().map(Value::Array)
        }
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| Ok((key.clone(), texts(value, clean)?)));
            pairs.collect::<Result<serde_json::Map<_, _>, _>>().map(Value::Object)
        }
    }
}
