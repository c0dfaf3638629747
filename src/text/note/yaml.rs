//! gray_matter's engines for YAML and TOML: they give JSON, with a bound on what hostile text can cost.

use std::cell::{Cell, RefCell};
use std::fmt;
use std::marker::PhantomData;

use gray_matter::engine::Engine;
use gray_matter::{Matter, Pod};
use serde::de::{DeserializeSeed, Deserializer, EnumAccess, MapAccess, SeqAccess, VariantAccess, Visitor};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

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

fn with<E: Engine>(delimiter: &str, wrapped: &str) -> Result<ParsedBlock, String> {
    let mut matter = Matter::<E>::new();
    matter.delimiter = delimiter.to_owned();
    let parsed = matter.parse::<String>(wrapped).map_err(|error| error.to_string())?;
    let Some(json) = parsed.data else { return Ok(ParsedBlock::Mapping(Map::new())) };
    serde_json::from_str(&json).map_err(|error| error.to_string())
}

struct Yaml;
struct Toml;

impl Engine for Yaml {
    fn parse(text: &str) -> gray_matter::Result<Pod> {
        read_yaml(text).hand_over()
    }
}

impl Engine for Toml {
    fn parse(text: &str) -> gray_matter::Result<Pod> {
        read_toml(text).hand_over()
    }
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

/// What a block of frontmatter turned out to be.
///
/// An engine hands it to gray_matter as JSON text, because gray_matter's own value (`Pod`) loses the order of keys and integers past
/// `i64`, and its error has no line.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(super) enum ParsedBlock {
    Mapping(Map<String, Value>),
    /// Valid, but not key and value: prose between two thematic breaks, a list.
    NotMapping,
    Duplicate(String),
    Invalid {
        line: Option<usize>,
        message: String,
    },
}

impl ParsedBlock {
    fn hand_over(&self) -> gray_matter::Result<Pod> {
        let json = serde_json::to_string(self).map(Pod::String);
        json.map_err(|error| gray_matter::Error::DeserializeError(error.to_string()))
    }
}

/// JSON has no NaN and no infinity: their names, so that they are not taken for nothing.
fn from_float(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| Value::String(number.to_string()), Value::Number)
}

fn read_toml(text: &str) -> ParsedBlock {
    match text.parse::<toml::Table>() {
        Ok(table) => ParsedBlock::Mapping(table.into_iter().map(|(k, v)| (k, from_toml(v))).collect()),
        Err(error) => ParsedBlock::Invalid {
            line: error.span().map(|span| text.bytes().take(span.start).filter(|&b| b == b'\n').count() + 1),
            message: error.message().to_owned(),
        },
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

fn read_yaml(text: &str) -> ParsedBlock {
    let limits = YamlBudget { left: Cell::new(MAX_COST), duplicate: RefCell::new(None) };
    if nests_too_deep(text) {
        let message = "brackets are nested too deep, or not closed".to_owned();
        return ParsedBlock::Invalid { line: None, message };
    }
    match Json(&limits, 0).deserialize(serde_yaml::Deserializer::from_str(text)) {
        Ok(Value::Object(map)) => ParsedBlock::Mapping(map),
        Ok(Value::Null) => ParsedBlock::Mapping(Map::new()),
        Ok(_) => ParsedBlock::NotMapping,
        Err(error) => match limits.duplicate.into_inner() {
            Some(key) => ParsedBlock::Duplicate(key),
            None => ParsedBlock::Invalid { line: error.location().map(|at| at.line()), message: error.to_string() },
        },
    }
}

/// More open brackets than serde_norway would accept levels. It notices after libyaml is done, and libyaml looks at every open
/// bracket for every token: 64 KB of `[` take it seven seconds.
fn nests_too_deep(content: &str) -> bool {
    let mut open = 0_usize;
    content.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => open += 1,
            b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > 200
    })
}

/// Maximum cost of reading one block: 16 for a value, 1 for a byte of text. A block without aliases cannot reach it
/// (its size is limited before). serde_norway's own limit counts jumps to anchors, not what is behind them: 10,000
/// aliases of a list of 10,000 pass it and take gigabytes.
const MAX_COST: usize = 2 << 20;

struct YamlBudget {
    left: Cell<usize>,
    duplicate: RefCell<Option<String>>,
}

impl YamlBudget {
    fn spend<E: serde::de::Error>(&self, text: usize) -> Result<(), E> {
        match self.left.get().checked_sub(text + 16) {
            Some(left) => {
                self.left.set(left);
                Ok(())
            }
            None => Err(E::custom("aliases (`*name`) expand to more than the limit")),
        }
    }
}

/// Reads any YAML value into JSON: tags (`!name`) are dropped, merge keys (`<<`) applied, keys made text, and a key given
/// twice is an error.
#[derive(Clone, Copy)]
struct Json<'l>(&'l YamlBudget, u8);

/// Maximum depth of a value: what is read stays within what readers of JSON take.
const MAX_DEPTH: u8 = 120;

impl Json<'_> {
    /// What reads the values within a list or a mapping.
    fn within<E: serde::de::Error>(self) -> Result<Self, E> {
        self.0.spend(0)?;
        if self.1 == MAX_DEPTH {
            return Err(E::custom("it is nested too deep"));
        }
        Ok(Self(self.0, self.1 + 1))
    }
}

impl<'de> DeserializeSeed<'de> for Json<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Json<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(Value::Null)
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<Value, E> {
        self.visit_unit()
    }

    fn visit_bool<E: serde::de::Error>(self, truth: bool) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(Value::Bool(truth))
    }

    fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(number.into())
    }

    fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(number.into())
    }

    fn visit_i128<E: serde::de::Error>(self, number: i128) -> Result<Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_u128<E: serde::de::Error>(self, number: u128) -> Result<Value, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_f64<E: serde::de::Error>(self, number: f64) -> Result<Value, E> {
        self.0.spend(0)?;
        Ok(from_float(number))
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Value, E> {
        self.0.spend(text.len())?;
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let within = self.within()?;
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(within)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let within = self.within()?;
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(within)? {
            let key = match key {
                Value::String(text) => text,
                // A template's `created: {{date}}` is a mapping with a mapping for a key. Quotes double with every level.
                other => {
                    let text = other.to_string();
                    self.0.spend(text.len())?;
                    text
                }
            };
            if map.contains_key(&key) {
                self.0.duplicate.replace(Some(key));
                return Err(serde::de::Error::custom("duplicate key"));
            }
            let value = entries.next_value_seed(within)?;
            map.insert(key, value);
        }
        match map.shift_remove("<<") {
            None => {}
            Some(Value::Object(base)) => merge(&mut map, base),
            Some(Value::Array(bases)) if bases.iter().all(Value::is_object) => {
                for base in bases {
                    if let Value::Object(base) = base {
                        merge(&mut map, base);
                    }
                }
            }
            Some(_) => return Err(serde::de::Error::custom("`<<` must be given a mapping")),
        }
        Ok(Value::Object(map))
    }

    fn visit_enum<A: EnumAccess<'de>>(self, data: A) -> Result<Value, A::Error> {
        let (_tag, content) = data.variant_seed(PhantomData::<String>)?;
        content.newtype_variant_seed(self)
    }
}

fn merge(map: &mut Map<String, Value>, base: Map<String, Value>) {
    for (key, value) in base {
        map.entry(key).or_insert(value);
    }
}
