//! What programs send: one type for each kind of event, and how what was sent becomes events, without what nobody said, or a sentence that names
//! the event and the field.

use std::collections::{HashMap, HashSet};

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::access::request::{RequestError, rfc3339};
use crate::base::clock::{Edge, moment};
use crate::base::config::CaptureConfig;
use crate::base::fence::is_of_recalled;
use crate::base::state::{NewEvent, hash_of};
use crate::memory::imports::{is_address, said_in_events, without_recalled};
use crate::serve::wire::{IngestTurn, TurnsParams};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
pub(crate) enum Event {
    /// A turn of a conversation.
    Message(MessageEvent),
    /// A file was worked on.
    File(FileEvent),
    /// Something was looked for.
    Search(SearchEvent),
    /// An agent did something.
    AgentActivity(AgentActivityEvent),
    /// A note; it replaces one with the same title.
    Note(NoteEvent),
    /// A page; it updates one with the same address.
    Bookmark(BookmarkEvent),
    /// Something was put on the clipboard.
    Clipboard(ClipboardEvent),
}

/// A turn of a conversation.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Message)]
pub(crate) struct MessageEvent {
    /// Id of the conversation: all its turns are written to one file.
    pub session: String,
    /// Who spoke: `user`, `assistant`, …
    pub role: String,
    /// The speaker's name, shown instead of the role.
    pub agent: Option<String>,
    /// Title of the conversation, taken from its first turn. Without it, the file is named after the text of that turn.
    pub title: Option<String>,
    /// The text, as Markdown or plain text.
    pub text: String,
    /// Id of the event: of events with the same id only the first counts.
    pub id: Option<String>,
    /// When it happened, as RFC 3339; default now.
    pub time: Option<String>,
    /// Whether to exclude the conversation from the chat model: its file then says `extraction: false`.
    pub skip_extraction: Option<bool>,
}

/// A file was opened or changed. Its content is never sent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = FileAction)]
pub(crate) struct FileEvent {
    /// The file's name, if the path does not contain it.
    pub name: Option<String>,
    /// Its path.
    pub path: String,
    /// What kind of file it is.
    pub file_type: Option<String>,
    /// What was done: `opened`, `edited`, …
    pub action: String,
    /// The program.
    pub app: Option<String>,
    /// Id of the event: of events with the same id only the first counts.
    pub id: Option<String>,
    /// When it happened, as RFC 3339; default now.
    pub time: Option<String>,
}

/// Something was looked for.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Search)]
pub(crate) struct SearchEvent {
    /// The query.
    pub query: String,
    /// Where: `web`, `vault`, a program's name.
    #[serde(rename = "where", default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// Number of results.
    pub results: Option<u64>,
    /// Id of the event: of events with the same id only the first counts.
    pub id: Option<String>,
    /// When it happened, as RFC 3339; default now.
    pub time: Option<String>,
}

/// An agent did something.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = AgentActivity)]
pub(crate) struct AgentActivityEvent {
    /// Which agent.
    pub agent: String,
    /// What it did.
    pub summary: String,
    /// Id of the event: of events with the same id only the first counts.
    pub id: Option<String>,
    /// When it happened, as RFC 3339; default now.
    pub time: Option<String>,
}

/// A note; it replaces one with the same title, which can be restored.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Note)]
pub(crate) struct NoteEvent {
    /// Its title, which identifies it.
    pub title: String,
    /// Its text, as Markdown.
    pub content: String,
    /// Its tags.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tags: Vec<String>,
    /// Id of the event: of events with the same id only the first counts.
    pub id: Option<String>,
    /// When it happened, as RFC 3339; default now.
    pub time: Option<String>,
}

/// A page; it updates one with the same address.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Bookmark)]
pub(crate) struct BookmarkEvent {
    /// Its address, which identifies it.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Why it was saved.
    pub note: Option<String>,
    /// Id of the event: of events with the same id only the first counts.
    pub id: Option<String>,
    /// When it happened, as RFC 3339; default now.
    pub time: Option<String>,
}

/// Something was put on the clipboard.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
#[schema(as = Clipboard)]
pub(crate) struct ClipboardEvent {
    /// Its text.
    pub content: String,
    /// The program that it is from.
    pub app: Option<String>,
    /// Id of the event: of events with the same id only the first counts.
    pub id: Option<String>,
    /// When it happened, as RFC 3339; default now.
    pub time: Option<String>,
}

/// An event on its way to its file.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Captured {
    /// When it was, in milliseconds since 1970.
    pub(super) at_ms: i64,
    /// Tells it from all others of the same program, when its sender named it.
    pub(super) key: Option<u64>,
    /// The import that brought it.
    pub(super) import: Option<i64>,
    /// The program that sent it, by the name of its token; none for the person's own.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(super) sender: String,
    pub(super) event: Event,
}

