//! The value of a fact: YAML as it is written on one line, of which every scalar keeps its text: `3.10` stays `3.10`.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

/// Maximum depth of lists and maps in each other.
const MAX_DEPTH: usize = 32;

/// Reads a value. A scalar is a text; what begins as a quoted text, a list or a map has to be one, to its end.
///
/// # Errors
/// Why it cannot be read.
pub(crate) fn read_value(text: &str) -> Result<Value, &'static str> {
    let text = text.trim();
    // A wikilink is a text, though YAML would have it a list within a list.
    let is_plain = wikilink_len(text).is_some() || !text.starts_with(['"', '\'', '[', '{']);
    if is_plain {
        return Ok(Value::String(text.to_owned()));
    }
    let json = json_of(text)?;
    let value: Value =
        serde_json::from_str(&json).map_err(|_| "a list or a map is not closed, or lacks a comma or `:`")?;
    // Of a key that is there twice JSON takes the last.
    let again = value.to_string();
    if again == json { Ok(value) } else { Err("a map has a key twice") }
}

/// The text of a value as a fact's line has it, which reads as that value again.
pub(crate) fn written_value(value: &Value) -> String {
    match value {
        Value::String(text) if is_plain_scalar(text) => text.clone(),
        value => flow_text(value),
    }
}

/// Whether a text may stand as it is, as a whole value.
fn is_plain_scalar(text: &str) -> bool {
    !text.is_empty()
        && text.trim() == text
        && !text.contains(char::is_control)
        && !text.starts_with("~~")
        && (wikilink_len(text).is_some() || !text.starts_with(['"', '\'', '[', '{', '`', '%', '<']))
        && !["%%", "<!--", "#"].iter().any(|markup| text.contains(markup))
        && super::item::has_no_tail(text)
}

/// A value within a list or a map, and a text that could be taken for something else.
fn flow_text(value: &Value) -> String {
    match value {
        Value::Array(values) => {
            // Two brackets would begin a wikilink.
            let blank = if matches!(values.first(), Some(Value::Array(_))) { " " } else { "" };
            format!("[{blank}{}]", values.iter().map(within).collect::<Vec<_>>().join(", "))
        }
        Value::Object(map) => {
            let pairs = map.iter().map(|(key, value)| format!("{}: {}", quoted_if_needed(key), within(value)));
            format!("{{{}}}", pairs.collect::<Vec<_>>().join(", "))
        }
        Value::String(text) => double_quoted(text),
        other => other.to_string(),
    }
}

/// As JSON, and so that Markdown finds no tag and no comment in it.
fn double_quoted(text: &str) -> String {
    let quoted = Value::String(text.to_owned()).to_string();
    quoted.replace('#', "\\u0023").replace('%', "\\u0025").replace('<', "\\u003c").replace('`', "\\u0060")
}

fn within(value: &Value) -> String {
    match value {
        Value::String(text) => quoted_if_needed(text),
        value => flow_text(value),
    }
}

fn quoted_if_needed(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.trim() == text
        && !text.contains(|c: char| c.is_control() || "[]{},:\"'#~`%<".contains(c));
    if is_plain { text.to_owned() } else { double_quoted(text) }
}

/// The length of the wikilink with which a text begins, if it does.
fn wikilink_len(text: &str) -> Option<usize> {
    let inner = text.strip_prefix("[[")?;
    let end = inner.find(['[', ']']).filter(|end| *end > 0 && inner[*end..].starts_with("]]"))?;
    Some(end + "[[]]".len())
}

/// YAML in flow style as JSON without blanks, in which every scalar is a text.
fn json_of(text: &str) -> Result<String, &'static str> {
    let (mut json, mut rest, mut depth) = (String::with_capacity(text.len()), text.trim_start(), 0_usize);
    while let Some(next) = rest.chars().next() {
        let is_sign = match next {
            '[' | '{' => wikilink_len(rest).is_none(),
            ']' | '}' => true,
            ',' => !json.ends_with(['[', '{', ',', ':']),
            ':' => json.ends_with('"'),
            _ => false,
        };
        let length = if is_sign {
            depth = if matches!(next, '[' | '{') { depth + 1 } else { depth };
            // A comma may stand behind the last value.
            if matches!(next, ']' | '}') {
                json.truncate(json.trim_end_matches(',').len());
                depth = depth.saturating_sub(1);
            }
            json.push(next);
            next.len_utf8()
        } else {
            let (scalar, length) = scalar(rest)?;
            json += &Value::String(scalar).to_string();
            length
        };
        if depth > MAX_DEPTH {
            return Err("its lists are nested too deep");
        }
        rest = rest[length..].trim_start();
    }
    Ok(json)
}

