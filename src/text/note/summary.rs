//! A note's own summary, in its frontmatter: where something of the note goes, the summary may say it still.

use serde_json::Value;

use super::Note;

/// What a summary is called.
const KEY: &str = "summary";

/// What the summary of a note says; `None` where it has none.
pub(crate) fn summary_of(text: &str) -> Option<String> {
    let note = Note::parse(text, "");
    note.metadata.get(KEY).filter(|value| !value.is_null()).map(|value| match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    })
}

/// A note without its summary. Nothing but its lines goes; `None` where that cannot be so.
pub(crate) fn without_summary(text: &str) -> Option<String> {
    let note = Note::parse(text, "");
    let head = &text[..note.body.start];
    let mut span = None;
    let mut at = 0;
    for line in head.split_inclusive('\n') {
        let end = at + line.len();
        span = match span {
            None if is_key(line) => Some((at, end)),
            // What is indented, or an item of a list, belongs to it; blank lines do where such a line follows.
            Some((from, to)) if line.starts_with([' ', '\t']) || line.starts_with("- ") => {
                if to == at || text[to..at].trim().is_empty() { Some((from, end)) } else { Some((from, to)) }
            }
            other => other,
        };
        at = end;
    }
    let (from, to) = span?;
    let without = format!("{}{}", &text[..from], &text[to..]);
    let after = Note::parse(&without, "");
    let rest = |note: &Note| {
        let rest = note.metadata.iter().filter(|(key, _)| *key != KEY);
        rest.map(|(key, value)| (key.clone(), value.clone())).collect::<Vec<_>>()
    };
    let same = rest(&after) == rest(&note) && without[after.body.clone()] == text[note.body.clone()];
    (same && !after.metadata.contains_key(KEY) && after.is_private() == note.is_private()).then_some(without)
}

fn is_key(line: &str) -> bool {
    line.strip_prefix(KEY).is_some_and(|rest| rest.trim_start().starts_with([':', '=']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_goes_alone() {
        let without = without_summary;
        for summary in [
            "summary: One line.\n", "summary: >-\n  Two\n\n  lines.\n", "summary: |\n  # x\n  y: z\n",
            "summary:\n- a\n- b\n", "summary:\n  long\n",
        ] {
            let text = |summary: &str| format!("---\ntitle: T\n{summary}\ntags: [x]\n---\n\nsummary: of the body\n");
            assert_eq!(without(&text(summary)).unwrap(), text(""), "{summary}");
        }
        assert_eq!(without("+++\nsummary = \"x\"\na = 1\n+++\nText\n").unwrap(), "+++\na = 1\n+++\nText\n");
        assert_eq!(without("---\nsummary: &s x\nother: *s\n---\nText\n"), None, "something else leans on it");
        assert_eq!(without("---\na: 1\n---\nText\n"), None);
    }
}
