//! From what was sent to events, or to a sentence that names the event and the field.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::event::{Captured, Event, TextShape};

/// Maximum number of events that are taken at a time.
pub(super) const MAX_EVENTS: usize = 10_000;
/// Maximum length of a text.
const MAX_TEXT_BYTES: usize = 50 * 1024;
/// Maximum length of an event's id, in bytes.
const MAX_ID_BYTES: usize = 500;

/// What is wrong with what was sent: `events[3].text: …`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EventError(String);

impl EventError {
    /// That nothing is kept in a folder.
    pub(super) fn is_off(folder: &str) -> Self {
        let key = folder.replace('-', "_");
        Self(format!("`[capture] {key}` is false in memory.toml, so nothing is imported into `{folder}`"))
    }
}

/// Reads one event or an array. One that is not right refuses all of them. `sender` tells the ids of different programs
/// apart.
pub(super) fn read(body: Value, sender: &str, now: Timestamp) -> Result<Vec<Captured>, EventError> {
    match body {
        Value::Array(events) if events.len() > MAX_EVENTS => {
            Err(EventError(format!("events: there are {}; at most {MAX_EVENTS} are taken at a time", events.len())))
        }
        Value::Array(events) => events
            .into_iter()
            .enumerate()
            .map(|(at, event)| {
                one(event, sender, now)
                    .map_err(|(field, message)| EventError(format!("events[{at}]{field}: {message}")))
            })
            .collect(),
        event => one(event, sender, now)
            .map(|event| vec![event])
            .map_err(|(field, message)| EventError(format!("{}: {message}", field.trim_start_matches('.')))),
    }
}

/// The field, as `.text`, and what is wrong with it.
type Wrong = (String, String);

fn one(value: Value, sender: &str, now: Timestamp) -> Result<Captured, Wrong> {
    let wrong = |field: &str, message: String| (format!(".{field}"), message);
    let mut event = typed(value)?;
    for (field, shape, text) in event.texts() {
        if let Some(message) = tidy(shape, text) {
            return Err(wrong(field, message));
        }
    }
    if let Event::Bookmark(bookmark) = &event
        && !is_address(&bookmark.url)
    {
        return Err(wrong("url", "is not an address".into()));
    }
    let session = match &event {
        Event::Message(message) => message.session.clone(),
        _ => String::new(),
    };
    let kind = event.kind();
    let (id, time) = event.stamps();
    if let Some(message) = id.as_mut().and_then(|id| tidy(TextShape::Line(MAX_ID_BYTES), id)) {
        return Err(wrong("id", message));
    }
    let key = id.take().map(|id| {
        let mut hasher = blake3::Hasher::new();
        for part in [sender, kind.folder(), &session, &id] {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part.as_bytes());
        }
        let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
        u64::from_le_bytes([a, b, c, d, e, f, g, h])
    });
    let at_ms = match time.take() {
        None => now.as_millisecond(),
        Some(time) => match time.parse::<Timestamp>() {
            Ok(time) if time.as_millisecond() >= 0 => time.as_millisecond(),
            _ => return Err(wrong("time", "takes RFC 3339, as 2026-01-05T18:32:00+01:00, from 1970 on".into())),
        },
    };
    Ok(Captured { at_ms, key, import: None, sender: sender.to_owned(), event })
}

/// The event by its `type`.
fn typed(value: Value) -> Result<Event, Wrong> {
    const TYPES: &str = "takes message, file, search, agent_activity, note, bookmark or clipboard";
    let Value::Object(mut fields) = value else { return Err((String::new(), "an event is an object".into())) };
    let named = fields.shift_remove("type");
    let rest = Value::Object(fields);
    match named.as_ref().and_then(Value::as_str) {
        Some("message") => fields_of(rest).map(Event::Message),
        Some("file") => fields_of(rest).map(Event::File),
        Some("search") => fields_of(rest).map(Event::Search),
        Some("agent_activity") => fields_of(rest).map(Event::AgentActivity),
        Some("note") => fields_of(rest).map(Event::Note),
        Some("bookmark") => fields_of(rest).map(Event::Bookmark),
        Some("clipboard") => fields_of(rest).map(Event::Clipboard),
        _ => Err((".type".into(), TYPES.into())),
    }
}

fn fields_of<T: DeserializeOwned>(value: Value) -> Result<T, Wrong> {
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { String::new() } else { format!(".{path}") };
        (field, error.into_inner().to_string())
    })
}