impl Captured {
    /// Who sent it, as the logs say it.
    pub(super) fn by(&self) -> String {
        if let Some(import) = self.import {
            return format!("import {import}");
        }
        if self.sender.is_empty() { "program".into() } else { format!("program {}", self.sender) }
    }

    /// As the queue keeps it.
    pub(super) fn encoded(&self) -> Result<NewEvent, serde_json::Error> {
        let body = serde_json::to_string(self)?;
        Ok(NewEvent { key: self.key, import: self.import, kind: self.event.folder(), body })
    }
}

/// The folders that events go to. But for its hyphen, each is a key of `[capture]`.
pub(super) const FOLDERS: [&str; 7] =
    [CONVERSATIONS, "files", "searches", NOTES, "snippets", "agent-activity", BOOKMARKS];
pub(super) const CONVERSATIONS: &str = "conversations";
pub(super) const NOTES: &str = "notes";
pub(super) const BOOKMARKS: &str = "bookmarks";

/// Whether events of a folder are captured.
pub(super) fn takes(config: &CaptureConfig, folder: &str) -> bool {
    match folder {
        CONVERSATIONS => config.conversations,
        "files" => config.files,
        "searches" => config.searches,
        NOTES => config.notes,
        "snippets" => config.snippets,
        "agent-activity" => config.agent_activity,
        _ => config.bookmarks,
    }
}

/// Refuses an import into a folder whose events are not captured.
pub(super) fn check_taken(config: &CaptureConfig, folder: &str) -> Result<(), RequestError> {
    if takes(config, folder) {
        return Ok(());
    }
    let key = folder.replace('-', "_");
    let message = format!("`[capture] {key}` is false in memory.toml, so nothing is imported into `{folder}`");
    Err(RequestError::invalid(message))
}

impl Event {
    /// Where it goes: one of [`FOLDERS`].
    pub(super) fn folder(&self) -> &'static str {
        match self {
            Self::Message(_) => CONVERSATIONS,
            Self::File(_) => "files",
            Self::Search(_) => "searches",
            Self::AgentActivity(_) => "agent-activity",
            Self::Note(_) => NOTES,
            Self::Bookmark(_) => BOOKMARKS,
            Self::Clipboard(_) => "snippets",
        }
    }

    /// Changes its texts, each given with the name of its field.
    pub(super) fn change_texts(&mut self, mut change: impl FnMut(&str, &mut String)) {
        let mut fields = serde_json::to_value(&*self).expect("an event is JSON");
        for (name, value) in fields.as_object_mut().into_iter().flatten().filter(|(name, _)| *name != "type") {
            match value {
                Value::String(text) => change(name, text),
                Value::Array(texts) => texts.iter_mut().for_each(|text| {
                    if let Value::String(text) = text {
                        change(name, text);
                    }
                }),
                _ => {}
            }
        }
        *self = serde_json::from_value(fields).expect("its texts alone have changed");
    }
}

/// Maximum number of events that are taken at a time.
pub(super) const MAX_EVENTS: usize = 10_000;
/// Maximum length of a text.
const MAX_TEXT_BYTES: usize = 50 * 1024;
/// What the address of a bookmark may begin with: a browser opens it without running it.
const SCHEMES: [&str; 4] = ["http:", "https:", "mailto:", "file:"];

/// Reads one event or an array; says how many there are. One that is not right refuses all of them. A turn of which nobody has said anything
/// is left out. `sender` tells the ids of different programs apart; it is empty for the person's own, and `None` for an import, whose reader has
/// cleaned its turns as their program asks for.
///
/// # Errors
/// What is wrong with what was sent: `events[3].text: …`.
pub(super) fn read(body: Value, sender: Option<&str>, now: Timestamp) -> Result<(Vec<Captured>, usize), RequestError> {
    let (values, is_one) = match body {
        Value::Array(events) => (events, false),
        event => (vec![event], true),
    };
    if values.len() > MAX_EVENTS {
        let count = values.len();
        return Err(RequestError::invalid(format!("events: there are {count}; send at most {MAX_EVENTS} at a time")));
    }
    let failed = |at: usize, (field, message): Wrong| match is_one {
        true => RequestError::invalid(format!("{}: {message}", field.trim_start_matches('.'))),
        false => RequestError::invalid(format!("events[{at}]{field}: {message}")),
    };
    let events = values.into_iter().enumerate();
    let events = events.map(|(at, value)| typed(value).map_err(|wrong| failed(at, wrong)));
    let mut events: Vec<Event> = events.collect::<Result<_, _>>()?;
    let (sent, silent) = (events.len(), clean(&mut events, sender));
    let said = events.into_iter().enumerate().filter(|(at, _)| !silent.contains(at));
    let read = said.map(|(at, event)| checked(event, sender, now).map_err(|wrong| failed(at, wrong)));
    Ok((read.collect::<Result<_, _>>()?, sent))
}

