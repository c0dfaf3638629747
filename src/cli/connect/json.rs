//! Changes one member of a JSON text, and leaves every other byte as it is: what JSON5 has besides JSON, too, as comments and bare names.

use anyhow::Context;
use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstRootNode};
use jsonc_parser::errors::ParseError;
use serde_json::{Map, Value};

/// What a text says, as JSON or as JSON5; one that says nothing is null.
///
/// # Errors
/// When it is neither.
pub(super) fn parsed(text: &str) -> Result<Value, ParseError> {
    Ok(tree(text)?.to_serde_value().unwrap_or_default())
}

fn tree(text: &str) -> Result<CstRootNode, ParseError> {
    // The one thing that not even JSON5 leaves out.
    CstRootNode::parse(text, &ParseOptions { allow_missing_commas: false, ..ParseOptions::default() })
}

/// A value with another one, or without one, at a path of names, as [`with_member`] makes it of a text.
pub(super) fn with_value(root: Value, keys: &[&str], value: Option<&Value>) -> Value {
    let Some((key, rest)) = keys.split_first() else { return value.cloned().unwrap_or_default() };
    let mut object = match root {
        Value::Object(object) => object,
        Value::Null => Map::new(),
        other => return other,
    };
    match (object.contains_key(*key), rest.is_empty(), value) {
        (false, _, None) => {}
        (true, true, None) => drop(object.remove(*key)),
        _ => {
            let within = with_value(object.get(*key).cloned().unwrap_or_default(), rest, value);
            object.insert((*key).to_owned(), within);
        }
    }
    object.into()
}

/// A text of JSON with another value, or without one, at a path of names; what is missing on the way is made.
///
/// # Errors
/// When something on the way is no object.
pub(super) fn with_member(text: &str, keys: &[&str], value: Option<&Value>) -> anyhow::Result<String> {
    let tree = tree(text)?;
    let (name, above) = keys.split_last().context("an entry has a name")?;
    let no_object = |key: &str| format!("there is something else than an object where `{key}` belongs");
    let mut object = tree.object_value_or_create().with_context(|| no_object(keys[0]))?;
    for (key, within) in above.iter().zip(&keys[1..]) {
        if value.is_none() && object.get(key).is_none() {
            return Ok(text.to_owned());
        }
        object = object.object_value_or_create(key).with_context(|| no_object(within))?;
    }
    match (object.get(name), value) {
        (Some(there), Some(value)) => there.set_value(input(value)),
        (Some(there), None) => there.remove(),
        (None, Some(value)) => drop(object.append(name, input(value))),
        (None, None) => {}
    }
    Ok(tree.to_string())
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(truth) => CstInputValue::Bool(*truth),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(object) => {
            CstInputValue::Object(object.iter().map(|(key, value)| (key.clone(), input(value))).collect())
        }
    }
}
