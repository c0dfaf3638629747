//! What an engine of gray_matter hands over.

use gray_matter::Pod;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};

/// What a block of frontmatter turned out to be.
///
/// An engine hands it to gray_matter as JSON text, because gray_matter's own value (`Pod`) loses the order of keys and
/// integers past `i64`, and its error has no line.
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

pub(super) fn hand_over(outcome: &ParsedBlock) -> gray_matter::Result<Pod> {
    serde_json::to_string(outcome)
        .map(Pod::String)
        .map_err(|error| gray_matter::Error::DeserializeError(error.to_string()))
}

/// JSON has no NaN and no infinity: their names, so that they are not taken for nothing.
pub(super) fn from_float(number: f64) -> Value {
    Number::from_f64(number).map_or_else(|| Value::String(number.to_string()), Value::Number)
}
