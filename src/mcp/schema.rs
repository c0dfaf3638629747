//! JSON schemas of what tools take and give, from the types themselves.

use rmcp::model::JsonObject;
use serde_json::Value;
use utoipa::ToSchema;

/// The schema of a type, whole: without references to others, and without `null`, which an absent field is never said by.
pub(super) fn of<T: ToSchema>() -> JsonObject {
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
