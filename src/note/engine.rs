//! Frontmatter text → JSON, through gray_matter, and its engine for TOML.

use super::handover::{ParsedBlock, from_float, hand_over};
use super::yaml::Yaml;
use gray_matter::engine::Engine;
use gray_matter::{Matter, Pod};
use serde_json::{Map, Value};

/// The two languages of frontmatter, by their delimiter line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Language {
    Yaml,
    Toml,
}

impl Language {
    pub(super) fn delimiter(self) -> &'static str {
        match self {
            Self::Yaml => "---",
            Self::Toml => "+++",
        }
    }
}

/// Reads the text between two delimiter lines. Its lines must end in `\n`; lines of [`ParsedBlock::Invalid`] count the opening
/// delimiter as line 1.
pub(super) fn read(language: Language, text: &str) -> ParsedBlock {
    let delimiter = language.delimiter();
    // gray_matter trims the text before its engine sees it, which would break indented YAML and shift lines. A comment
    // in front, in place of the delimiter, keeps both as they are.
    let wrapped = format!("{delimiter}\n#\n{text}\n{delimiter}\n");
    let parsed = match language {
        Language::Yaml => with::<Yaml>(delimiter, &wrapped),
        Language::Toml => with::<Toml>(delimiter, &wrapped),
    };
    parsed.unwrap_or_else(|message| ParsedBlock::Invalid { line: None, message })
}

/// What a text of YAML says, read as frontmatter is: hostile text costs no more than it does there.
///
/// # Errors
/// Why it is no mapping, as a sentence without its end.
pub(crate) fn yaml_mapping(text: &str) -> Result<Map<String, Value>, String> {
    let text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
    let text = text.strip_prefix("---\n").unwrap_or(&text);
    if text.lines().any(|line| line.trim_end() == Language::Yaml.delimiter()) {
        return Err("it is several documents".into());
    }
    match read(Language::Yaml, text) {
        ParsedBlock::Mapping(mapping) => Ok(mapping),
        ParsedBlock::NotMapping => Err("it is not made of `key: value` lines".into()),
        ParsedBlock::Duplicate(key) => Err(format!("it has the key `{key}` twice")),
        ParsedBlock::Invalid { message, .. } => Err(message.trim().to_owned()),
    }
}

fn with<E: Engine>(delimiter: &str, wrapped: &str) -> Result<ParsedBlock, String> {
    let mut matter = Matter::<E>::new();
    matter.delimiter = delimiter.to_owned();
    let parsed = matter.parse::<String>(wrapped).map_err(|error| error.to_string())?;
    match parsed.data {
        Some(json) => serde_json::from_str(&json).map_err(|error| error.to_string()),
        None => Ok(ParsedBlock::Mapping(Map::new())),
    }
}

struct Toml;

impl Engine for Toml {
    fn parse(content: &str) -> gray_matter::Result<Pod> {
        hand_over(&match content.parse::<toml::Table>() {
            Ok(table) => ParsedBlock::Mapping(table.into_iter().map(|(k, v)| (k, from_toml(v))).collect()),
            Err(error) => ParsedBlock::Invalid {
                line: error.span().map(|span| content.bytes().take(span.start).filter(|&b| b == b'\n').count() + 1),
                message: error.message().to_owned(),
            },
        })
    }
}

/// Recursion is bounded: the `toml` crate refuses more than 80 levels.
fn from_toml(value: toml::Value) -> Value {
    match value {
        toml::Value::String(text) => Value::String(text),
        toml::Value::Integer(number) => number.into(),
        toml::Value::Float(number) => from_float(number),
        toml::Value::Boolean(truth) => Value::Bool(truth),
        toml::Value::Datetime(date) => Value::String(date.to_string()),
        toml::Value::Array(values) => values.into_iter().map(from_toml).collect(),
        toml::Value::Table(table) => table.into_iter().map(|(k, v)| (k, from_toml(v))).collect(),
    }
}
