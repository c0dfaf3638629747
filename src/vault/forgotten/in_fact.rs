//! A fact, held against what was forgotten: by its name and value, and by all that its line and its headings say.

use serde_json::Value;

use super::asked::ForgottenLookup;
use super::place::TombstoneScope;
use crate::text::derive::facts::{full_name, read_value};

/// A fact as it is about to stand in a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FactToWrite<'a> {
    /// The headings above it, joined by `/`.
    pub namespace: &'a str,
    /// Its key.
    pub key: &'a str,
    /// Its value as written.
    pub value: &'a str,
}

impl ForgottenLookup<'_> {
    /// Which tombstone a fact of a memory scope meets: as a fact, or because its value, its key, its line or a heading above it says what was
    /// forgotten.
    pub(crate) fn in_fact(&self, scope: &str, fact: FactToWrite<'_>, reach: TombstoneScope<'_>) -> Option<i64> {
        if self.is_empty() {
            return None;
        }
        let FactToWrite { namespace, key, value } = fact;
        let mut texts = vec![value.to_owned(), key.replace('_', " "), format!("{key}: {value}"), namespace.to_owned()];
        texts.extend(namespace.split('/').map(str::to_owned));
        // What stands in quotes, in a list or a map, by itself and behind its key.
        if value.starts_with(['"', '\'', '[', '{'])
            && let Ok(value) = read_value(value)
        {
            parts_of(key, &value, &mut texts);
        }
        let in_text = |text: &String| self.without(text, reach).map(|left| left.tombstone);
        self.has_fact(scope, &full_name(namespace, key), value, reach).or_else(|| texts.iter().find_map(in_text))
    }
}

/// What a value says below a key.
fn parts_of(key: &str, value: &Value, parts: &mut Vec<String>) {
    match value {
        Value::String(text) => parts.extend([text.clone(), format!("{key}: {text}")]),
        Value::Array(values) => values.iter().for_each(|value| parts_of(key, value, parts)),
        Value::Object(map) => {
            for (key, value) in map {
                parts.push(key.clone());
                parts_of(key, value, parts);
            }
        }
        // Every scalar of a fact is a text.
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}
