//! What notes say of themselves, asked for as facts are: `[facts] properties`. The namespace is the note's path without its ending.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::access::request::{RequestError, Visibility, rfc3339};
use crate::base::config::MemoryScope;
use crate::base::path::folded;
use crate::index::engine::FileEntry;
use crate::serve::wire::{FactView, FactsParams, citation};
use crate::text::derive::facts::{full_name, inline_fields, read_value};
use crate::text::derive::{Label, property_as_written, property_line};
use crate::text::note::Note;

/// The properties that are asked for, by frontmatter and by `key:: value` in the text: those of a note, by its name as the namespace, or
/// those of all notes with a key. About so many are given at most: notes are read for their lines.
pub(super) fn properties(
    visibility: &Visibility,
    scope: &MemoryScope,
    params: &FactsParams,
    most: usize,
) -> Result<Vec<FactView>, RequestError> {
    let mut found = Vec::new();
    // They have no tags of their own, and nobody has noted when they were others.
    if params.tag.is_some() || params.changed_since.is_some() {
        return Ok(found);
    }
    let given = visibility.given();
    let config = given.workspace().config();
    let part = scope.part(&config.collections);
    let files = meant(visibility, params);
    for file in files.iter().filter(|file| part.holds(file.path.as_str()) && given.gives(file)) {
        given.go_on()?;
        of_note(visibility, file, params.key.as_deref(), &mut found)?;
        if let Some(prefix) = &params.prefix {
            found.retain(|fact| full_name(&fact.namespace, &fact.key).starts_with(prefix.as_str()));
        }
        if found.len() > most {
            break;
        }
    }
    found.iter_mut().for_each(|fact| fact.scope = scope.to_string());
    Ok(found)
}

/// The notes that are asked for, as far as they are seen, in the order of their paths.
fn meant(visibility: &Visibility, params: &FactsParams) -> Vec<Arc<FileEntry>> {
    let given = visibility.given();
    let files = given.reader().files();
    let labelled = |labels: &[Option<Label>]| {
        let labels = labels.iter().flatten();
        let ids: BTreeSet<u32> =
            labels.flat_map(|label| files.facets().labelled(*label).iter().collect::<Vec<_>>()).collect();
        let found = ids.into_iter().filter_map(|id| files.get(id)).filter(|file| given.has(file));
        let mut found: Vec<Arc<FileEntry>> = found.map(Arc::clone).collect();
        found.sort_by(|one, other| one.path.cmp(&other.path));
        found
    };
    match (&params.namespace, &params.key) {
        (Some(namespace), _) => {
            let wanted = folded(namespace);
            let name = namespace.rsplit('/').next().unwrap_or(namespace);
            let mut found = labelled(&[Label::of_name(name)]);
            found.retain(|file| folded(stem(file)) == wanted);
            // Of two whose names differ in case alone the one that was typed is meant.
            let exact = found.iter().position(|file| stem(file) == namespace).unwrap_or_default();
            found.into_iter().skip(exact).take(1).collect()
        }
        (None, Some(key)) => labelled(&[Some(Label::of_property(key, None)), Some(Label::of_field(key))]),
        (None, None) => Vec::new(),
    }
}

/// What a note says of itself, or of that what has a key; each with its line, where that is plain to see.
fn of_note(
    visibility: &Visibility,
    file: &FileEntry,
    key: Option<&str>,
    found: &mut Vec<FactView>,
) -> Result<(), RequestError> {
    let given = visibility.given();
    let is_wanted = |name: &str| key.is_none_or(|key| folded(key) == folded(name));
    // What an agent is told is what was indexed.
    let source = given.workspace().source(&file.path).ok();
    let source = source.filter(|source| !given.is_agents() || source.stamp == file.stamp);
    let at = |line: Option<usize>| match line {
        Some(line) => citation(file.path.as_str(), line as u32, line as u32),
        None => file.path.to_string(),
    };
    let metadata = given.reader().metadata(file.id).map_err(|error| given.workspace().damaged(error))?;
    let metadata: Value = metadata.and_then(|metadata| serde_json::from_str(&metadata).ok()).unwrap_or_default();
    for (name, value) in metadata.as_object().into_iter().flatten() {
        if !value.is_null() && is_wanted(name) {
            let text = source.as_ref().map(|source| &*source.text);
            let line = text.and_then(|text| property_line(text, name));
            let value = property_as_written(text, name, value);
            found.push(FactView { citation: at(line), ..view(file, name, value) });
        }
    }
    if let Some(source) = source.filter(|source| source.text.contains("::")) {
        let note = Note::of(&file.path, &source.text);
        for field in inline_fields(&note, &source.text).into_iter().filter(|field| is_wanted(&field.key)) {
            let value = read_value(&field.text).unwrap_or_else(|_| Value::String(field.text.clone()));
            found.push(FactView { citation: at(Some(field.line)), ..view(file, &field.key, value) });
        }
    }
    Ok(())
}

fn stem(file: &FileEntry) -> &str {
    let path = file.path.as_str();
    path.rsplit_once('.').map_or(path, |(stem, _)| stem)
}

fn view(file: &FileEntry, key: &str, value: Value) -> FactView {
    FactView {
        namespace: stem(file).to_owned(),
        key: key.to_owned(),
        value,
        learned: Some(rfc3339(file.updated_ms)),
        path: file.path.to_string(),
        citation: file.path.to_string(),
        ..FactView::default()
    }
}
