//! Whether agents may see a note. When in doubt they may not.

use super::frontmatter::Frontmatter;
use super::tags::is_private;
use super::{PrivateReason, Visibility};
use serde_json::{Map, Value};

/// Decides from the frontmatter, the note's tags, and what may be meant as one where none counts.
pub(super) fn decide(frontmatter: &Frontmatter, tags: &[String], doubtful: &[String]) -> Visibility {
    let reason = if frontmatter.broken {
        PrivateReason::BrokenFrontmatter
    } else if has_private_key(&frontmatter.metadata) {
        PrivateReason::Property
    } else if tags.iter().any(|tag| is_private(tag)) {
        PrivateReason::Tag
    } else if frontmatter.misplaced_private || doubtful.iter().any(|tag| is_private(tag)) {
        PrivateReason::Ambiguous
    } else {
        return Visibility::Public;
    };
    Visibility::Private(reason)
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

pub(super) fn is_clearly_false(value: &Value) -> bool {
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
