//! What metadata means for who may read a note, wherever in it that stands.

use serde_json::{Map, Value};

use super::tags::pieces;
use crate::base::path::AttachmentKind;

/// The tags that a mapping may name, at whatever depth: a key that slipped under a TOML table or a nested mapping was still
/// meant. `tags: {x: true}` may name `x`.
pub(super) fn tags_in(metadata: &Map<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let mut left: Vec<(&Value, bool)> = Vec::new();
    let is_tags = |key: &str| ["tags", "tag"].iter().any(|name| key.trim().eq_ignore_ascii_case(name));
    left.extend(metadata.iter().map(|(key, value)| (value, is_tags(key))));
    while let Some((value, within)) = left.pop() {
        match value {
            Value::Object(map) => {
                let keys = map.iter().filter(|(_, value)| within && !is_clearly_false(value)).map(|(key, _)| key);
                found.extend(keys.flat_map(|key| pieces(key)).map(str::to_owned));
                left.extend(map.iter().map(|(key, value)| (value, within || is_tags(key))));
            }
            Value::Array(items) => left.extend(items.iter().map(|item| (item, within))),
            Value::String(text) if within => found.extend(pieces(text).map(str::to_owned)),
            _ => {}
        }
    }
    found
}

/// At any depth: a key that slipped under a TOML table or a nested mapping was still meant.
pub(super) fn has_private_key(metadata: &Map<String, Value>) -> bool {
    let mut left: Vec<&Value> = Vec::new();
    let mut private = false;
    let mut look = |map: &'_ Map<String, Value>| {
        private |=
            map.iter().any(|(key, value)| key.trim().eq_ignore_ascii_case("private") && !is_clearly_false(value));
    };
    look(metadata);
    left.extend(metadata.values());
    while let Some(value) = left.pop() {
        match value {
            Value::Object(map) => {
                look(map);
                left.extend(map.values());
            }
            Value::Array(items) => left.extend(items),
            _ => {}
        }
    }
    private
}

fn is_clearly_false(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => {
            let text = text.trim().to_ascii_lowercase();
            matches!(text.as_str(), "" | "false" | "no" | "0" | "off")
        }
        _ => false,
    }
}

/// Which notes a note's frontmatter says it was made of: `annotates.path`, and the list `sources`, each a path, a link
/// (`[[notes/a]]`) or a citation (`notes/a.md#L3`). Paths in the vault, as they are written; one that names no note is
/// given all the same, as who quotes the unknown is not to be trusted.
pub(crate) fn sources(metadata: &Map<String, Value>) -> Vec<String> {
    let mut sources = Vec::new();
    for (key, value) in metadata {
        let key = key.trim();
        if key.eq_ignore_ascii_case("annotates") {
            match value.get("path").and_then(Value::as_str) {
                Some(path) => sources.push(path_of(path)),
                None if value.is_null() => {}
                None => sources.push(String::new()),
            }
        } else if key.eq_ignore_ascii_case("sources") {
            collect(value, &mut sources);
        }
    }
    sources.sort_unstable();
    sources.dedup();
    sources
}

fn collect(value: &Value, sources: &mut Vec<String>) {
    match value {
        Value::Null => {}
        Value::String(text) => sources.push(path_of(text)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, sources)),
        Value::Object(map) => match map.get("path").and_then(Value::as_str) {
            Some(path) => sources.push(path_of(path)),
            None => sources.push(String::new()),
        },
        Value::Bool(_) | Value::Number(_) => sources.push(String::new()),
    }
}

/// The path that a link or a citation names.
fn path_of(text: &str) -> String {
    let text = text.trim();
    let link = text.strip_prefix("[[").and_then(|text| text.strip_suffix("]]")).unwrap_or(text);
    let target = link.split_once('|').map_or(link, |(target, _)| target);
    let path = target.split_once('#').map_or(target, |(path, _)| path).trim();
    let path = path.strip_prefix("vault://").unwrap_or(path);
    let is_named = path.is_empty() || path.ends_with(".md") || path.ends_with(".markdown");
    let is_named = is_named || AttachmentKind::of(path).is_some_and(AttachmentKind::is_document);
    if is_named { path.to_owned() } else { format!("{path}.md") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn sources_are_paths_links_and_citations() {
        let of = |value: Value| sources(value.as_object().unwrap());
        assert_eq!(of(json!({ "title": "x", "source": "save" })), Vec::<String>::new());
        assert_eq!(of(json!({ "annotates": { "path": "notes/a.md", "quote": "x" } })), ["notes/a.md"]);
        let list = json!({ "Sources": ["[[notes/b|b]]", "notes/a.md#L3-L4", "notes/a.md", { "path": "c.md" }] });
        assert_eq!(of(list), ["c.md", "notes/a.md", "notes/b.md"]);
        let documents = json!({ "annotates": { "path": "a/b.pdf" }, "sources": ["[[c.docx#page=3]]", "d.v2"] });
        assert_eq!(of(documents), ["a/b.pdf", "c.docx", "d.v2.md"]);
        for unclear in [json!({ "sources": 5 }), json!({ "annotates": "x" }), json!({ "sources": [{}] })] {
            assert_eq!(of(unclear), [""]);
        }
    }
}
