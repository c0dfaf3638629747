//! Changes one member of a JSON text, and leaves every other byte as it is: comments and trailing commas, too, which editors take.

use std::ops::Range;

use anyhow::bail;
use serde::Serialize;
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};

/// What stands for an end of line within a comment: a blank that no JSON has.
const COMMENTED_LINE_END: u8 = 0x0c;

/// A member of an object, by bytes of the text.
struct JsonMember {
    key: String,
    /// From the quote of its name to the end of its value.
    whole: Range<usize>,
    value: usize,
}

/// What a text says, with or without comments and trailing commas; one that says nothing is null.
///
/// # Errors
/// When it is no JSON besides.
pub(super) fn parsed(text: &str) -> serde_json::Result<Value> {
    let mut strict = Vec::with_capacity(text.len());
    let mut in_string = false;
    let bare = without_comments(text);
    for byte in bare.bytes() {
        match byte {
            b'"' => in_string = !in_string || is_escaped(&strict),
            b'}' | b']' if !in_string => blank_trailing_comma(&mut strict),
            _ => {}
        }
        strict.push(if byte == COMMENTED_LINE_END { b' ' } else { byte });
    }
    if strict.trim_ascii().is_empty() { Ok(Value::Null) } else { serde_json::from_slice(&strict) }
}

/// Whether what comes next in a string has an odd number of backslashes before it.
fn is_escaped(before: &[u8]) -> bool {
    before.iter().rev().take_while(|byte| **byte == b'\\').count() % 2 == 1
}

/// Takes away the comma behind a last value.
fn blank_trailing_comma(text: &mut [u8]) {
    let said = |text: &[u8]| text.iter().rposition(|byte| !byte.is_ascii_whitespace());
    let Some(comma) = said(text).filter(|at| text[*at] == b',') else { return };
    if said(&text[..comma]).is_some_and(|at| !b"{[,:".contains(&text[at])) {
        text[comma] = b' ';
    }
}

/// A text with blanks for comments, so that all else stands where it stood. One that does not end stays, and is no JSON.
fn without_comments(text: &str) -> String {
    let mut bare = text.as_bytes().to_vec();
    let (mut at, mut in_string) = (0, false);
    while at < bare.len() {
        let end = match (&bare[at..], in_string) {
            ([b'"', ..], _) => {
                in_string = !in_string || is_escaped(&bare[..at]);
                at + 1
            }
            ([b'/', b'/', rest @ ..], false) => {
                let length = rest.iter().position(|byte| b"\n\r".contains(byte)).unwrap_or(rest.len());
                bare[at..at + 2 + length].fill(b' ');
                at + 2 + length
            }
            ([b'/', b'*', rest @ ..], false) => {
                let Some(length) = rest.windows(2).position(|end| end == b"*/") else { break };
                let end = at + length + 4;
                for byte in &mut bare[at..end] {
                    *byte = if *byte == b'\n' { COMMENTED_LINE_END } else { b' ' };
                }
                end
            }
            _ => at + 1,
        };
        at = end;
    }
    // Only whole comments are other bytes now, and those are blanks.
    String::from_utf8(bare).unwrap_or_else(|_| text.to_owned())
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
    let bare = without_comments(text);
    if bare.trim().is_empty() {
        let text = if text.trim().is_empty() { "{}\n".to_owned() } else { format!("{}\n{{}}\n", text.trim_end()) };
        return value.map_or(Ok(text.clone()), |value| with_member(&text, keys, Some(value)));
    }
    let bytes = bare.as_bytes();
    let mut at = after_blanks(bytes, 0);
    let unit = unit(&bare, at)?;
    for (depth, key) in keys.iter().enumerate() {
        if bytes.get(at) != Some(&b'{') {
            bail!("there is something else than an object where `{key}` belongs");
        }
        let (members, end) = members(&bare, at)?;
        let last = depth + 1 == keys.len();
        match (members.iter().rposition(|member| member.key == *key), value) {
            (Some(found), _) if !last => at = members[found].value,
            (Some(found), Some(value)) => {
                let JsonMember { whole, value: start, .. } = &members[found];
                return Ok([&text[..*start], &pretty(value, unit, depth + 1)?, &text[whole.end..]].concat());
            }
            (Some(found), None) => return Ok(without_member(text, &bare, &members, found, at + 1..end)),
            (None, None) => return Ok(text.to_owned()),
            (None, Some(value)) => {
                let wrap = |value: Value, key: &&str| Value::Object(Map::from_iter([((*key).to_owned(), value)]));
                let value = keys[depth + 1..].iter().rev().fold(value.clone(), wrap);
                let line =
                    format!("\n{}{}: {}", unit.repeat(depth + 1), Value::from(*key), pretty(&value, unit, depth + 1)?);
                return Ok(with_line(text, &bare, members.last(), at + 1..end, &line, &unit.repeat(depth)));
            }
        }
    }
    Ok(text.to_owned())
}

