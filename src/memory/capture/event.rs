//! What programs send: one type for each kind of event.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

use crate::access::request::RequestError;
use crate::base::config::CaptureConfig;
use crate::base::state::NewEvent;

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
        Ok(NewEvent { key: self.key, import: self.import, kind: self.event.kind().folder(), body })
    }
}

/// The collections that events go to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum EventKind {
    Conversations,
    Files,
    Searches,
    Notes,
    Snippets,
    AgentActivity,
    Bookmarks,
}

/// Whether a kind of event is captured.
pub(super) fn takes(config: &CaptureConfig, kind: EventKind) -> bool {
    match kind {
        EventKind::Conversations => config.conversations,
        EventKind::Files => config.files,
        EventKind::Searches => config.searches,
        EventKind::Notes => config.notes,
        EventKind::Snippets => config.snippets,
        EventKind::AgentActivity => config.agent_activity,
        EventKind::Bookmarks => config.bookmarks,
    }
}

/// Refuses an import of a kind that is not captured.
pub(super) fn check_taken(config: &CaptureConfig, kind: EventKind) -> Result<(), RequestError> {
    if takes(config, kind) {
        return Ok(());
    }
    let (folder, key) = (kind.folder(), kind.folder().replace('-', "_"));
    let message = format!("`[capture] {key}` is false in memory.toml, so nothing is imported into `{folder}`");
    Err(RequestError::invalid(message))
}

impl EventKind {
    pub(super) const ALL: [Self; 7] = [
        Self::Conversations,
        Self::Files,
        Self::Searches,
        Self::Notes,
        Self::Snippets,
        Self::AgentActivity,
        Self::Bookmarks,
    ];

    /// The folder.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Conversations => "conversations",
            Self::Files => "files",
            Self::Searches => "searches",
            Self::Notes => "notes",
            Self::Snippets => "snippets",
            Self::AgentActivity => "agent-activity",
            Self::Bookmarks => "bookmarks",
        }
    }
}

/// What a text may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TextShape {
    /// One line of at most so many bytes.
    Line(usize),
    /// Lines.
    Text,
}

/// A text of an event: the name of its field, what it may be, and itself.
pub(super) type EventText<'e> = (&'static str, TextShape, &'e mut String);

impl Event {
    pub(super) fn kind(&self) -> EventKind {
        match self {
            Self::Message(_) => EventKind::Conversations,
            Self::File(_) => EventKind::Files,
            Self::Search(_) => EventKind::Searches,
            Self::AgentActivity(_) => EventKind::AgentActivity,
            Self::Note(_) => EventKind::Notes,
            Self::Bookmark(_) => EventKind::Bookmarks,
            Self::Clipboard(_) => EventKind::Snippets,
        }
    }

    /// The id and the time that the sender gave.
    pub(super) fn stamps(&mut self) -> (&mut Option<String>, &mut Option<String>) {
        match self {
            Self::Message(MessageEvent { id, time, .. })
            | Self::File(FileEvent { id, time, .. })
            | Self::Search(SearchEvent { id, time, .. })
            | Self::AgentActivity(AgentActivityEvent { id, time, .. })
            | Self::Note(NoteEvent { id, time, .. })
            | Self::Bookmark(BookmarkEvent { id, time, .. })
            | Self::Clipboard(ClipboardEvent { id, time, .. }) => (id, time),
        }
    }

    /// Every other text.
    pub(super) fn texts(&mut self) -> Vec<EventText<'_>> {
        use TextShape::{Line, Text};
        let mut texts: Vec<EventText<'_>> = Vec::new();
        match self {
            Self::Message(message) => {
                texts.push(("session", Line(500), &mut message.session));
                texts.push(("role", Line(100), &mut message.role));
                texts.extend(message.agent.as_mut().map(|agent| ("agent", Line(100), agent)));
                texts.extend(message.title.as_mut().map(|title| ("title", Line(500), title)));
                texts.push(("text", Text, &mut message.text));
            }
            Self::File(file) => {
                texts.extend(file.name.as_mut().map(|name| ("name", Line(1000), name)));
                texts.push(("path", Line(8000), &mut file.path));
                texts.extend(file.file_type.as_mut().map(|kind| ("file_type", Line(200), kind)));
                texts.push(("action", Line(200), &mut file.action));
                texts.extend(file.app.as_mut().map(|app| ("app", Line(200), app)));
            }
            Self::Search(search) => {
                texts.push(("query", Text, &mut search.query));
                texts.extend(search.place.as_mut().map(|place| ("where", Line(200), place)));
            }
            Self::AgentActivity(activity) => {
                texts.push(("agent", Line(100), &mut activity.agent));
                texts.push(("summary", Text, &mut activity.summary));
            }
            Self::Note(note) => {
                texts.push(("title", Line(500), &mut note.title));
                texts.push(("content", Text, &mut note.content));
                texts.extend(note.tags.iter_mut().map(|tag| ("tags", Line(100), tag)));
            }
            Self::Bookmark(bookmark) => {
                texts.push(("url", Line(8000), &mut bookmark.url));
                texts.push(("title", Line(1000), &mut bookmark.title));
                texts.extend(bookmark.note.as_mut().map(|note| ("note", Text, note)));
            }
            Self::Clipboard(clipboard) => {
                texts.push(("content", Text, &mut clipboard.content));
                texts.extend(clipboard.app.as_mut().map(|app| ("app", Line(200), app)));
            }
        }
        texts
    }
}
