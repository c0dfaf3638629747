//! The notes that a note was made of: what it quotes is as private as they are.

use serde_json::{Map, Value};

use crate::path::AttachmentKind;

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
