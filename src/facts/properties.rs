//! What notes say of themselves, asked for as facts are: `[facts] properties`. The namespace is the note's path without its ending.

use serde_json::Value;

use super::scopes::Sight;
use crate::config::MemoryScope;
use crate::derive::Label;
use crate::derive::facts::{inline_fields, read_value};
use crate::engine::FileEntry;
use crate::note::Note;
use crate::path::folded;
use crate::request::{RequestError, Viewer, rfc3339};
use crate::wire::{FactState, FactView, FactsParams, citation};

/// The properties that are asked for: those of a note, by its name as the namespace, or those of all notes with a key. `key:: value` in a
/// text is found with the former alone.
pub(super) fn properties(
    viewer: &Viewer,
    sight: &Sight,
    scope: &MemoryScope,
    params: &FactsParams,
) -> Result<Vec<FactView>, RequestError> {
    let (given, config) = (sight.given(), viewer.workspace().config());
    let part = scope.part(&config.memory_scopes, &config.collections);
    let mut found = Vec::new();
    match (&params.namespace, &params.key) {
        (Some(namespace), _) => {
            let file = given.file(&format!("{namespace}.md")).or_else(|| {
                let wanted = folded(namespace);
                given.files().find(|file| folded(stem(file)) == wanted)
            });
            let Some(file) = file.filter(|file| part.holds(file.path.as_str()) && given.gives(file)) else {
                return Ok(found);
            };
            of_frontmatter(sight, file, params.key.as_deref(), &mut found)?;
            if let Ok(source) = viewer.workspace().source(&file.path) {
                let note = Note::parse(&source.text, file.path.stem());
                let fields = inline_fields(&note, &source.text).into_iter();
                let wanted = fields.filter(|field| params.key.as_ref().is_none_or(|key| *key == field.key));
                found.extend(wanted.map(|field| {
                    let value = read_value(&field.text).unwrap_or_else(|_| Value::String(field.text.clone()));
                    FactView {
                        citation: citation(file.path.as_str(), field.line as u32, field.line as u32),
                        ..view(file, &field.key, value)
                    }
                }));
            }
        }
        (None, Some(key)) => {
            for id in given.reader().files().facets().labelled(Label::of_property(key, None)).iter() {
                given.go_on()?;
                let file =
                    given.reader().files().get(id).filter(|file| given.has(file) && part.holds(file.path.as_str()));
                if let Some(file) = file.filter(|file| given.gives(file)) {
                    of_frontmatter(sight, file, Some(key), &mut found)?;
                }
            }
            found.sort_by(|one, other| one.path.cmp(&other.path));
        }
        (None, None) => {}
    }
    found.iter_mut().for_each(|fact| fact.scope = scope.to_string());
    Ok(found)
}

fn of_frontmatter(
    sight: &Sight,
    file: &FileEntry,
    key: Option<&str>,
    found: &mut Vec<FactView>,
) -> Result<(), RequestError> {
    let given = sight.given();
    let metadata = given.reader().metadata(file.id).map_err(|error| given.workspace().damaged(error))?;
    let metadata: Value = metadata.and_then(|metadata| serde_json::from_str(&metadata).ok()).unwrap_or_default();
    let pairs = metadata.as_object().into_iter().flatten();
    let wanted = pairs.filter(|(name, value)| !value.is_null() && key.is_none_or(|key| folded(key) == folded(name)));
    found.extend(wanted.map(|(name, value)| view(file, name, as_texts(value))));
    Ok(())
}

/// The value with every scalar as a text, as facts have them.
fn as_texts(value: &Value) -> Value {
    match value {
        Value::Number(number) => Value::String(number.to_string()),
        Value::Bool(truth) => Value::String(truth.to_string()),
        Value::Array(values) => values.iter().map(as_texts).collect(),
        Value::Object(map) => Value::Object(map.iter().map(|(key, value)| (key.clone(), as_texts(value))).collect()),
        other => other.clone(),
    }
}

fn stem(file: &FileEntry) -> &str {
    let path = file.path.as_str();
    path.rsplit_once('.').map_or(path, |(stem, _)| stem)
}

fn view(file: &FileEntry, key: &str, value: Value) -> FactView {
    FactView {
        scope: String::new(),
        namespace: stem(file).to_owned(),
        key: key.to_owned(),
        value,
        state: FactState::Current,
        valid_from: None,
        valid_to: None,
        learned: Some(rfc3339(file.updated_ms)),
        by: None,
        source: None,
        tags: Vec::new(),
        path: file.path.to_string(),
        citation: file.path.to_string(),
        history: Vec::new(),
        windows: Vec::new(),
    }
}
