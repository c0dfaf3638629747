//! What metadata means for who may read a note, wherever in it that stands.

use serde_json::{Map, Value};

use super::tags::pieces;

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
