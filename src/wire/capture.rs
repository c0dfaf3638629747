//! What programs send in, and what of it is kept.

use serde::{Deserialize, Serialize};
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
