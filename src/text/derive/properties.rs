//! What a note's frontmatter says of it: as properties, as lines that are read, and as words by which it is found.

use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::{Map, Value};

use super::generated::is_generated;
use super::words::{fold, plain_words};
use crate::text::note::{Note, aliases};

/// Keys that say how a note is kept and not what it is: the program's own, and what the note is called, which stands elsewhere.
const KEPT: [&str; 14] = [
    "title", "private", "searchable", "annotates", "sources", "session", "created", "updated", "modified", "date",
    "tags", "tag", "aliases", "alias",
];
/// Where a note comes from, when it is the program that says so.
const MADE_BY: [&str; 3] = ["save", "capture", "import"];
/// Maximum number of values.
const MAX_VALUES: usize = 64;
/// Maximum total length of the values, in bytes.
const MAX_BYTES: usize = 4_000;

/// A property and its values, as a person reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Property {
    /// Its key; of one within another `outer.inner`.
    pub(crate) key: String,
    /// Its values, links without their brackets.
    pub(crate) values: Vec<String>,
}

/// Whether a key, of which that is the outermost part, says how a note is kept.
pub(super) fn is_kept(key: &str) -> bool {
    let outer = key.split('.').next().unwrap_or(key).trim().to_lowercase();
    KEPT.contains(&outer.as_str())
}

/// The properties of a note's frontmatter that say what it is.
pub(crate) fn properties(metadata: &Map<String, Value>) -> Vec<Property> {
    let mut found = Vec::new();
    let mut room = (MAX_VALUES, MAX_BYTES);
    for (key, value) in metadata {
        let name = key.trim().to_lowercase();
        let made_by = name == "source" && value.as_str().is_some_and(|by| MADE_BY.contains(&by));
        if !KEPT.contains(&name.as_str()) && !made_by {
            collect(key.trim(), value, &mut found, &mut room);
        }
    }
    found
}

/// The values of one property; case and accents do not count in its key.
pub(crate) fn values_of(metadata: &Map<String, Value>, key: &str) -> Vec<String> {
    let wanted = fold(key.trim());
    let named = properties(metadata).into_iter().filter(|property| fold(&property.key) == wanted);
    named.flat_map(|property| property.values).collect()
}

fn collect(key: &str, value: &Value, found: &mut Vec<Property>, room: &mut (usize, usize)) {
    let mut values = Vec::new();
    let put = |text: String| {
        if !text.trim().is_empty() && room.0 > 0 && text.len() <= room.1 {
            *room = (room.0 - 1, room.1 - text.len());
            values.push(text);
        }
    };
    match value {
        Value::Array(items) => items.iter().filter_map(text_of).for_each(put),
        Value::Object(fields) => {
            for (inner, value) in fields {
                // No deeper than this: what is nested further is data of some program.
                if !value.is_object() {
                    collect(&format!("{key}.{inner}"), value, found, room);
                }
            }
        }
        value => text_of(value).into_iter().for_each(put),
    }
    if !values.is_empty() {
        found.push(Property { key: key.to_owned(), values });
    }
}

/// A scalar as it is read.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(without_links(text)),
        Value::Bool(_) | Value::Number(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// A value as it is read: links are what they show.
pub(crate) fn without_links(text: &str) -> String {
    static LINK: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?s)\[\[(.*?)\]\]").expect("a test uses it"));
    let shows = |link: &Captures<'_>| match link[1].split_once('|') {
        Some((_, shows)) => shows.to_owned(),
        None => link[1].rsplit('/').next().unwrap_or_default().to_owned(),
    };
    LINK.replace_all(text, shows).trim().to_owned()
}

/// The properties as lines, `key: value, value`, with tags and other names: what a note says that has no more than these.
pub(crate) fn property_lines(note: &Note) -> String {
    let mut lines: Vec<String> = properties(&note.metadata)
        .into_iter()
        .map(|Property { key, values }| format!("{key}: {}", values.join(", ")))
        .collect();
    if !note.aliases.is_empty() {
        lines.insert(0, format!("aliases: {}", note.aliases.join(", ")));
    }
    if !note.tags.is_empty() {
        lines.push(format!("tags: {}", note.tags.join(", ")));
    }
    lines.join("\n")
}

/// By what a note is found beside its title and text: its file's name, its other names, its tags and, if nobody generated it, the values of its
/// properties. What stands in the title already is not said again.
pub(crate) fn other_names(title: &str, stem: &str, tags: &[String], metadata: &Map<String, Value>) -> String {
    let title = plain_words(title, false);
    let mut names = Vec::new();
    let mut put = |text: &str| {
        if plain_words(text, false).iter().any(|word| !title.contains(word)) {
            names.push(text.to_owned());
        }
    };
    put(stem);
    aliases(metadata).iter().take(MAX_VALUES).for_each(|name| put(name));
    tags.iter().take(MAX_VALUES).for_each(|name| put(name));
    // What a generated file says there is how it was made.
    if !is_generated(metadata) {
        properties(metadata).iter().flat_map(|property| &property.values).for_each(|value| put(value));
    }
    names.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILM: &str = "---\ntitle: Blade Runner\naliases: [Do Androids Dream]\ndirector: \"[[Ridley Scott]]\"\nyear: 1982\n\
                        cast: [\"[[people/Harrison Ford|Ford]]\", \"\"]\nseen: {where: Zürich}\nprivate: false\nsource: save\n\
                        tags: [film/noir]\n---\n";

    #[test]
    fn properties_are_what_a_person_reads() {
        let note = Note::parse(FILM, "br");
        let lines = "aliases: Do Androids Dream\ndirector: Ridley Scott\nyear: 1982\ncast: Ford\nseen.where: Zürich\ntags: film/noir";
        assert_eq!(property_lines(&note), lines);
        let names = |stem| other_names(&note.title, stem, &note.tags, &note.metadata);
        assert_eq!(names("Blade runner"), "Do Androids Dream\nfilm/noir\nRidley Scott\n1982\nFord\nZürich");
        assert!(names("br").starts_with("br\n"));
        assert!(properties(&Map::new()).is_empty());
    }

    #[test]
    fn what_is_data_of_some_program_is_cut() {
        let many: String = (0..200).map(|at| format!("key{at}: value {at}\n")).collect();
        let note =
            Note::parse(&format!("---\n{many}long: {}\nlist: [[a, b], {{c: d}}]\n---\n", "x".repeat(9_000)), "n");
        assert_eq!(properties(&note.metadata).len(), MAX_VALUES);
    }
}
