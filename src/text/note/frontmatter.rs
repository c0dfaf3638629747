//! Where a note's frontmatter is, what it says, and what the program reads out of that.

use std::ops::Range;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::privacy::{has_private_key, tags_in};
use super::tags::TagSet;
use super::yaml::{self, Language, ParsedBlock};
use super::{Lines, Note, Problem, tags};

/// Maximum of what is read as frontmatter, in bytes. Real ones are under 2 KB; past this it is prose between two rules, or hostile.
const MAX_BYTES: usize = 64 << 10;

/// A note's frontmatter, read.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Frontmatter {
    pub(super) metadata: Map<String, Value>,
    /// Its text between the delimiter lines; empty when there is none or it is broken.
    pub(super) text: Range<usize>,
    pub(super) broken: bool,
    /// A block that says `private` stands where no frontmatter counts.
    pub(super) misplaced_private: bool,
    /// The tags that such a block may name.
    pub(super) misplaced_tags: Vec<String>,
    pub(super) problems: Vec<Problem>,
    /// Where the body starts. Broken frontmatter is body from its second line on.
    pub(super) body_start: usize,
    /// Where Markdown starts: after the closing line of a broken block too, which would turn it into a Setext heading.
    pub(super) markdown_start: usize,
}

/// Reads the frontmatter of a note: YAML between `---` lines, TOML between `+++` lines, at the very start or after a byte
/// order mark. Blanks after a delimiter do no harm; `...` closes nothing, as in Obsidian.
///
/// Unclosed or too large: all that follows the opening line is Markdown, since it was hardly meant as frontmatter. Closed
/// but unreadable: its lines are body, but not Markdown.
pub(super) fn read(source: &str, lines: &Lines) -> Frontmatter {
    let start = source.len() - source.trim_start_matches('\u{feff}').len();
    let first = &source[start..lines.span(1).end.max(start)];
    let language = match first.trim_end() {
        "---" => Language::Yaml,
        "+++" => Language::Toml,
        _ => return absent(source, lines, start),
    };
    let text_start = lines.span(1).end;
    let mut found = Frontmatter {
        text: text_start..text_start,
        body_start: text_start,
        markdown_start: text_start,
        ..Frontmatter::default()
    };
    let delimiter = language.delimiter();
    let closing = (2..=lines.count()).find(|&n| source[lines.span(n)].trim_end() == delimiter);
    let problem = match closing {
        None => Problem::new(
            1,
            format!(
                "frontmatter is opened by `{delimiter}` and never closed; close it, or put a blank line above the rule"
            ),
        ),
        Some(line) if lines.span(line).start - text_start > MAX_BYTES => {
            Problem::new(1, format!("frontmatter is larger than {} KiB; close it earlier", MAX_BYTES >> 10))
        }
        Some(line) => {
            let text = text_start..lines.span(line).start;
            found.markdown_start = lines.span(line).end;
            match yaml::read(language, &normalised(source, lines, 2..line)) {
                ParsedBlock::Mapping(metadata) => {
                    found.body_start = found.markdown_start;
                    return Frontmatter { metadata, text, ..found };
                }
                ParsedBlock::NotMapping => Problem::new(1, "frontmatter is not made of `key: value` lines"),
                ParsedBlock::Duplicate(key) => Problem::new(
                    key_line(source, lines, &text, &key, 2),
                    format!("frontmatter has the key `{key}` twice; remove one"),
                ),
                ParsedBlock::Invalid { line, message } => {
                    Problem::new(line, format!("frontmatter cannot be read: {}", message.trim()))
                }
            }
        }
    };
    found.broken = true;
    found.problems.push(problem);
    found
}

/// The key that a line of frontmatter has at the top level.
pub(crate) fn key_of(line: &str) -> Option<&str> {
    let (key, _) = line.split_once([':', '=']).filter(|_| !line.starts_with([' ', '\t', '#']))?;
    Some(key.trim_end().trim_matches(['"', '\'']))
}

/// Returns the 1-based line of the nth top-level use of a key, for messages.
fn key_line(source: &str, lines: &Lines, text: &Range<usize>, key: &str, nth: usize) -> Option<usize> {
    let has_key = |n: &usize| key_of(&source[lines.span(*n)]) == Some(key);
    (lines.line_of(text.start)..lines.line_of(text.end)).filter(has_key).nth(nth.saturating_sub(1))
}

