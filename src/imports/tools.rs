//! What tools answered: a line of it comes, by which somebody knows again what was looked at. The rest is machinery.

use serde_json::Value;

use super::parts::text_of;

/// Why the rest of an answer, or one that says nothing, does not come.
pub(super) const TOOLS: &str = "what tools answered, but for its first line";
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
}
