//! What programs send in, what other programs have kept, and what of it is kept.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// The result for events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EventsAccepted {
    /// Always true: accepted events are safe on disk, and in a moment in their files.
    pub ok: bool,
    /// Number of accepted events.
    pub accepted: usize,
    /// Number of events that were switched off, or known already.
    pub ignored: usize,
}

/// State of captured events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct CaptureState {
    /// Accepted events that are not in their files yet.
    pub pending: usize,
    /// Why not, if something is wrong.
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

/// What to capture from now on; absent fields stay unchanged.
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
    /// Id of the conversation, unique for the agent.
    pub conversation_id: String,
    /// The turns in order. A repeated turn counts once.
    #[schema(max_items = 5_000)]
    pub turns: Vec<IngestTurn>,
    /// When the conversation was: a date or RFC 3339; default now.
    pub session_date: Option<String>,
    /// Whether to exclude the conversation from the chat model: its file then says `extraction: false`.
    pub skip_extraction: Option<bool>,
}

/// What the user said, and the answer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct IngestTurn {
    /// What the user said.
    #[serde(default)]
    pub user: String,
    /// The answer.
    #[serde(default)]
    pub assistant: String,
    /// When: a date or RFC 3339; default the time of the conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date: Option<String>,
}

/// Accepted turns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnsIngested {
    /// Always `ok`.
    pub status: String,
    /// Number of accepted turns, including known ones.
    pub turns_ingested: usize,
}

/// Agents, as Osaurus lists them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedAgents {
    /// All agents for the owner; for an agent only itself.
    pub agents: Vec<ListedAgent>,
}

/// An agent, as Osaurus has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ListedAgent {
    /// The name of its folder.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The `description` on its page.
    pub description: String,
    /// The `model` on its page.
    pub default_model: Option<String>,
    /// Always false: the program has no built-in agents.
    pub is_built_in: bool,
    /// Number of entries in its memory.
    pub memory_entry_count: usize,
    /// When its page was created, as RFC 3339; for an agent only if the page says so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<String>,
    /// When its page was changed; only for the owner.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<String>,
}

/// What to store before a conversation is shortened.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct MemoryFlushParams {
    /// Lines of Markdown. Lines that the file already has are left out, and so is recalled memory.
    pub content: String,
}

/// A part of an import. The first part names no import; its answer has the id for the next ones.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ImportParams {
    /// What kind of source it is: `chatgpt`, `claude`, …
    #[schema(required, min_length = 1, max_length = 100)]
    pub kind: String,
    /// The name of the source. An unfinished import of the same kind and source is continued.
    pub source: String,
    /// The import to continue.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub import: Option<i64>,
    /// Only report what would be imported.
    pub dry_run: bool,
    /// Whether it is the last part.
    pub done: bool,
    /// Events, as `POST /api/user-memory/events` takes them. Of events with the same id only the first counts.
    #[schema(value_type = Vec<Object>)]
    pub events: Vec<Value>,
    /// Notes.
    pub notes: Vec<ImportNote>,
}

/// A note of another program.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ImportNote {
    /// A permanent id, unique among its kind of source: its full original path, so that a moved note is recognised. It names no file.
    pub id: String,
    /// Its name there.
    pub title: String,
    /// Its Markdown, with its frontmatter.
    pub text: String,
}

/// The result for a part of an import.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ImportTaken {
    /// Always true: additions are safe on disk, and in a moment in their files.
    pub ok: bool,
    /// The import, for the next part; `vault restore import-N` undoes it. Absent for a dry run.
    pub import: Option<i64>,
    /// Whether it continues an unfinished import, so that undoing it also undoes the earlier parts; as for the first part.
    #[serde(default)]
    pub went_on: bool,
    /// Whether there is something to undo: files created or changed so far.
    #[serde(default)]
    pub undoable: bool,
    /// Number of new events and notes.
    pub added: usize,
    /// Number of notes with a new text.
    pub updated: usize,
    /// Number of earlier events and notes.
    pub existing: usize,
    /// Number of purged ones, which stay purged.
    pub forgotten: usize,
    /// Number of notes changed or deleted here since their import; they stay as they are.
    pub edited: usize,
    /// Number of those that are empty without recalled memory.
    pub empty: usize,
    /// Number of events that are not in their files yet.
    pub pending: usize,
    /// Why not, if something is wrong.
    pub failure: Option<String>,
}
