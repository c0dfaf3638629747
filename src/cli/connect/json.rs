//! Changes one member of a JSON text, and leaves every other byte as it is.

use std::ops::Range;

use anyhow::bail;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};

/// A member of an object, by bytes of the text.
struct JsonMember {
    key: String,
    /// From the quote of its name to the end of its value.
    whole: Range<usize>,
    value: usize,
}

/// A text of valid JSON with another value, or without one, at a path of names; what is missing on the way is made.
///
/// # Errors
/// When something on the way is no object.
pub(super) fn with_member(text: &str, keys: &[&str], value: Option<&Value>) -> anyhow::Result<String> {
    let text = if text.trim().is_empty() { "{}\n" } else { text };
    let unit = text.lines().map(|line| &line[..line.len() - line.trim_start().len()]).find(|blank| !blank.is_empty());
    let unit = unit.unwrap_or("  ");
    let bytes = text.as_bytes();
    let mut at = after_blanks(bytes, 0);
    for (depth, key) in keys.iter().enumerate() {
        if bytes.get(at) != Some(&b'{') {
            bail!("there is something else than an object where `{key}` belongs");
        }
        let (members, end) = members(text, at)?;
        let last = depth + 1 == keys.len();
        match (members.iter().rposition(|member| member.key == *key), value) {
            (Some(found), _) if !last => at = members[found].value,
            (Some(found), Some(value)) => {
                let JsonMember { whole, value: start, .. } = &members[found];
                return Ok([&text[..*start], &pretty(value, unit, depth + 1)?, &text[whole.end..]].concat());
            }
            (Some(found), None) => {
                let gone = match (found.checked_sub(1), members.get(found + 1)) {
                    (Some(before), _) => members[before].whole.end..members[found].whole.end,
                    (None, Some(next)) => members[found].whole.start..next.whole.start,
                    (None, None) => at + 1..end,
                };
                return Ok([&text[..gone.start], &text[gone.end..]].concat());
            }
            (None, None) => return Ok(text.to_owned()),
            (None, Some(value)) => {
                let wrap = |value: Value, key: &&str| Value::Object(Map::from_iter([((*key).to_owned(), value)]));
                let value = keys[depth + 1..].iter().rev().fold(value.clone(), wrap);
                let line =
                    format!("\n{}{}: {}", unit.repeat(depth + 1), Value::from(*key), pretty(&value, unit, depth + 1)?);
                return Ok(match members.last() {
                    Some(member) => [&text[..member.whole.end], ",", &line, &text[member.whole.end..]].concat(),
                    None => [&text[..=at], &line, "\n", &unit.repeat(depth), &text[end..]].concat(),
                });
            }
        }
    }
    Ok(text.to_owned())
}

/// The members of the object that begins at a byte, and where its closing brace is.
fn members(text: &str, object: usize) -> anyhow::Result<(Vec<JsonMember>, usize)> {
    let bytes = text.as_bytes();
    let mut members = Vec::new();
    let mut at = after_blanks(bytes, object + 1);
    while bytes.get(at) == Some(&b'"') {
        let name = at..end_of_value(bytes, at);
        let value = after_blanks(bytes, after_blanks(bytes, name.end) + 1);
        let end = end_of_value(bytes, value);
        members.push(JsonMember { key: serde_json::from_str(&text[name.clone()])?, whole: name.start..end, value });
        at = after_blanks(bytes, end);
        if bytes.get(at) == Some(&b',') {
            at = after_blanks(bytes, at + 1);
        }
    }
    Ok((members, at))
}

fn after_blanks(bytes: &[u8], from: usize) -> usize {
    let rest = bytes.get(from..).unwrap_or_default();
    from + rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count()
}

/// Where the value ends that begins at a byte of valid JSON.
fn end_of_value(bytes: &[u8], start: usize) -> usize {
    let (mut depth, mut at) = (0_usize, start);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => {
                at += 1;
                while bytes.get(at).is_some_and(|byte| *byte != b'"') {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                if depth == 0 {
                    return at + 1;
                }
            }
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth <= 1 => return if depth == 1 { at + 1 } else { at },
            b'}' | b']' => depth -= 1,
            b',' if depth == 0 => return at,
            byte if depth == 0 && byte.is_ascii_whitespace() => return at,
            _ => {}
        }
        at += 1;
    }
    at
}

/// A value over several lines, of which the first stands at a depth already.
fn pretty(value: &Value, unit: &str, depth: usize) -> anyhow::Result<String> {
    let mut text = Vec::new();
    value.serialize(&mut Serializer::with_formatter(&mut text, PrettyFormatter::with_indent(unit.as_bytes())))?;
    Ok(String::from_utf8(text)?.replace('\n', &format!("\n{}", unit.repeat(depth))))
}
