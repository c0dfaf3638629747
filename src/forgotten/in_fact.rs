//! A fact, held against what was forgotten: by its name and value, and by all that its line and its headings say.

use serde_json::Value;

use super::asked::ForgottenLookup;
use super::place::TombstoneScope;
use crate::derive::facts::{full_name, read_value};

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
        let texts = [value.to_owned(), key.replace('_', " "), format!("{key}: {value}"), namespace.to_owned()];
        let mut texts = texts.into_iter().chain(namespace.split('/').map(str::to_owned));
        self.has_fact(scope, &full_name(namespace, key), value, reach)
            .or_else(|| texts.find_map(|text| self.in_text(&text, reach)))
            .or_else(|| self.in_parts(key, value, reach))
    }

    /// Which tombstone a part of a fact's value meets: what stands in quotes, in a list or a map, by itself and behind its key.
    pub(crate) fn in_parts(&self, key: &str, value: &str, reach: TombstoneScope<'_>) -> Option<i64> {
        if self.is_empty() || !value.starts_with(['"', '\'', '[', '{']) {
            return None;
        }
        let mut parts = Vec::new();
        parts_of(key, &read_value(value).ok()?, &mut parts);
        parts.iter().find_map(|part| self.in_text(part, reach))
    }

    /// Which tombstone a text meets.
    fn in_text(&self, text: &str, reach: TombstoneScope<'_>) -> Option<i64> {
        self.without(text, reach).map(|left| left.tombstone)
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
