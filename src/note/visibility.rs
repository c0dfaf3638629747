//! Whether agents may see a note. When in doubt they may not.

use super::frontmatter::Frontmatter;
use super::tags::is_private;
use super::{Lines, PrivateReason, Problem, Visibility};
use serde_json::{Map, Value};

/// Decides from the frontmatter, the note's tags and whether its body says `#private` where no tag counts.
pub(super) fn decide(frontmatter: &Frontmatter, tags: &[String], ambiguous: bool) -> Visibility {
    let reason = if frontmatter.broken {
        PrivateReason::BrokenFrontmatter
    } else if has_private_key(&frontmatter.metadata) {
        PrivateReason::Property
    } else if tags.iter().any(|tag| is_private(tag)) {
        PrivateReason::Tag
    } else if ambiguous || frontmatter.misplaced_private {
        PrivateReason::Ambiguous
    } else {
        return Visibility::Public;
    };
    Visibility::Private(reason)
}

/// Whether a mapping that stands where no frontmatter counts would make a note private.
pub(super) fn metadata_says_private(metadata: &Map<String, Value>) -> bool {
    let tagged = metadata.iter().any(|(key, value)| {
        let named = ["tags", "tag"].iter().any(|name| key.trim().eq_ignore_ascii_case(name));
        named && any_text(value, is_private)
    });
    tagged || has_private_key(metadata)
}

/// Finds `#private` in the text of a frontmatter that has no such tag: in `tags: #private`, YAML reads a comment. A key
/// that was commented out (`#private: true`) does not count.
pub(super) fn commented_tag(source: &str, lines: &Lines, frontmatter: &Frontmatter) -> Option<Problem> {
    let text = source.get(frontmatter.text.clone())?;
    let lower = text.to_ascii_lowercase();
    let (at, _) = lower.match_indices("#private").find(|(at, found)| {
        let before = lower[..*at].chars().next_back();
        let rest = &lower[at + found.len()..];
        let starts = before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '/' | '#'));
        let ends = rest.chars().next().is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '_' | '-'));
        starts && ends && !rest.trim_start_matches([' ', '\t']).starts_with([':', '='])
    })?;
    Some(Problem::new(
        lines.line_of(frontmatter.text.start + at),
        "`#private` may be a comment here; the note is kept private. In frontmatter, write the tag without `#`",
    ))
}

/// At any depth: a key that slipped under a TOML table or a nested mapping was still meant.
fn has_private_key(metadata: &Map<String, Value>) -> bool {
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

fn any_text(value: &Value, test: impl Fn(&str) -> bool) -> bool {
    let mut left = vec![value];
    while let Some(value) = left.pop() {
        match value {
            Value::String(text) if test(text) => return true,
            Value::Array(items) => left.extend(items),
            _ => {}
        }
    }
    false
}
