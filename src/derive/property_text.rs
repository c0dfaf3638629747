//! The values of properties as frontmatter has them written: `3.10` stays `3.10`, though it is read as a number.

use serde_json::{Map, Value};

use super::facts::read_value;
use super::properties::property_line;

/// Maximum number of lines of a list that is written over several.
const MAX_LINES: usize = 64;

/// The value of an outermost property, of which every scalar is a text: as `source` has it where that is plain to see, else as it was read.
pub(crate) fn property_as_written(source: Option<&str>, key: &str, value: &Value) -> Value {
    let written = source.and_then(|source| written(source, key));
    as_written(value, written.as_ref())
}

fn as_written(value: &Value, written: Option<&Value>) -> Value {
    match (value, written) {
        (Value::Number(_) | Value::Bool(_), Some(Value::String(text))) if is_scalar(text) => {
            Value::String(text.clone())
        }
        (Value::Number(_) | Value::Bool(_), _) => Value::String(value.to_string()),
        (Value::Array(values), written) => {
            let written = written.and_then(Value::as_array).filter(|written| written.len() == values.len());
            let of = |(at, value)| as_written(value, written.and_then(|written: &Vec<Value>| written.get(at)));
            values.iter().enumerate().map(of).collect()
        }
        (Value::Object(map), written) => {
            let of = |(key, value): (&String, &Value)| {
                (key.clone(), as_written(value, written.and_then(|written| written.get(key))))
            };
            Value::Object(map.iter().map(of).collect())
        }
        (Value::Null | Value::String(_), _) => value.clone(),
    }
}

/// Whether a text is what a number or a truth is written as, and no mark of YAML.
fn is_scalar(text: &str) -> bool {
    !text.is_empty() && !text.contains(char::is_whitespace) && !text.starts_with(['&', '!', '*', '|', '>'])
}

/// The value of a property with each scalar as it is written; `None` where it is not plain to see.
fn written(source: &str, key: &str) -> Option<Value> {
    let at = property_line(source, key)?;
    let source = source.trim_start_matches('\u{feff}');
    let sign = if source.starts_with("+++") { '=' } else { ':' };
    let mut lines = source.lines().skip(at - 1).map(without_comment);
    let mut text = lines.next()?.split_once(sign)?.1.trim().to_owned();
    if text.is_empty() {
        return block(lines);
    }
    for line in lines.take(MAX_LINES) {
        if let Ok(value) = read_value(&text) {
            return Some(value);
        }
        text = format!("{text} {}", line.trim());
    }
    read_value(&text).ok()
}

/// A list or a map, an item a line.
fn block<'l>(lines: impl Iterator<Item = &'l str>) -> Option<Value> {
    let (mut list, mut map, mut first) = (Vec::new(), Map::new(), None);
    for line in lines.filter(|line| !line.trim().is_empty()) {
        let item = line.trim_start();
        let indent = line.len() - item.len();
        if (indent == 0 && !item.starts_with("- ")) || *first.get_or_insert(indent) > indent {
            break;
        }
        if first != Some(indent) {
            return None;
        }
        match item.strip_prefix("- ") {
            Some(item) => list.push(read_value(item).ok()?),
            None => {
                let (key, value) = item.split_once(':')?;
                map.insert(key.trim().trim_matches(['"', '\'']).to_owned(), read_value(value).ok()?);
            }
        }
    }
    match (list.is_empty(), map.is_empty()) {
        (false, true) => Some(Value::Array(list)),
        (true, false) => Some(Value::Object(map)),
        _ => None,
    }
}

/// A line without the comment at its end.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut before) = (None, ' ');
    for (at, character) in line.char_indices() {
        let begins = before.is_whitespace() || matches!(before, '[' | '{' | ',' | ':' | '=');
        match character {
            '#' if quote.is_none() && before.is_whitespace() => return &line[..at],
            '"' | '\'' if quote == Some(character) => quote = None,
            '"' | '\'' if quote.is_none() && begins => quote = Some(character),
            _ => {}
        }
        before = character;
    }
    line
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::note::Note;

    #[test]
    fn what_is_written_stays() {
        let yaml = "a: 3.10 # a version\nb: 0x1F\nc: 1e3\nd: [3.10, no, True, \"7.0\"]\ne:\n- 1.0\n- x\nf:\n  g: 2.50\n  h: y z\n\
            i: [1.0,\n  2.0]\nj: \"3.10\"\nk: &k 4.0\nl: *k\nm: a \"b # c\" 1\nn: {o: 1.0}\np:\n  - q: 1.0\n";
        let source = format!("---\n{yaml}---\nText.\n");
        let note = Note::parse(&source, "n");
        let of = |key: &str| property_as_written(Some(&source), key, &note.metadata[key]);
        for (key, value) in [
            ("a", json!("3.10")),
            ("b", json!("0x1F")),
            ("c", json!("1e3")),
            ("d", json!(["3.10", "no", "True", "7.0"])),
            ("e", json!(["1.0", "x"])),
            ("f", json!({"g": "2.50", "h": "y z"})),
            ("i", json!(["1.0", "2.0"])),
            ("j", json!("3.10")),
            ("n", json!({"o": "1.0"})),
        ] {
            assert_eq!(of(key), value, "{key}");
        }
        // What is not plain to see is as it was read.
        assert_eq!(of("k"), json!(note.metadata["k"].to_string()));
        assert_eq!(of("p")[0]["q"], json!(note.metadata["p"][0]["q"].to_string()));
        let toml = "+++\nv = 3.10\nw = [1.0, 2.50] # x\n+++\n";
        let note = Note::parse(toml, "n");
        assert_eq!(property_as_written(Some(toml), "v", &note.metadata["v"]), "3.10");
        assert_eq!(property_as_written(Some(toml), "w", &note.metadata["w"]), json!(["1.0", "2.50"]));
        assert_eq!(property_as_written(None, "v", &json!([true, 1, null])), json!(["true", "1", null]));
    }
}