/// By what the members of the outermost object are indented.
fn unit(bare: &str, object: usize) -> anyhow::Result<&str> {
    let first = match bare.as_bytes().get(object) {
        Some(b'{') => members(bare, object)?.0.first().map(|member| member.whole.start),
        _ => None,
    };
    let before = first.and_then(|first| bare[..first].rsplit_once('\n')).map(|(_, before)| before);
    Ok(before.filter(|blank| !blank.is_empty() && blank.bytes().all(|byte| b" \t".contains(&byte))).unwrap_or("  "))
}

/// A text with a new last member in the object whose inside is given.
fn with_line(
    text: &str,
    bare: &str,
    last: Option<&JsonMember>,
    inside: Range<usize>,
    line: &str,
    indent: &str,
) -> String {
    let Some(last) = last else {
        // Comments stay.
        let kept = text[inside.clone()].trim_end();
        return [&text[..inside.start], kept, line, "\n", indent, &text[inside.end..]].concat();
    };
    let end = last.whole.end;
    let comma = after_blanks(bare.as_bytes(), end);
    // Whoever ends a last line with a comma has one there still.
    let (comma, from, comma_behind) = match bare.as_bytes().get(comma) {
        Some(b',') => ("", comma + 1, ","),
        _ => (",", end, ""),
    };
    // What is said of a member behind it stays there.
    let rest = bare[from..].find('\n').map_or("x", |length| &bare[from..from + length]);
    let is_remark = rest.trim().is_empty() && !text[from..from + rest.len()].trim().is_empty();
    let at = if is_remark { from + text[from..from + rest.len()].trim_end().len() } else { from };
    [&text[..end], comma, &text[end..at], line, comma_behind, &text[at..]].concat()
}

/// A text without a member of an object, whose inside is given, and without the comma that it needs no more.
fn without_member(text: &str, bare: &str, members: &[JsonMember], found: usize, inside: Range<usize>) -> String {
    let member = &members[found];
    let before = found.checked_sub(1).map(|before| members[before].whole.end);
    let after = members.get(found + 1).map(|next| next.whole.start);
    let around = [before.unwrap_or(inside.start)..member.whole.start, member.whole.end..after.unwrap_or(inside.end)];
    if around.iter().all(|range| text[range.clone()] == bare[range.clone()]) {
        let gone = match (before, after) {
            (Some(before), _) => before..member.whole.end,
            (None, Some(after)) => member.whole.start..after,
            (None, None) => inside,
        };
        return [&text[..gone.start], &text[gone.end..]].concat();
    }
    // There are comments, which stay.
    let bytes = bare.as_bytes();
    let mut gone = member.whole.clone();
    let comma = after_blanks(bytes, gone.end);
    let mut comma_before = None;
    if bytes.get(comma) == Some(&b',') {
        gone.end = comma + 1;
    } else if let Some(before) = before {
        comma_before = Some(after_blanks(bytes, before));
    }
    // Its line goes with it where it had one of its own.
    let indent = text[..gone.start].len() - text[..gone.start].trim_end_matches([' ', '\t']).len();
    let rest = text[gone.end..].trim_start_matches([' ', '\t', '\r']);
    if text[..gone.start - indent].ends_with('\n') && rest.starts_with('\n') {
        gone.start -= indent + 1;
    }
    match comma_before {
        Some(comma) => [&text[..comma], &text[comma + 1..gone.start], &text[gone.end..]].concat(),
        None => [&text[..gone.start], &text[gone.end..]].concat(),
    }
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
