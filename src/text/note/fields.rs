//! What the program reads out of a note's metadata.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::frontmatter::{Frontmatter, key_line};
use super::tags::TagSet;
use super::{Lines, Problem};

/// The fields of a note that its frontmatter gives.
#[derive(Debug, Default)]
pub(super) struct NoteFields {
    pub(super) title: Option<String>,
    pub(super) tags: TagSet,
    pub(super) aliases: Vec<String>,
    pub(super) created: Option<Timestamp>,
    pub(super) updated: Option<Timestamp>,
    pub(super) problems: Vec<Problem>,
}

/// Reads the fields. Keys count whatever their case, as in Obsidian.
pub(super) fn read(source: &str, lines: &Lines, frontmatter: &Frontmatter) -> NoteFields {
    let mut fields = NoteFields::default();
    let entries = |wanted| entries(&frontmatter.metadata, wanted);
    let line = |key: &str| key_line(source, lines, &frontmatter.text, key, 1);

    fields.title = entries(["title", "title"]).find_map(|(_, value)| text_of(value));
    for (key, value) in entries(["tags", "tag"]) {
        if value.is_object() {
            fields.problems.push(Problem::new(line(key), format!("`{key}` is not a list of tags")));
        }
        each_text(value, &[',', ' ', '\t', '\n'], &mut |tag| {
            fields.tags.add(tag.trim_start_matches('#').trim_end_matches('/').trim());
        });
    }
    fields.aliases = aliases(&frontmatter.metadata);
    for (names, date) in [(["created", "date"], &mut fields.created), (["updated", "modified"], &mut fields.updated)] {
        for (key, value) in entries(names) {
            let read = date_of(value);
            *date = date.or(read);
            let is_left_open =
                value.is_null() || value.as_str().is_some_and(|text| text.trim().is_empty() || is_template(text));
            if read.is_none() && !is_left_open {
                let shown: String = match value.is_object() || value.is_array() {
                    true => key.to_owned(),
                    false => format!("{key}: {}", value.to_string().chars().take(40).collect::<String>()),
                };
                let message = format!("`{shown}` is not a date; write it as 2024-01-31 or 2024-01-31T09:30");
                fields.problems.push(Problem::new(line(key), message));
            }
        }
    }
    fields
}

/// Whether a value is to be filled in, as in a note that others are made after: `{{date}}` of Obsidian, `<% tp.date.now() %>` of Templater.
fn is_template(text: &str) -> bool {
    [("{{", "}}"), ("<%", "%>")].iter().any(|(open, close)| text.contains(open) && text.contains(close))
}

/// The other names that a note's metadata gives it.
pub(crate) fn aliases(metadata: &Map<String, Value>) -> Vec<String> {
    let mut aliases: Vec<String> = Vec::new();
    for (_, value) in entries(metadata, ["aliases", "alias"]) {
        each_text(value, &[',', '\n'], &mut |alias| {
            if !aliases.iter().take(MAX_COMPARED).any(|known| known == alias) {
                aliases.push(alias.to_owned());
            }
        });
    }
    aliases
}

/// What stands under either name, by the order of the names wanted, not of the file: `created` goes before `date`.
fn entries<'a>(
    metadata: &'a Map<String, Value>,
    wanted: [&'static str; 2],
) -> impl Iterator<Item = (&'a String, &'a Value)> {
    wanted
        .into_iter()
        .flat_map(move |name| metadata.iter().filter(move |(key, _)| key.trim().eq_ignore_ascii_case(name)))
}

/// Maximum number of others that an alias is compared with, so that 20,000 of them cost no quadratic time.
const MAX_COMPARED: usize = 100;

/// A scalar as text: strings, numbers and booleans that are not blank.
fn text_of(value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => text.split_whitespace().collect::<Vec<_>>().join(" "),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => String::new(),
    };
    Some(text).filter(|text| !text.is_empty())
}

/// Calls back with each text in a list, however nested, or with each piece of a text. Readers of metadata bound the depth.
fn each_text(value: &Value, separators: &[char], found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) if !separators.is_empty() => {
            text.split(separators).map(str::trim).filter(|piece| !piece.is_empty()).for_each(found);
        }
        Value::Array(items) => items.iter().for_each(|item| each_text(item, &[], found)),
        other => text_of(other).iter().for_each(|text| found(text)),
    }
}

/// Reads a date as people and programs write them: RFC 3339, a date and time without offset (taken as UTC), a date, a
/// wikilink to a daily note, Unix seconds (10 digits) or milliseconds (13 digits). `None` for anything else.
fn date_of(value: &Value) -> Option<Timestamp> {
    match value {
        Value::String(text) => date_of_text(text),
        Value::Number(number) => {
            let whole = number.as_i64()?;
            match number.to_string().len() {
                8 => date_of_text(&number.to_string()),
                10 => Timestamp::from_second(whole).ok(),
                13 => Timestamp::from_millisecond(whole).ok(),
                _ => None,
            }
        }
        _ => None,
    }
}

fn date_of_text(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    let text = text.strip_prefix("[[").and_then(|inner| inner.strip_suffix("]]")).unwrap_or(text);
    if let Ok(exact) = text.parse::<Timestamp>() {
        return Some(exact);
    }
    let civil = match text.parse::<DateTime>() {
        Ok(civil) => civil,
        Err(_) => text.parse::<Date>().ok()?.to_datetime(jiff::civil::Time::midnight()),
    };
    TimeZone::UTC.to_timestamp(civil).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn dates_as_people_write_them() {
        for (written, read) in [
            (json!("2024-01-05"), "2024-01-05T00:00:00Z"),
            (json!("[[2024-01-05]]"), "2024-01-05T00:00:00Z"),
            (json!("2024-01-05 13:45"), "2024-01-05T13:45:00Z"),
            (json!("2024-01-05T13:45:10"), "2024-01-05T13:45:10Z"),
            (json!("2024-01-05T13:45:10+02:00"), "2024-01-05T11:45:10Z"),
            (json!(" 2024-01-05 13:45:10Z "), "2024-01-05T13:45:10Z"),
            (json!(20240105), "2024-01-05T00:00:00Z"),
            (json!(1_704_412_800), "2024-01-05T00:00:00Z"),
            (json!(1_704_412_800_000_i64), "2024-01-05T00:00:00Z"),
        ] {
            let found = date_of(&written).map(|time| time.to_string());
            assert_eq!(found.as_deref(), Some(read), "{written}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for written in [
            json!("soon"),
            json!("2024-13-45"),
            json!("05.01.2024"),
            json!(""),
            json!(2024),
            json!(1.5),
            json!(true),
            json!(["2024-01-05"]),
            json!(99_999_999_999_999_i64),
        ] {
            assert_eq!(date_of(&written), None, "{written}");
        }
    }
}
