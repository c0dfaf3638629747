//! Whether agents may see a note, when in doubt not; and whom else what stands in its metadata may hide it from.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::frontmatter::Frontmatter;
use super::tags::{TagSet, is_private, pieces, words};
use super::{Lines, Problem, Visibility};
use crate::base::path::{AttachmentKind, folded};

/// Decides from the frontmatter, the note's tags, and what may be meant as one where none counts.
pub(super) fn decide(frontmatter: &Frontmatter, tags: &[String], doubtful: &[String]) -> Visibility {
    if frontmatter.broken {
        Visibility::BrokenFrontmatter
    } else if has_private_key(&frontmatter.metadata) {
        Visibility::Property
    } else if tags.iter().any(|tag| is_private(tag)) {
        Visibility::Tag
    } else if frontmatter.misplaced_private || doubtful.iter().any(|tag| is_private(tag)) {
        Visibility::Ambiguous
    } else {
        Visibility::Public
    }
}

/// The person that a note is private to, [`folded`]: `private: maya` in its frontmatter, once, and nothing else that makes it private.
pub(super) fn person(frontmatter: &Frontmatter, tags: &[String], doubtful: &[String]) -> Option<String> {
    let is_key = |key: &str| key.trim().eq_ignore_ascii_case("private");
    let said: Vec<&Value> =
        values_in(&frontmatter.metadata).into_iter().filter(|(key, _)| is_key(key)).map(|(_, value)| value).collect();
    let [Value::String(name)] = said[..] else { return None };
    let is_of_note = frontmatter.metadata.get("private").is_some();
    let is_plain = !frontmatter.broken && !frontmatter.misplaced_private && is_of_note;
    let is_tagged = tags.iter().chain(doubtful).any(|tag| is_private(tag));
    let name = folded(name.trim());
    (is_plain && !is_tagged && !is_switch(&name)).then_some(name)
}

/// Whether a text, [`folded`], says yes or no, as YAML does or people do, and so names nobody.
pub(crate) fn is_switch(text: &str) -> bool {
    ["", "true", "false", "yes", "no", "on", "off", "y", "n", "0", "1"].contains(&text)
}

/// What captured files say of where they come from.
const CAPTURED: [&str; 2] = ["capture", "session"];

/// Adds what the frontmatter may mean as tags: in its comments (in `tags: #x`, YAML reads one), in mappings, in lists within
/// tables, in a block that stands where none counts. Says so where that is `#private`.
pub(super) fn doubts_in_frontmatter(
    source: &str,
    lines: &Lines,
    frontmatter: &Frontmatter,
    doubtful: &mut TagSet,
) -> Option<Problem> {
    let named = tags_in(&frontmatter.metadata);
    named.iter().chain(&frontmatter.misplaced_tags).for_each(|tag| doubtful.add(tag));
    let text = source.get(frontmatter.text.clone())?;
    let mut quoted = quoted(&frontmatter.metadata);
    let mut private = None;
    for (at, name) in words(text) {
        if let Some(times) = quoted.get_mut(name).filter(|times| **times > 0) {
            *times -= 1;
            continue;
        }
        doubtful.add(name);
        if is_private(name) {
            private.get_or_insert(at);
        }
    }
    Some(Problem::new(
        lines.line_of(frontmatter.text.start + private?),
        "`#private` may be a comment here; the note is kept private. In frontmatter, write the tag without `#`",
    ))
}

/// How often each word after `#` stands in a text of a captured file's frontmatter. It is what somebody said or a page is called,
/// and no tag. In the person's own files, a `#` in a title is as doubtful as one in a comment.
fn quoted(metadata: &Map<String, Value>) -> HashMap<String, usize> {
    let mut quoted = HashMap::new();
    if !metadata.get("source").and_then(Value::as_str).is_some_and(|source| CAPTURED.contains(&source)) {
        return quoted;
    }
    let count = |(_, name): (usize, &str)| *quoted.entry(name.to_owned()).or_default() += 1;
    texts_in(metadata).into_iter().flat_map(words).for_each(count);
    quoted
}

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
    let says = |(key, value): (&str, &Value)| key.trim().eq_ignore_ascii_case("private") && !is_clearly_false(value);
    values_in(metadata).into_iter().any(says)
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

/// All values in metadata, wherever they stand, with the keys that they are under.
fn values_in(metadata: &Map<String, Value>) -> Vec<(&str, &Value)> {
    let mut found: Vec<(&str, &Value)> = metadata.iter().map(|(key, value)| (key.as_str(), value)).collect();
    let mut at = 0;
    while let Some((key, value)) = found.get(at).copied() {
        match value {
            Value::Array(items) => found.extend(items.iter().map(|item| (key, item))),
            Value::Object(fields) => found.extend(fields.iter().map(|(key, value)| (key.as_str(), value))),
            _ => {}
        }
        at += 1;
    }
    found
}

/// The texts in metadata, wherever they stand.
pub(crate) fn texts_in(metadata: &Map<String, Value>) -> Vec<&str> {
    values_in(metadata).into_iter().filter_map(|(_, value)| value.as_str()).collect()
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
        // One that names no note is one all the same.
        other => sources.push(other.get("path").and_then(Value::as_str).map(path_of).unwrap_or_default()),
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
