//! `docs/api.md`, out of the OpenAPI document.

use std::fmt::Write;

use super::{cell, hold};
use crate::support::prelude::*;

const INTRODUCTION: &str = "# The HTTP API

Written by a test from the OpenAPI document, which the daemon serves at `/openapi.json`. Every request but those that say
otherwise takes a token: `Authorization: Bearer TOKEN`, or Basic with the token as password. The owner's is in
`.vault/owner-token`. `POST /mcp` is not described here: it speaks the Model Context Protocol, with the same tokens and limits
([MCP](mcp.md)). [Over HTTP](http.md) begins with examples.

Errors are `{\"error\": {\"code\", \"message\", \"hint\"?}}`; the codes are `invalid` (400, 408, 413, 415,
422), `unauthorized` (401), `forbidden` (403), `not_found` (404), `method_not_allowed` (405), `conflict` (409),
`too_many_requests` and `too_much` (429), `unavailable` (503) and `internal` (500). With `too_many_requests` the header `Retry-After`
has the seconds to wait; `too_much` is an agent that has written as much as it may in a day.
";

#[test]
fn the_description_of_the_api_is_that_of_the_code() {
    let document = serde_json::to_value(memory_vault::serve::api::openapi()).unwrap();
    hold("api.md", &render(&document));
}

fn render(document: &Value) -> String {
    let mut text = INTRODUCTION.to_owned();
    let mut named = BTreeSet::new();
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            write!(text, "\n## {} {path}\n", method.to_uppercase()).unwrap();
            for part in ["summary", "description"].into_iter().filter_map(|key| operation[key].as_str()) {
                write!(text, "\n{part}\n").unwrap();
            }
            let parameters = operation["parameters"].as_array().map_or(&[][..], Vec::as_slice);
            if !parameters.is_empty() {
                text.push_str("\n| parameter | type | |\n|---|---|---|\n");
            }
            for parameter in parameters {
                let name = parameter["name"].as_str().unwrap();
                let required = parameter["required"] == true || parameter["in"] == "path";
                let kind = kind(&parameter["schema"], &mut named);
                row(&mut text, name, required, &kind, parameter["description"].as_str());
            }
            if let Some(schema) = schema_of(&operation["requestBody"]) {
                write!(text, "\nTakes {}.\n", kind(schema, &mut named)).unwrap();
            }
            let responses = operation["responses"].as_object().unwrap();
            for (status, response) in responses {
                if status.starts_with('2') {
                    let gives = schema_of(response).map_or("nothing".into(), |schema| kind(schema, &mut named));
                    write!(text, "\nAnswers {status} with {gives}.\n").unwrap();
                }
            }
            let fails: Vec<&str> = responses.keys().map(String::as_str).filter(|status| *status >= "400").collect();
            if !fails.is_empty() {
                write!(text, "\nFails with {}.\n", fails.join(", ")).unwrap();
            }
        }
    }
    text.push_str("\n# Types\n");
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        write!(text, "\n## {name}\n").unwrap();
        if let Some(description) = schema["description"].as_str() {
            write!(text, "\n{description}\n").unwrap();
        }
        fields(&mut text, schema, &mut named);
    }
    for name in &named {
        assert!(document["components"]["schemas"][name].is_object(), "{name} is not described");
    }
    text
}

/// The fields of a type, or what it can be.
fn fields(text: &mut String, schema: &Value, named: &mut BTreeSet<String>) {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        write!(text, "\nOne of {}.\n", values.join(", ")).unwrap();
    }
    for (key, word) in [("oneOf", "One of"), ("anyOf", "Any of")] {
        for one in schema[key].as_array().map_or(&[][..], Vec::as_slice) {
            let description = one["description"].as_str().map(|text| format!(": {}", cell(text))).unwrap_or_default();
            write!(text, "\n- {word} these: {}{description}\n", kind(one, named)).unwrap();
            fields(text, one, named);
        }
    }
    for part in schema["allOf"].as_array().map_or(&[][..], Vec::as_slice) {
        match part["$ref"].as_str() {
            Some(_) => write!(text, "\nWith all fields of {}.\n", kind(part, named)).unwrap(),
            None => fields(text, part, named),
        }
    }
    let Some(properties) = schema["properties"].as_object().filter(|properties| !properties.is_empty()) else { return };
    text.push_str("\n| field | type | |\n|---|---|---|\n");
    let required = schema["required"].as_array().map_or(&[][..], Vec::as_slice);
    for (name, property) in properties {
        let kind = kind(property, named);
        row(text, name, required.iter().any(|required| required == name), &kind, property["description"].as_str());
    }
}

fn row(text: &mut String, name: &str, required: bool, kind: &str, description: Option<&str>) {
    let name = format!("`{name}`{}", if required { "" } else { "?" });
    writeln!(text, "| {name} | {kind} | {} |", cell(description.unwrap_or_default())).unwrap();
}

fn schema_of(holder: &Value) -> Option<&Value> {
    holder["content"].as_object()?.values().next().map(|content| &content["schema"])
}

/// A type in a few words, with a link where it is described.
fn kind(schema: &Value, named: &mut BTreeSet<String>) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.rsplit('/').next()) {
        named.insert(name.to_owned());
        return format!("[{name}](#{})", name.to_lowercase());
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(parts) = schema[key].as_array() {
            let parts: BTreeSet<String> =
                parts.iter().filter(|part| part["type"] != "null").map(|part| kind(part, named)).collect();
            return parts.into_iter().collect::<Vec<_>>().join(" or ");
        }
    }
    let word = match &schema["type"] {
        Value::String(word) => word.clone(),
        Value::Array(words) => {
            let words = words.iter().filter_map(Value::as_str).filter(|word| *word != "null");
            words.collect::<Vec<_>>().join(" or ")
        }
        _ => "any value".into(),
    };
    match word.as_str() {
        "array" => format!("array of {}", kind(&schema["items"], named)),
        "" => "any value".into(),
        _ => word,
    }
}
