//! The title of a captured conversation is made of its first turn. Where that goes for good, so does the title.

use serde_json::{Map, Value};

use crate::derive::plain;
use crate::note::{Note, compose};
use crate::path::VaultPath;

/// Whether a note's frontmatter has a title that is words of what was removed.
pub(super) fn title_says(note: &Note, removed: &[String]) -> bool {
    let title = note.metadata.get("title").and_then(Value::as_str).map(plain).unwrap_or_default();
    !title.is_empty() && removed.iter().any(|text| plain(text).contains(&title))
}

/// A captured conversation with the name of its session for a title, in place of one that is words of what was removed. Nothing but that
/// line is another; `None` where it cannot be so.
pub(super) fn retitled(path: &VaultPath, text: &str, removed: &[String]) -> Option<String> {
    let note = Note::parse(text, path.stem());
    let of = |note: &Note, key: &str| note.metadata.get(key).and_then(Value::as_str).map(str::to_owned);
    let session = of(&note, "session").filter(|_| of(&note, "source").as_deref() == Some("capture"))?;
    if !title_says(&note, removed) {
        return None;
    }
    let title = Map::from_iter([("title".to_owned(), Value::from(format!("Conversation {session}")))]);
    let composed = compose(&title, "");
    let line = composed.lines().nth(1).filter(|_| composed.lines().nth(2) == Some("---"))?;
    let mut at = 0;
    let old = text[..note.body.start].split_inclusive('\n').find_map(|line| {
        let span = at..at + line.trim_end_matches(['\r', '\n']).len();
        at += line.len();
        line.starts_with("title:").then_some(span)
    })?;
    let new = format!("{}{line}{}", &text[..old.start], &text[old.end..]);
    let after = Note::parse(&new, path.stem());
    let rest = |note: &Note| {
        note.metadata
            .iter()
            .filter(|(key, _)| *key != "title")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect::<Vec<_>>()
    };
    let same = rest(&after) == rest(&note) && new[after.body.clone()] == text[note.body.clone()];
    (same && after.is_private() == note.is_private() && !title_says(&after, removed)).then_some(new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conversation_is_not_called_by_what_was_removed_of_it() {
        let path = VaultPath::new("conversations/a.md").unwrap();
        let text = |title: &str| {
            format!("---\ntitle: {title}\nsource: capture\nsession: \"s: 1\"\ntags:\n- x\n---\n\n**10:00 · a:** Bye\n")
        };
        let removed = vec!["**09:59 · a:** The code of the garage is 4711, and so on.".to_owned()];
        let retitled = |text: &str| super::retitled(&path, text, &removed);
        assert_eq!(retitled(&text("\"The code of the garage is 4711\"")).unwrap(), text("'Conversation s: 1'"));
        assert_eq!(retitled(&text("Garages")), None);
        assert_eq!(retitled(&text(">-\n  The code of\n  the garage")), None, "it is told, and left alone");
        assert_eq!(retitled(&text("The code of the garage").replace("source: capture", "source: me")), None);
    }
}
