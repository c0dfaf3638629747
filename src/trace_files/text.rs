//! The texts of an event, wherever in its payload they are.

use serde_json::{Map, Value};

/// Maximum depth to which JSON within a text of JSON is looked into.
const MAX_DEPTH: usize = 4;

/// What becomes of a text that a name may stand before; `None` where it stays.
pub(crate) type TraceTextChange<'c> = dyn FnMut(Option<&str>, &str) -> Option<String> + 'c;

/// Changes every text of a value, names of fields and JSON within texts included; says whether any was changed.
pub(crate) fn change_texts(value: &mut Value, change: &mut TraceTextChange<'_>) -> bool {
    walk(value, None, 0, change)
}

fn walk(value: &mut Value, name: Option<&str>, depth: usize, change: &mut TraceTextChange<'_>) -> bool {
    match value {
        Value::String(text) => {
            let inner = (depth < MAX_DEPTH).then(|| within(text, depth, change)).flatten();
            let is_changed = inner.is_some();
            if let Some(inner) = inner {
                *text = inner;
            }
            match change(name, text) {
                Some(changed) => {
                    *text = changed;
                    true
                }
                None => is_changed,
            }
        }
        // All of them, also after the first that is changed.
        Value::Array(items) => {
            items.iter_mut().filter_map(|item| walk(item, name, depth, change).then_some(())).count() > 0
        }
        Value::Object(fields) => {
            let changed =
                fields.iter_mut().filter_map(|(name, field)| walk(field, Some(name), depth, change).then_some(()));
            let mut any = changed.count() > 0;
            let names: Vec<(usize, String)> =
                fields.keys().enumerate().filter_map(|(at, name)| Some((at, change(None, name)?))).collect();
            if !names.is_empty() {
                any = true;
                let mut names = names.into_iter().peekable();
                let renamed = std::mem::take(fields).into_iter().enumerate().map(|(at, (name, field))| {
                    let new = names.next_if(|(of, _)| *of == at).map_or(name, |(_, new)| new);
                    (new, field)
                });
                *fields = renamed.collect::<Map<String, Value>>();
            }
            any
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A text that is JSON itself, changed; `None` where it is none, or stays.
fn within(text: &str, depth: usize, change: &mut TraceTextChange<'_>) -> Option<String> {
    text.trim_start().starts_with(['{', '[']).then_some(())?;
    let mut value: Value = serde_json::from_str(text).ok()?;
    walk(&mut value, None, depth + 1, change).then(|| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_text_is_reached_and_nothing_else_changes() {
        let mut value = json!({ "a": ["x", { "b": "y" }], "n": 1, "j": "{\"k\": \"x\", \"l\": [1.50]}", "x": null });
        let mut seen = Vec::new();
        let changed = change_texts(&mut value, &mut |name, text| {
            seen.push((name.map(str::to_owned), text.to_owned()));
            (text == "x").then(|| "-".to_owned())
        });
        assert!(changed);
        assert_eq!(value, json!({ "a": ["-", { "b": "y" }], "n": 1, "j": "{\"k\":\"-\",\"l\":[1.5]}", "-": null }));
        assert!(seen.contains(&(Some("b".into()), "y".into())) && seen.contains(&(Some("k".into()), "x".into())));
        let mut same = json!({ "j": "{ \"k\": 1.50 }" });
        assert!(!change_texts(&mut same, &mut |_, _| None));
        assert_eq!(same, json!({ "j": "{ \"k\": 1.50 }" }), "what stays stays as it was written");
    }
}