/// The scalar within a list or a map that a text begins with, and its length: a wikilink, a text in quotes, or what comes before a sign.
fn scalar(text: &str) -> Result<(String, usize), &'static str> {
    static SCALAR: LazyLock<Regex> = LazyLock::new(|| {
        let plain = r#"(?:[^,\[\]{}:"']|:[^\s,\[\]{}])(?:[^,\[\]{}:]|:[^\s,\[\]{}])*"#;
        let pattern = format!(r#"\A(?:\[\[[^\[\]]+\]\]|"(?:[^"\\]|\\.)*"|'((?:[^']|'')*)'|{plain})"#);
        Regex::new(&pattern).expect("a test uses it")
    });
    let found = SCALAR.captures(text).ok_or("a value is empty, or a quoted text is not closed")?;
    let written = found[0].trim_end();
    let read = match found.get(1) {
        Some(quoted) => quoted.as_str().replace("''", "'"),
        // YAML's escapes are those of JSON and a few more, which nobody writes by hand.
        None if written.starts_with('"') => {
            serde_json::from_str(written).map_err(|_| "a quoted text is badly escaped")?
        }
        None => written.to_owned(),
    };
    Ok((read, written.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::base::chance::proptest_config;

    #[test]
    fn scalars_keep_their_text() {
        for text in ["3.10", "0x10", "yes", "2026-03-09", "a: b", "it's", "[[Alice]]", "[[a|b]] and more", "null", "~"]
        {
            assert_eq!(read_value(text), Ok(json!(text)), "{text}");
        }
        assert_eq!(read_value("\"3.10 \\\"x\\\"\""), Ok(json!("3.10 \"x\"")));
        assert_eq!(read_value("'it''s ''so'''"), Ok(json!("it's 'so'")));
        assert_eq!(read_value("''"), Ok(json!("")));
        assert_eq!(read_value("[3.10, a b, [c], \"d, e\", [[Alice]], http://x/y]"), {
            Ok(json!(["3.10", "a b", ["c"], "d, e", "[[Alice]]", "http://x/y"]))
        });
        assert_eq!(read_value("{a: 1.0, b: [x], 'c d': {e: f}}"), {
            Ok(json!({"a": "1.0", "b": ["x"], "c d": {"e": "f"}}))
        });
        assert_eq!(read_value("[[a], [b]]"), Ok(json!([["a"], ["b"]])));
        assert_eq!((read_value("[]"), read_value("[a,]")), (Ok(json!([])), Ok(json!(["a"]))));
    }

    #[test]
    fn what_is_not_closed_is_told() {
        let deep = "[".repeat(5000);
        for bad in ["[a", "{a: 1", "\"a", "'a", "[a b] c", "{a}", "[,]", "{a: 1, a: 2}", "\"\\q\"", &deep] {
            assert!(read_value(bad).is_err(), "{bad:.20}");
        }
    }

    fn values() -> impl Strategy<Value = Value> {
        let text =
            prop_oneof!["[ -~]{0,12}", "\\PC{0,8}", Just("a (from 2026-01-01)".to_owned()), Just("x #tag".into())];
        let scalar = text.prop_map(Value::String);
        scalar.prop_recursive(3, 12, 4, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..4).prop_map(Value::Array),
                prop::collection::btree_map("[a-zA-Z :\"]{1,6}", inner, 0..4)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn what_is_written_reads_as_it_was(value in values()) {
            let written = written_value(&value);
            prop_assert!(!written.contains('\n'));
            prop_assert_eq!(read_value(&written), Ok(value));
        }

        #[test]
        fn nothing_makes_it_panic(text in "[\\[\\]{}\"',: ab\\\\]{0,24}") {
            let _ = read_value(&text);
        }
    }
}
