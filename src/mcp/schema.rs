//! JSON schemas of what tools take, from the types themselves.

use rmcp::model::JsonObject;
use serde_json::{Value, json};
use utoipa::ToSchema;

/// The schema of what a tool takes, whole: without references to others, and without `null`, which an absent field is never said
/// by. Of each field it says the first clause of its description; the OpenAPI document has the rest.
pub(super) fn of<T: ToSchema>() -> JsonObject {
    let mut schema = whole::<T>();
    schema.remove("description");
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            field.remove("format");
            if let Some(Value::String(said)) = field.get_mut("description") {
                *said = clause(said).to_owned();
            }
        }
    }
    schema
}

/// Says which of its actions a tool is to do.
pub(super) const ACTION: &str = "action";

/// What a client is told of what a tool takes: `action` where it has several, and what any of them takes. What each of them needs, and that
/// nothing may be empty, is told to whoever misses it. A field that several take is described by the first.
pub(super) fn of_actions(actions: &[(&str, &JsonObject)]) -> JsonObject {
    let mut schema = match actions {
        [(_, only)] => (*only).clone(),
        several => {
            let names: Vec<&str> = several.iter().map(|(name, _)| *name).collect();
            let mut fields = JsonObject::new();
            fields.insert(ACTION.into(), json!({ "type": "string", "enum": names }));
            for (name, field) in several.iter().filter_map(|(_, takes)| takes.get("properties")?.as_object()).flatten()
            {
                fields.entry(name).or_insert_with(|| field.clone());
            }
            let whole =
                [("type", json!("object")), ("properties", Value::Object(fields)), ("required", json!([ACTION]))];
            let whole = whole.into_iter().chain([("additionalProperties", json!(false))]);
            whole.map(|(key, value)| (key.to_owned(), value)).collect()
        }
    };
    if let Some(Value::Object(fields)) = schema.get_mut("properties") {
        for field in fields.values_mut().filter_map(Value::as_object_mut) {
            field.retain(|key, _| key != "minLength" && key != "minItems");
        }
    }
    schema
}

/// Holds arguments to what a schema says of their size. The error names the first that does not fit.
pub(super) fn hold(schema: &JsonObject, arguments: &JsonObject) -> Result<(), String> {
    for (name, value) in arguments {
        let limit = |key: &str| schema.get("properties")?.get(name)?.get(key)?.as_f64();
        let (size, least, most, unit) = match value {
            Value::String(text) => (text.trim().chars().count() as f64, "minLength", "maxLength", " characters"),
            Value::Array(items) => (items.len() as f64, "minItems", "maxItems", " items"),
            Value::Number(number) => (number.as_f64().unwrap_or(f64::NAN), "minimum", "maximum", ""),
            _ => continue,
        };
        let (least, most) = (limit(least), limit(most));
        let takes = match (least, most) {
            (Some(least), _) if size == 0.0 && least == 1.0 && !unit.is_empty() => {
                return Err(format!("`{name}` is empty"));
            }
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("{least} or more"),
            (None, Some(most)) => format!("{most} at most"),
            (None, None) => continue,
        };
        if least.is_some_and(|least| size < least) || most.is_some_and(|most| size > most) {
            let is = if unit.is_empty() { "is" } else { "has" };
            return Err(format!("`{name}` {is} {size}{unit}; it takes {takes}"));
        }
    }
    Ok(())
}

/// What a description begins with, up to the first full stop or semicolon.
fn clause(description: &str) -> &str {
    let end = [". ", ".\n", "; ", ";\n"].iter().filter_map(|stop| description.find(stop)).min();
    description[..end.unwrap_or(description.len())].trim_end_matches('.')
}

fn whole<T: ToSchema>() -> JsonObject {
    let mut others = Vec::new();
    T::schemas(&mut others);
    let others: JsonObject =
        others.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap_or_default())).collect();
    let mut schema = serde_json::to_value(T::schema()).unwrap_or_default();
    tidy(&mut schema, &others);
    match schema {
        Value::Object(schema) => schema,
        _ => JsonObject::new(),
    }
}

fn tidy(schema: &mut Value, others: &JsonObject) {
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next())
        && let Some(other) = others.get(name)
    {
        *schema = other.clone();
    }
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Array(types)) = fields.get_mut("type") {
                types.retain(|kind| kind != "null");
                if let [only] = &types[..] {
                    let only = only.clone();
                    fields.insert("type".into(), only);
                }
            }
            if let Some(Value::Array(choices)) = fields.get_mut("oneOf") {
                choices.retain(|choice| choice["type"] != "null");
            }
            fields.values_mut().for_each(|value| tidy(value, others));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| tidy(item, others)),
        _ => {}
    }
}
