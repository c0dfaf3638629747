//! What programs send in, what other programs have kept, and what of it is kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// What became of events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventsAccepted {
    /// Always true: those accepted are safe on disk, and in their files in a moment.
    pub ok: bool,
    /// So many were accepted.
    pub accepted: usize,
    /// So many are switched off, or were there already.
    pub ignored: usize,
}

/// How captured events are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaptureState {
    /// Accepted events that are not in their files yet.
    pub pending: usize,
    /// Why they are not, when something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// What is captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct CaptureSettings {
    pub capture_conversations: bool,
    pub capture_files: bool,
    pub capture_searches: bool,
    pub capture_notes: bool,
    pub capture_snippets: bool,
    pub capture_agent_activity: bool,
    pub capture_bookmarks: bool,
}

/// What is to be captured from now on; what is absent stays as it is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CaptureSettingsParams {
    pub capture_conversations: Option<bool>,
    pub capture_files: Option<bool>,
    pub capture_searches: Option<bool>,
    pub capture_notes: Option<bool>,
    pub capture_snippets: Option<bool>,
    pub capture_agent_activity: Option<bool>,
    pub capture_bookmarks: Option<bool>,
}

/// Turns of a conversation.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnsParams {
    /// The agent that spoke.
    pub agent_id: String,
    /// Names the conversation among those of the agent.
    pub conversation_id: String,
    /// What was said, in its order. The same turn again counts once.
    #[schema(max_items = 5_000)]
    pub turns: Vec<IngestTurn>,
    /// When the conversation was: a date or RFC 3339; now, when it is absent.
    pub session_date: Option<String>,
    /// Whether no chat model is to read the conversation: its file then says `extraction: false`.
    pub skip_extraction: Option<bool>,
}

/// What the person said, and what they were answered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IngestTurn {
    /// What the person said.
    #[serde(default)]
    pub user: String,
    /// The answer.
    #[serde(default)]
    pub assistant: String,
    /// When: a date or RFC 3339; that of the conversation, when it is absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// Turns that were taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnsIngested {
    /// Always `ok`.
    pub status: String,
    /// So many were taken, those that were there already included.
    pub turns_ingested: usize,
}

/// Agents, as Osaurus lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedAgents {
    /// All for the person; for an agent itself.
    pub agents: Vec<ListedAgent>,
}

/// An agent, as Osaurus has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedAgent {
    /// Its folder's name.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// What its page says of it in `description`.
    pub description: String,
    /// The model that its page names in `model`.
    pub default_model: Option<String>,
    /// Always false: none comes with the program.
    pub is_built_in: bool,
    /// Entries that it remembers.
    pub memory_entry_count: usize,
    /// When its page was made, as RFC 3339; for an agent as far as the page says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When its page was changed; for the person alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

/// What is to be kept before a conversation is shortened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryFlushParams {
    /// Lines of Markdown. Those that the file has already are left out, and so is what was recalled.
    pub content: String,
}

/// A piece of an import. The first names none; the answer names it for those that follow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ImportParams {
    /// What kind of source it is: `chatgpt`, `claude`, …
    #[schema(required, min_length = 1, max_length = 100)]
    pub kind: String,
    /// What is read, as you call it. An import of the same kind and source that did not come to its end is gone on with.
    pub source: String,
    /// The import that it goes on with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<i64>,
    /// Only say what would come.
    pub dry_run: bool,
    /// Whether it is the last piece.
    pub done: bool,
    /// Events, as `POST /api/user-memory/events` takes them. Of those with the same id the first counts, for good.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
    /// Notes.
    pub notes: Vec<ImportNote>,
}

/// A note of another program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportNote {
    /// Tells it from all others of its kind of source, at each import: where it was, whole, so that one that moved is known. No file is called by it.
    pub id: String,
    /// What it was called there.
    pub title: String,
    /// Its Markdown, with its frontmatter.
    pub text: String,
}

/// What became of a piece of an import.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportTaken {
    /// Always true: what was added is safe on disk, and in its files in a moment.
    pub ok: bool,
    /// The import, for the next piece; `vault restore import-N` undoes it. Absent when it was only asked what would come.
    pub import: Option<i64>,
    /// Whether it goes on with one that did not come to its end, so that what came then is undone with it; as the first piece says it.
    #[serde(default)]
    pub went_on: bool,
    /// Whether there is something to undo: files that it has made or changed so far.
    #[serde(default)]
    pub undoable: bool,
    /// So many events and notes are new.
    pub added: usize,
    /// So many notes have a new text.
    pub updated: usize,
    /// So many came before.
    pub existing: usize,
    /// So many were forgotten for good, and stay so.
    pub forgotten: usize,
    /// So many notes were changed or taken away here since they came, and are left as they are.
    pub edited: usize,
    /// So many have nothing left without what was recalled.
    pub empty: usize,
    /// So many events are not in their files yet.
    pub pending: usize,
    /// Why they are not, when something is wrong.
    pub failure: Option<String>,
}