/// The lines with `\n` for whatever ended them, as the readers need them.
fn normalised(source: &str, lines: &Lines, numbers: Range<usize>) -> String {
    let mut text = String::new();
    for number in numbers {
        text.push_str(source[lines.span(number)].trim_end_matches(['\r', '\n']));
        text.push('\n');
    }
    text
}

/// A note without frontmatter by the letter. What was meant as one, but begins below a blank line, with blanks or invisible
/// characters, or with a delimiter that an editor made a dash of, still counts when it says that the note is private.
fn absent(source: &str, lines: &Lines, start: usize) -> Frontmatter {
    let mut found = Frontmatter { body_start: start, markdown_start: start, ..Frontmatter::default() };
    let invisible =
        |c: char| c.is_whitespace() || c.is_control() || matches!(c, '\u{feff}' | '\u{200b}'..='\u{200f}' | '\u{2060}');
    let opening = lines.line_of(source.len() - source.trim_start_matches(invisible).len());
    let text_of = |n: usize| source[lines.span(n)].trim_matches(invisible);
    let dashes = |text: &str| text != "-" && !text.is_empty() && text.chars().all(|c| "-—–+".contains(c));
    // Also `---yaml`, which other programs write.
    let named = text_of(opening).strip_prefix("---").map(str::trim_start);
    let named = named.is_some_and(|name| name.len() <= 8 && name.chars().all(char::is_alphanumeric));
    if !dashes(text_of(opening)) && !named {
        return found;
    }
    let limit = lines.line_of(lines.span(opening).end + MAX_BYTES);
    let Some(closing) = (opening + 1..=limit).find(|&n| dashes(text_of(n))) else {
        return found;
    };
    let language = if text_of(opening).starts_with('+') { Language::Toml } else { Language::Yaml };
    let text = normalised(source, lines, opening + 1..closing);
    let private = match yaml::read(language, &text) {
        ParsedBlock::Mapping(metadata) if metadata.is_empty() => return found,
        ParsedBlock::Mapping(metadata) => {
            found.misplaced_tags = tags_in(&metadata);
            found.misplaced_tags.extend(tags::words(&text).map(|(_, name)| name.to_owned()));
            has_private_key(&metadata)
        }
        ParsedBlock::NotMapping => return found,
        ParsedBlock::Duplicate(_) | ParsedBlock::Invalid { .. } => {
            let lower = text.to_lowercase();
            if lower.contains("tag") {
                // Whichever word of it was meant as one.
                let words = text.split(|c: char| c.is_whitespace() || ",;:[]{}\"'".contains(c));
                found.misplaced_tags = words.flat_map(tags::pieces).map(str::to_owned).collect();
            }
            if !lower.contains("private") && found.misplaced_tags.is_empty() {
                return found;
            }
            lower.contains("private")
        }
    };
    found.misplaced_private = private;
    found.problems.push(Problem::new(
        opening,
        "this looks like frontmatter, but frontmatter starts with `---` alone on the first line; it is read as text",
    ));
    found
}

/// A note with what its frontmatter says of its title, which is empty where it gives none, its other names, its dates, and problems with these; and its
/// tags. Keys count whatever their case, as in Obsidian.
pub(super) fn fields(source: &str, lines: &Lines, frontmatter: &Frontmatter) -> (Note, TagSet) {
    let entries = |wanted| entries(&frontmatter.metadata, wanted);
    let line = |key: &str| key_line(source, lines, &frontmatter.text, key, 1);
    let title = entries(["title", "title"]).find_map(|(_, value)| text_of(value)).unwrap_or_default();
    let mut note = Note { title, aliases: aliases(&frontmatter.metadata), ..Note::default() };
    let mut tags = TagSet::default();
    for (key, value) in entries(["tags", "tag"]) {
        if value.is_object() {
            note.problems.push(Problem::new(line(key), format!("`{key}` is not a list of tags")));
        }
        each_text(value, &[',', ' ', '\t', '\n'], &mut |tag| {
            tags.add(tag.trim_start_matches('#').trim_end_matches('/').trim());
        });
    }
    for (names, date) in [(["created", "date"], &mut note.created), (["updated", "modified"], &mut note.updated)] {
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
                note.problems.push(Problem::new(line(key), message));
            }
        }
    }
    (note, tags)
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
