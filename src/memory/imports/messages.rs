//! What programs that talk to a model write of a message: its texts, its time, and what a tool answered. Of that a line comes, by which
//! somebody knows again what was looked at; the rest is machinery.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

/// The texts of a message: a text by itself, or the parts of a list that are texts of one of these types.
pub(super) fn text_of(content: &Value, types: &[&str]) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| match part {
        Value::String(text) => Some(text.as_str()),
        part => part["text"].as_str().filter(|_| part["type"].as_str().is_none_or(|kind| types.contains(&kind))),
    });
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// How many parts of a message are images or files.
pub(super) fn media_of(content: &Value) -> usize {
    let kinds = ["image", "image_url", "input_image", "document", "audio", "file", "media"];
    let parts = content.as_array().into_iter().flatten();
    parts.filter(|part| part["type"].as_str().is_some_and(|kind| kinds.contains(&kind))).count()
}

/// Why what a model thought is left out, and asked.
pub(super) const THOUGHTS: &str = "reasoning and tool calls of a model";
/// Why the rest of an answer, or one that says nothing, does not come.
pub(super) const TOOLS: &str = "tool output after its first line";
/// Maximum length of the line, in characters.
const MAX_LINE_CHARS: usize = 200;
/// Maximum length of the name of the tool before the line, in characters.
const MAX_NAME_CHARS: usize = 60;
/// Maximum length of what is held of an answer until its line is taken, in bytes: a transcript may have a thousand
/// answers of a megabyte.
const MAX_ANSWER_BYTES: usize = 16 << 10;
/// Who speaks in a turn that is the answer of a tool, as other programs call it; and what it is called here.
const SPEAKERS: [&str; 7] = ["tool", "tools", "function", "ipython", "toolresult", "tool_result", "bashexecution"];
pub(super) const SPEAKER: &str = "tool";
/// Where an answer that is an object has its text, the first that says something.
const FIELDS: [&str; 9] = ["output", "stdout", "text", "content", "result", "message", "error", "stderr", "title"];
/// Maximum depth of objects within one another in which a text is looked for.
const MAX_DEPTH: usize = 4;

/// Whether a turn of this speaker is the answer of a tool.
pub(super) fn is_tool(role: &str) -> bool {
    SPEAKERS.iter().any(|known| role.trim().eq_ignore_ascii_case(known))
}

/// The text of an answer, whatever shape it has, as far as its first line is looked for; empty where it has none.
pub(super) fn answer(value: &Value) -> String {
    let mut text = within(value, 0);
    text.truncate(text.floor_char_boundary(MAX_ANSWER_BYTES));
    text.shrink_to_fit();
    text
}

fn within(value: &Value, depth: usize) -> String {
    match value {
        // Codex has an object written as a text.
        Value::String(text) if depth == 0 && text.trim_start().starts_with('{') => {
            let inner = serde_json::from_str::<Value>(text).map(|value| within(&value, 1)).unwrap_or_default();
            if inner.trim().is_empty() { text.clone() } else { inner }
        }
        Value::String(text) => text.clone(),
        Value::Array(_) => text_of(value, &["text", "output_text", "input_text"]),
        Value::Object(fields) if depth < MAX_DEPTH => {
            let texts = FIELDS.iter().filter_map(|field| Some(within(fields.get(*field)?, depth + 1)));
            texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// What is kept of an answer, with the tool's name before it and `…` behind it where there was more, and whether there was. The first line
/// that has a letter or a digit; `None` where none has.
pub(super) fn first_line(tool: Option<&str>, answer: &str) -> Option<(String, bool)> {
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    let mut lines = answer.lines().filter(says);
    let line = lines.next()?.trim();
    let kept: String = line.chars().take(MAX_LINE_CHARS).collect();
    let more = kept.len() < line.len() || lines.next().is_some();
    let name = tool.map(|tool| tool.split_whitespace().collect::<Vec<_>>().join(" "));
    let name = name.map(|name| name.chars().take(MAX_NAME_CHARS).collect::<String>()).filter(|name| !name.is_empty());
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    Some((format!("{name}{}{}", kept.trim_end(), if more { " …" } else { "" }), more))
}

/// The latest time that is taken, in seconds: the year 9999.
const LAST_SECOND: i64 = 253_000_000_000;

/// A time in milliseconds since 1970: of a number of seconds, milliseconds, microseconds or nanoseconds, which their size tells, or of a
/// text. None where it is no time, or one before 1970.
pub(super) fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => of_number(number.as_f64()?),
        Value::String(text) => of_text(text.trim()),
        _ => None,
    }
}

/// The first of some fields that has a time.
pub(super) fn first_moment(value: &Value, fields: &[&str]) -> Option<i64> {
    fields.iter().find_map(|field| moment(value.get(*field)?))
}

fn of_number(number: f64) -> Option<i64> {
    let ms = match number.abs() {
        size if size < 1e11 => number * 1e3,
        size if size < 1e14 => number,
        size if size < 1e17 => number / 1e3,
        _ => number / 1e6,
    };
    let ms = ms.round();
    (ms > 0.0 && ms < LAST_SECOND as f64 * 1e3).then_some(ms as i64)
}

fn of_text(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number);
    }
    let utc = text.strip_suffix(" UTC").or_else(|| text.strip_suffix(" +0000")).unwrap_or(text);
    let civil = || Some(utc.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let at = text.parse::<Timestamp>().ok().or_else(civil)?;
    (at.as_millisecond() > 0).then_some(at.as_millisecond())
}