/// Line ends become `\n`, blank space at the ends goes. Says what is wrong.
fn tidy(shape: TextShape, text: &mut String) -> Option<String> {
    if text.contains('\r') {
        *text = text.replace("\r\n", "\n").replace('\r', "\n");
    }
    let max = match shape {
        TextShape::Line(max) => max,
        TextShape::Text => MAX_TEXT_BYTES,
    };
    if text.len() > max {
        return Some(format!("has {} bytes; it takes {max}", text.len()));
    }
    let line = shape != TextShape::Text;
    let allowed = |c: char| !line && matches!(c, '\n' | '\t');
    if let Some(c) = text.chars().find(|c| (c.is_control() || matches!(c, '\u{2028}' | '\u{2029}')) && !allowed(*c)) {
        return Some(format!("has the control character U+{:04X}", u32::from(c)));
    }
    // The first line may be indented code.
    let kept = if line { text.trim() } else { text.trim_end().trim_start_matches('\n') };
    if kept.trim().is_empty() {
        return Some("is empty".into());
    }
    if kept.len() < text.len() {
        *text = kept.to_owned();
    }
    None
}

/// Whether a bookmark may have it: what a browser opens without running it, and what stays one link in Markdown.
fn is_address(url: &str) -> bool {
    let known = ["http:", "https:", "mailto:", "file:"].iter().any(|scheme| {
        url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)) && url.len() > scheme.len()
    });
    known && !url.contains(|c: char| c.is_whitespace() || matches!(c, '<' | '>' | '"'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(body: Value) -> String {
        read(body, "", Timestamp::UNIX_EPOCH).unwrap_err().to_string()
    }

    #[test]
    fn what_is_wrong_is_named() {
        let message = json!({"type": "message", "session": "s", "role": "user", "text": "hi"});
        let with = |field: &str, value: Value| {
            let mut event = message.clone();
            event[field] = value;
            event
        };
        assert_eq!(refused(with("text", json!("x".repeat(51_201)))), "text: has 51201 bytes; it takes 51200");
        for (event, expected) in [
            (with("text", json!(3)), "events[1].text: invalid type: integer `3`, expected a string"),
            (with("text", json!(" \n")), "events[1].text: is empty"),
            (with("text", json!("a\u{7}")), "events[1].text: has the control character U+0007"),
            (with("role", json!("a\nb")), "events[1].role: has the control character U+000A"),
            (with("time", json!("yesterday")), "events[1].time: takes RFC 3339"),
            (with("type", json!("mesage")), "events[1].type: takes message, file,"),
            (with("contents", json!("x")), "unknown field `contents`"),
            (json!({"type": "message", "session": "s", "role": "user"}), "events[1]: missing field `text`"),
            (json!({"type": "file", "path": "a", "action": "opened", "content": "x"}), "unknown field `content`"),
            (json!({"type": "bookmark", "url": "nowhere", "title": "x"}), "events[1].url: is not an address"),
            (
                json!({"type": "bookmark", "url": "javascript:alert(1)", "title": "x"}),
                "events[1].url: is not an address",
            ),
            (json!({"type": "bookmark", "url": "https://a/>\"<img", "title": "x"}), "events[1].url: is not an address"),
            (
                json!({"type": "note", "title": "a", "content": "b", "tags": ["a", 1]}),
                "events[1].tags[1]: invalid type",
            ),
            (json!([]), "events[1]: an event is an object"),
        ] {
            let found = refused(json!([message, event]));
            assert!(found.contains(expected), "{found} has no {expected}");
        }
        assert!(refused(json!(vec![&message; 10_001])).starts_with("events: there are 10001"));
    }

    #[test]
    fn ids_count_within_a_sender_a_kind_and_a_session() {
        let key = |body: Value, sender: &str| read(body, sender, Timestamp::UNIX_EPOCH).unwrap()[0].key.unwrap();
        let message =
            |session: &str| json!({"type": "message", "session": session, "role": "u", "text": "t", "id": "1"});
        assert_eq!(key(message("a"), "x"), key(message("a"), "x"));
        let search = json!({"type": "search", "query": "q", "id": "1"});
        let keys = [key(message("a"), "x"), key(message("b"), "x"), key(message("a"), "y"), key(search, "x")];
        assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), 4);
    }

    #[test]
    fn what_is_kept_reads_back_as_it_was() {
        let body = json!([
            {"type": "message", "session": "s", "role": "user", "agent": "a", "text": "x\r\ny ", "time": "2026-01-05T18:32:00+01:00"},
            {"type": "file", "name": "n", "path": "p", "file_type": "t", "action": "a", "app": "b"},
            {"type": "search", "query": "q", "where": "web", "results": 3},
            {"type": "agent_activity", "agent": "a", "summary": "s"},
            {"type": "note", "title": "t", "content": "c", "tags": ["x"]},
            {"type": "bookmark", "url": "https://x", "title": "t", "note": "n"},
            {"type": "clipboard", "content": "c", "app": "a"},
        ]);
        let events = read(body, "", Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(events[0].at_ms, 1_767_634_320_000);
        assert!(matches!(&events[0].event, Event::Message(message) if message.text == "x\ny"));
        let kept = serde_json::to_vec(&events).unwrap();
        assert_eq!(serde_json::from_slice::<Vec<Captured>>(&kept).unwrap(), events);
    }
}
