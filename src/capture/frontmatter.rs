//! The frontmatter of captured files.

use jiff::Zoned;
use serde_json::{Map, Value};

use crate::note::{self, Visibility, compose, written};

/// What captured files say of where they come from.
pub(super) const SOURCE: &str = "capture";
/// Maximum number that is listed; each one more rewrites the file's head.
const MAX_PARTICIPANTS: usize = 50;

/// The frontmatter that every captured file begins with.
pub(super) fn front(title: &str, at: &Zoned) -> Map<String, Value> {
    let mut front = Map::new();
    front.insert("title".into(), title.into());
    front.insert("created".into(), written(at).into());
    front.insert("source".into(), SOURCE.into());
    front
}

/// The note that the frontmatter alone makes: reading the rest of a long conversation for it would take its time.
pub(super) fn head(text: &str) -> note::Note {
    let end = text.strip_prefix("---\n").and_then(|rest| rest.find("\n---\n")).map_or(text.len(), |at| at + 9);
    note::Note::parse(&text[..end.min(text.len())], "")
}

/// Whether the frontmatter has this text under this key.
pub(super) fn is_of(text: &str, key: &str, value: &str) -> bool {
    head(text).metadata.get(key).and_then(Value::as_str) == Some(value)
}

/// Whether a file was made by an event.
pub(super) fn is_captured(text: &str) -> bool {
    is_of(text, "source", SOURCE)
}

/// Marks a file that is private because what was captured before under its name is. The person may make it `true`, or take it
/// out.
pub(super) const INHERITED: &str = "inherited";
const PRIVATE: &str = "private";

/// The frontmatter of a new file, private if what it goes on with is.
pub fn kept_private(mut front: Map<String, Value>, private: bool) -> Map<String, Value> {
    if private {
        front.insert(PRIVATE.into(), INHERITED.into());
    }
    front
}

/// Whether a note may be written over: made by an event or `save`, not private but by inheritance, and read without a doubt.
pub(super) fn is_ours(text: &str, note: &note::Note) -> bool {
    let source = note.metadata.get("source").and_then(Value::as_str);
    source.is_some_and(|source| source == SOURCE || source == "save")
        && note.problems.is_empty()
        && (note.visibility == Visibility::Public || only_inherits(text, note))
}

/// Whether a note would not be private if it did not say that it inherits that.
fn only_inherits(text: &str, note: &note::Note) -> bool {
    let mut front = note.metadata.clone();
    front.shift_remove(PRIVATE).is_some_and(|value| value == INHERITED)
        && !note::Note::parse(&compose(&front, &text[note.body.clone()]), "").is_private()
}

/// The addresses in the frontmatter; none, where a change of it could lose what cannot be read.
pub(super) fn urls_of(text: &str) -> Vec<String> {
    let note = head(text);
    if !note.problems.is_empty() {
        return Vec::new();
    }
    ["url", "source"].iter().filter_map(|key| Some(note.metadata.get(*key)?.as_str()?.to_owned())).collect()
}

/// The tags of a frontmatter with more behind them.
pub(super) fn united(tags: Option<&Value>, more: Vec<String>) -> Value {
    let mut all: Vec<Value> = match tags {
        Some(Value::Array(tags)) => tags.clone(),
        Some(Value::String(tags)) => tags.split([',', ' ']).filter(|tag| !tag.is_empty()).map(Value::from).collect(),
        _ => Vec::new(),
    };
    all.extend(more.into_iter().map(Value::from));
    all.into()
}

/// The text with one more name in the list of its participants; `None` when it has it, or no list as capture writes it.
pub(super) fn with_participant(text: &str, name: &str) -> Option<String> {
    let note = head(text);
    let names = note.metadata.get("participants")?.as_array()?;
    if names.len() >= MAX_PARTICIPANTS || names.iter().any(|known| known.as_str() == Some(name)) {
        return None;
    }
    let list = Map::from_iter([("participants".to_owned(), Value::from(vec![name]))]);
    let item = compose(&list, "").lines().nth(2)?.to_owned();
    let front = &text[..note.body.start];
    let start = front.find("\nparticipants:\n")? + "\nparticipants:\n".len();
    let end = start
        + front[start..].split_inclusive('\n').take_while(|line| line.starts_with("- ")).map(str::len).sum::<usize>();
    Some(format!("{}{item}\n{}", &text[..end], &text[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_participant_is_added_and_all_else_stays() {
        let text = "---\ntitle: x # mine\nparticipants:\n- user\ntags:\n- a\n---\n\nparticipants:\n- none\n";
        let more = with_participant(text, "a: b").unwrap();
        assert_eq!(more, text.replacen("- user\n", "- user\n- 'a: b'\n", 1));
        assert_eq!(with_participant(&more, "a: b"), None);
        assert_eq!(with_participant("---\nparticipants: [user]\n---\n", "b"), None, "as the person wrote it");
    }

    #[test]
    fn the_head_is_the_frontmatter() {
        let text = "---\ntitle: t\nsession: s\n---\n\ntext\n\n---\nsession: other\n---\n";
        assert!(is_of(text, "session", "s") && !is_of(text, "session", "other"));
        assert!(!is_of("session: s\n", "session", "s"));
    }
}