/// Takes out of turns what nobody said, and what was recalled, which is known already and would come back as if somebody had said it; gives the
/// places of those of which nothing is left.
fn clean(events: &mut [Event], sender: Option<&str>) -> HashSet<usize> {
    let mut sessions: HashMap<String, Vec<(usize, &mut MessageEvent)>> = HashMap::new();
    for (at, event) in events.iter_mut().enumerate() {
        // What is empty is not right, which is said.
        if let Event::Message(message) = event
            && !message.text.trim().is_empty()
        {
            // Programs name a conversation by how its first message begins.
            message.title = message.title.take().filter(|title| !is_of_recalled(title));
            // As lines are told below.
            if message.text.contains('\r') {
                message.text = message.text.replace("\r\n", "\n").replace('\r', "\n");
            }
            sessions.entry(message.session.trim().to_owned()).or_default().push((at, message));
        }
    }
    let mut silent = HashSet::new();
    for turns in sessions.into_values() {
        let said = match sender {
            Some(_) => {
                let turns: Vec<_> = turns
                    .iter()
                    .map(|(_, turn)| (turn.agent.as_ref().unwrap_or(&turn.role).as_str(), &*turn.role, &*turn.text))
                    .collect();
                said_in_events(&turns)
            }
            None => turns.iter().map(|(_, turn)| without_recalled(&turn.text)).collect(),
        };
        for ((at, turn), said) in turns.into_iter().zip(said) {
            let Some(said) = said else { continue };
            if said.trim().is_empty() {
                silent.insert(at);
            }
            turn.text = said;
        }
    }
    silent
}

/// The field, as `.text`, and what is wrong with it.
type Wrong = (String, String);

