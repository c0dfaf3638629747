//! Tags that may be meant where none counts by the letter. They hide a note from those whom its tags hide it from, and say nothing
//! else of it.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::frontmatter::Frontmatter;
use super::metadata::tags_in;
use super::tags::{TagSet, is_private, words};
use super::{Lines, Problem};

/// What captured files say of where they come from.
const CAPTURED: [&str; 2] = ["capture", "session"];

/// Adds what the frontmatter may mean as tags: in its comments (in `tags: #x`, YAML reads one), in mappings, in lists within
/// tables, in a block that stands where none counts. Says so where that is `#private`.
pub(super) fn in_frontmatter(
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
