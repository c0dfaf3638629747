//! Tags that may be meant where none counts by the letter. They hide a note from those whom its tags hide it from, and say nothing
//! else of it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::frontmatter::Frontmatter;
use super::tags::{TagSet, is_private, pieces, words};
use super::visibility::is_clearly_false;
use super::{Lines, Problem};

/// What captured files say of where they come from.
const CAPTURED: &str = "capture";

/// Adds what the frontmatter may mean as tags: in its comments (in `tags: #x`, YAML reads one), in mappings, in lists within
/// tables, in a block that stands where none counts. Says so where that is `#private`.
pub(super) fn in_frontmatter(
    source: &str,
    lines: &Lines,
    frontmatter: &Frontmatter,
    doubtful: &mut TagSet,
) -> Option<Problem> {
    let named = in_metadata(&frontmatter.metadata);
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

/// The tags that a mapping may name, at whatever depth: a key that slipped under a TOML table or a nested mapping was still
/// meant. `tags: {x: true}` may name `x`.
pub(super) fn in_metadata(metadata: &Map<String, Value>) -> Vec<String> {
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

/// How often each word after `#` stands in a text of a captured file's frontmatter. It is what somebody said or a page is called,
/// and no tag. In the person's own files, a `#` in a title is as doubtful as one in a comment.
fn quoted(metadata: &Map<String, Value>) -> HashMap<String, usize> {
    let mut quoted = HashMap::new();
    if metadata.get("source").and_then(Value::as_str) != Some(CAPTURED) {
        return quoted;
    }
    let mut left: Vec<&Value> = metadata.values().collect();
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) => words(text).for_each(|(_, name)| *quoted.entry(name.to_owned()).or_default() += 1),
            Value::Array(items) => left.extend(items),
            Value::Object(map) => left.extend(map.values()),
            _ => {}
        }
    }
    quoted
}