fn checked(mut event: Event, sender: Option<&str>, now: Timestamp) -> Result<Captured, Wrong> {
    let wrong = |field: &str, message: String| (format!(".{field}"), message);
    let (mut first, mut id, mut time) = (None, None, None);
    event.change_texts(|field, text| {
        let message = first.is_none().then(|| tidy(field, text)).flatten();
        first = first.take().or_else(|| Some(wrong(field, message?)));
        match field {
            "id" => id = Some(text.clone()),
            "time" => time = Some(text.clone()),
            _ => {}
        }
    });
    first.map_or(Ok(()), Err)?;
    if let Event::Bookmark(bookmark) = &event
        && !is_address(&bookmark.url, &SCHEMES)
    {
        return Err(wrong("url", "is not an address".into()));
    }
    let session = match &event {
        Event::Message(message) => message.session.clone(),
        _ => String::new(),
    };
    let folder = event.folder();
    let key = id.map(|id| hash_of(&[sender.unwrap_or_default(), folder, &session, &id].map(str::as_bytes)));
    let at_ms = match time {
        None => now.as_millisecond(),
        Some(time) => match time.parse::<Timestamp>() {
            Ok(time) if time.as_millisecond() >= 0 => time.as_millisecond(),
            _ => return Err(wrong("time", "takes RFC 3339, as 2026-01-05T18:32:00+01:00, from 1970 on".into())),
        },
    };
    Ok(Captured { at_ms, key, import: None, sender: sender.unwrap_or_default().to_owned(), event })
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

/// Line ends become `\n`, blank space at the ends goes. Says what is wrong with the text of a field; that of most is one line.
fn tidy(field: &str, text: &mut String) -> Option<String> {
    if text.contains('\r') {
        *text = text.replace("\r\n", "\n").replace('\r', "\n");
    }
    let (line, max) = match field {
        "role" | "agent" | "tags" => (true, 100),
        "file_type" | "action" | "app" | "where" => (true, 200),
        "session" | "id" => (true, 500),
        "title" | "name" => (true, 1000),
        "path" | "url" => (true, 8000),
        _ => (false, MAX_TEXT_BYTES),
    };
    if text.len() > max {
        return Some(format!("has {} bytes; it takes {max}", text.len()));
    }
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

/// Maximum number of turns that are taken at a time: each is two events.
const MAX_TURNS: usize = MAX_EVENTS / 2;

/// The events of turns as other programs hand them over, in their order. The same turn of the same conversation has the same id, however often
/// it is sent and with whatever before it.
///
/// # Errors
/// When a date is none, or there are too many.
pub(crate) fn turns(params: &TurnsParams, now: jiff::Timestamp) -> Result<Value, RequestError> {
    if params.turns.len() > MAX_TURNS {
        return Err(RequestError::invalid(format!("`turns` has {} turns; it takes {MAX_TURNS}", params.turns.len())));
    }
    let session = format!("{}/{}", params.agent_id.trim(), params.conversation_id.trim());
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut events = Vec::new();
    for turn in &params.turns {
        let time = time(turn, params, now)?;
        let said = blake3::hash(json!([turn.user, turn.assistant, turn.date]).to_string().as_bytes()).to_hex()[..32]
            .to_owned();
        let nth = times.entry(said.clone()).or_default();
        *nth += 1;
        for (role, text) in [("user", &turn.user), ("assistant", &turn.assistant)] {
            if text.trim().is_empty() {
                continue;
            }
            let mut event = json!({ "type": "message", "session": session, "role": role, "text": text, "id": format!("{said}-{nth}-{role}") });
            if params.skip_extraction == Some(true) {
                event["skip_extraction"] = true.into();
            }
            if let Some(time) = &time {
                event["time"] = time.as_str().into();
            }
            events.push(event);
        }
    }
    Ok(Value::Array(events))
}

fn time(turn: &IngestTurn, params: &TurnsParams, now: jiff::Timestamp) -> Result<Option<String>, RequestError> {
    let Some(date) = turn.date.as_ref().or(params.session_date.as_ref()).filter(|date| !date.trim().is_empty()) else {
        return Ok(None);
    };
    let invalid = || RequestError::invalid(format!("`date` is `{date}`; it takes 2026-01-05 or 2026-01-05T10:00:00Z"));
    moment(date, Edge::Start, now).map(|ms| Some(rfc3339(ms))).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(body: Value) -> String {
        read(body, None, Timestamp::UNIX_EPOCH).unwrap_err().to_string()
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
        let key =
            |body: Value, sender: &str| read(body, Some(sender), Timestamp::UNIX_EPOCH).unwrap().0[0].key.unwrap();
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
        let (events, _) = read(body, Some(""), Timestamp::UNIX_EPOCH).unwrap();
        assert_eq!(events[0].at_ms, 1_767_634_320_000);
        assert!(matches!(&events[0].event, Event::Message(message) if message.text == "x\ny"));
        let kept = serde_json::to_vec(&events).unwrap();
        assert_eq!(serde_json::from_slice::<Vec<Captured>>(&kept).unwrap(), events);
    }

    #[test]
    fn a_turn_has_one_name_however_often_it_is_sent() {
        let turn =
            |user: &str, assistant: &str| IngestTurn { user: user.into(), assistant: assistant.into(), date: None };
        let of = |turns: Vec<IngestTurn>| {
            let params =
                TurnsParams { agent_id: "a".into(), conversation_id: "c".into(), turns, ..TurnsParams::default() };
            let events = super::turns(&params, jiff::Timestamp::UNIX_EPOCH).unwrap();
            events.as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let (one, two) = (turn("hi", "hello"), turn("yes", ""));
        let all = of(vec![one.clone(), two.clone(), two.clone()]);
        assert_eq!((all.len(), &of(vec![one.clone()])[..], &of(vec![two.clone()])[..]), (4, &all[..2], &all[2..3]));
        assert_ne!(all[2], all[3], "who says yes twice has said it twice");
    }
    #[test]
    fn what_programs_put_into_turns_is_not_taken() {
        let turns = vec![
            IngestTurn {
                user: "<relevant-memories>\nLikes rum\n</relevant-memories>\nIs my wombat okay?".into(),
                assistant: "<think>secret</think>Your  wombat is fine.".into(),
                date: None,
            },
            IngestTurn { user: "As  it\n\n is ".into(), assistant: "<think>all of it".into(), date: None },
            IngestTurn { user: String::new(), assistant: "and more of it".into(), date: None },
            IngestTurn { user: String::new(), assistant: "to its end</think>Sure".into(), date: None },
        ];
        let params = TurnsParams { agent_id: "a".into(), conversation_id: "c".into(), turns, ..TurnsParams::default() };
        let events = super::turns(&params, jiff::Timestamp::UNIX_EPOCH).unwrap();
        let (events, sent) = read(events, Some(""), Timestamp::UNIX_EPOCH).unwrap();
        let texts = events.iter().map(|captured| match &captured.event {
            Event::Message(message) => message.text.as_str(),
            other => panic!("{other:?}"),
        });
        assert_eq!(texts.collect::<Vec<_>>(), ["Is my wombat okay?", "Your  wombat is fine.", "As  it\n\n is", "Sure"]);
        assert_eq!(sent, 6);
    }
}