/// A time as events have it.
pub(super) fn written(at_ms: i64) -> Option<String> {
    Some(Timestamp::from_millisecond(at_ms).ok()?.to_string())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_what_a_tool_answered_the_first_line_that_says_something_is_kept() {
        let line = |text: &str| first_line(Some("Bash"), text);
        assert_eq!(line("oven.rs\nmain.rs\n"), Some(("Bash: oven.rs …".into(), true)));
        assert_eq!(line("\n{\n  \"rows\": 3\n}\n"), Some(("Bash: \"rows\": 3".into(), false)));
        assert_eq!(line("---\n\n"), None);
        let (long, more) = first_line(None, &"東".repeat(5000)).unwrap();
        assert_eq!((long, more), (format!("{} …", "東".repeat(MAX_LINE_CHARS)), true));
        assert_eq!(first_line(Some(" a\nb "), "x").unwrap().0, "a b: x");
    }

    #[test]
    fn an_answer_is_read_in_the_shapes_that_programs_write() {
        for value in [
            json!("ok"),
            json!([{"type": "text", "text": "ok"}, {"type": "image", "source": {}}]),
            json!({"output": "ok", "metadata": {"exit_code": 0}}),
            json!("{\"output\":\"ok\",\"metadata\":{\"exit_code\":0}}"),
            json!({"stdout": "", "stderr": "ok", "exit_code": 1}),
            json!({"result": {"content": [{"type": "text", "text": "ok"}]}}),
        ] {
            assert_eq!(answer(&value), "ok", "{value}");
        }
        assert_eq!((answer(&json!("{not json")), answer(&json!(null))), ("{not json".into(), String::new()));
        let deep = (0..100).fold(json!("deep"), |inner, _| json!({ "result": inner }));
        assert_eq!(answer(&deep), "");
        assert_eq!(answer(&json!("東\n".repeat(1 << 20))).len(), MAX_ANSWER_BYTES / 4 * 4);
        assert!(is_tool("toolResult") && is_tool(" TOOL ") && !is_tool("system") && !is_tool("tool_use"));
    }

    #[test]
    fn times_are_read_in_every_unit_and_as_text() {
        let at = 1_700_000_000_000;
        for value in [
            json!(1_700_000_000),
            json!(1_700_000_000.0),
            json!(1_700_000_000_000_i64),
            json!(1_700_000_000_000_000_i64),
            json!(1_700_000_000_000_000_000_i64),
            json!("1700000000"),
            json!("2023-11-14T22:13:20Z"),
            json!("2023-11-14T23:13:20+01:00"),
            json!("2023-11-14 22:13:20 UTC"),
            json!("2023-11-14T22:13:20"),
        ] {
            assert_eq!(moment(&value), Some(at), "{value}");
        }
        for value in
            [json!(null), json!(-5), json!(0), json!("soon"), json!(1e300), json!("1969-01-01T00:00:00Z"), json!([])]
        {
            assert_eq!(moment(&value), None, "{value}");
        }
        assert_eq!(written(at).as_deref(), Some("2023-11-14T22:13:20Z"));
    }
}
