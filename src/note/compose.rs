//! Writes a note's text: the reverse of reading it.

use serde_json::{Map, Value};

/// A note with frontmatter in the order given, and a body that begins after a blank line and ends with a new line. What the
/// body holds stays in the body, whatever it looks like.
pub fn compose(frontmatter: &Map<String, Value>, body: &str) -> String {
    let yaml = serde_yaml::to_string(frontmatter).expect("JSON is YAML");
    let body = body.trim_start_matches('\n').trim_end();
    format!("---\n{yaml}---\n\n{body}\n")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::note::Note;

    #[test]
    fn what_is_composed_is_read_again() {
        let frontmatter = json!({
            "title": "a: \"quoted\" # title\n---\nprivate: true", "tags": ["one", "yes", "007"], "n": 3, "deep": {"list": [null, 1.5]},
        });
        let frontmatter = frontmatter.as_object().unwrap();
        for body in ["plain", "---\nprivate: true\n---\nx", "# Heading\n\n```\nopen fence", "+++\na = 1\n+++"] {
            let text = compose(frontmatter, body);
            let note = Note::parse(&text, "stem");
            assert_eq!(&note.metadata, frontmatter);
            assert_eq!(text[note.body.clone()].trim(), body);
            assert_eq!(note.problems, [], "{text}");
        }
    }
}
