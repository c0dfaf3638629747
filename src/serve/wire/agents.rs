//! What the person asks and learns of agents, what agents tell of their work, and what programs send in.

use std::collections::BTreeMap;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::search::{SearchResponse, object};
use crate::access::rules::{MemoryMode, Session};
use crate::base::state::LogEntry;

/// Reads a mode on a command line.
fn write_mode(text: &str) -> Result<MemoryMode, &'static str> {
    serde_json::from_value(text.into()).map_err(|_| "use hybrid, prompt-only, search-only or off")
}

/// A new agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(deny_unknown_fields)]
pub struct AgentParams {
    /// Its name; its folder in `agents/` is named after it.
    pub name: String,
    /// The initial rules on its page.
    #[serde(default, deserialize_with = "object")]
    #[command(flatten)]
    pub rules: AgentRules,
    /// The kind of chat, as in the rules of `[scope]`: direct, group, channel; default `direct` without `channel`.
    #[arg(long)]
    pub chat_type: Option<String>,
    /// The channel (service) of its chats: slack, telegram.
    #[arg(long)]
    pub channel: Option<String>,
}

/// The rules for an agent's page; absent fields stay unchanged.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct AgentRules {
    /// Whether it may read the owner's memory.
    #[arg(skip)]
    pub can_read_user_memory: Option<bool>,
    /// The collections that it may read; `*` means all.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub collections: Option<Vec<String>>,
    /// Notes with one of these tags stay hidden.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub exclude_tags: Option<Vec<String>>,
    /// Globs of what it may read; with `!` in front, of what it must not read.
    #[arg(long, value_delimiter = ',', value_name = "GLOBS")]
    pub paths: Option<Vec<String>>,
    /// How it may write its own memory: hybrid, prompt-only, search-only or off.
    #[arg(long, value_name = "MODE", value_parser = write_mode)]
    pub write_mode: Option<MemoryMode>,
    /// Whether it may suggest edits of the notes that it reads; each waits in the review.
    #[arg(long, value_name = "BOOL")]
    pub can_suggest: Option<bool>,
    /// The collections in which it may edit the notes that it reads, and add some; `*` means all.
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    pub write_collections: Option<Vec<String>>,
    /// The day on which its token expires, or an RFC 3339 time; empty for never.
    #[arg(long, value_name = "DAY")]
    pub expires: Option<String>,
}

impl AgentRules {
    /// As the frontmatter of a page.
    pub(crate) fn frontmatter(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            _ => Map::new(),
        }
    }
}

/// What an agent with some rules would see now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentPreview {
    /// The notes that it would see.
    pub files: usize,
    /// The private notes, which no agent sees.
    pub private: usize,
    /// Some of their paths.
    pub private_paths: Vec<String>,
    /// What is wrong with the rules: then it would see nothing.
    pub problems: Vec<String>,
}

/// An agent, and what its page says.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentView {
    /// The name of its folder in `agents/`, its id.
    pub slug: String,
    /// Its page's title.
    pub name: String,
    /// Its page.
    pub path: String,
    /// Whether it may read the owner's memory.
    pub can_read_user_memory: bool,
    /// The collections that it may read; `*` means all.
    pub collections: Vec<String>,
    /// Tags that hide a note.
    pub exclude_tags: Vec<String>,
    /// Globs of what it may read; with `!` in front, of what it must not read.
    pub paths: Vec<String>,
    /// How it may write its own memory.
    pub write_mode: MemoryMode,
    /// Whether it may suggest edits of notes.
    #[serde(default)]
    pub can_suggest: bool,
    /// The collections in which it may write.
    #[serde(default)]
    pub write_collections: Vec<String>,
    /// When its token expires, as RFC 3339.
    pub expires: Option<String>,
    /// Whether it has expired.
    pub expired: bool,
    /// When its token was made, as RFC 3339; absent without a token, as after a clone.
    pub token_since: Option<String>,
    /// When the rules on its page last changed, as RFC 3339; absent if not since its token was made. The log has the earlier
    /// rules.
    pub rights_since: Option<String>,
    /// The kind of chat to which its token is bound.
    pub chat_type: Option<String>,
    /// The channel (service).
    pub channel: Option<String>,
    /// Errors on its page; while there are any, it reads nothing.
    pub problems: Vec<String>,
    /// Its collections without notes: a mistyped name, or a folder that is still empty.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty_collections: Vec<String>,
    /// Notes of the owner that it sees now.
    pub files: usize,
    /// Their passages.
    pub chunks: usize,
}

/// All agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentsView {
    /// Sorted by folder.
    pub agents: Vec<AgentView>,
}

/// An agent with a new token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentWithToken {
    /// The agent.
    pub agent: AgentView,
    /// Its token, shown only once.
    pub token: String,
    /// Folders of an earlier agent with this name; the new agent takes over its memory and traces.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherits: Vec<String>,
}

/// The session to which a new token is bound; default as before.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema, Args)]
#[serde(default, deny_unknown_fields)]
pub struct RotateParams {
    /// The kind of chat.
    #[arg(long)]
    pub chat_type: Option<String>,
    /// The channel (service).
    #[arg(long)]
    pub channel: Option<String>,
}

impl RotateParams {
    /// The session, if any.
    pub(crate) fn session(self) -> Option<Session> {
        let said = self.chat_type.is_some() || self.channel.is_some();
        // Who says through which service it talks, and not with whom, talks with the person.
        let chat_type = self.chat_type.or(Session::direct().chat_type);
        said.then_some(Session { chat_type, channel: self.channel })
    }
}

/// An agent, a passage or a note was removed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Removed {
    /// Always true. The token of an agent is no longer valid.
    pub ok: bool,
    /// Checkpoint that restores it; absent if nothing can. Of an agent it restores the page; the rest of its folder stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// What to explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct ExplainParams {
    /// A note's path, or a passage's hash.
    pub what: String,
}

/// Whether an agent sees a note, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Explained {
    /// The note.
    pub path: String,
    /// Whether the agent sees it now.
    pub visible: bool,
    /// Why, as sentences.
    pub because: Vec<String>,
}

/// Part of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogParams {
    /// Maximum entries, 1 to 10,000; default 50.
    #[arg(short = 'n', long, default_value = "50")]
    pub limit: Option<usize>,
}

/// The requests of an agent, and what they returned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogView {
    /// Newest first.
    pub entries: Vec<LogEntry>,
}

/// State of the vault as an agent sees it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AgentStatus {
    /// The program's version.
    pub version: String,
    /// Notes that the agent may read.
    pub files: usize,
    /// Their passages.
    pub chunks: usize,
    /// The share of the passages that are embedded, 0 to 1.
    pub embedded_share: f64,
    /// Passages of each collection.
    pub collections: BTreeMap<String, usize>,
    /// The embedding model: `off`, `loading`, `ready` or `failed`.
    pub model: String,
}

/// A search as an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AgentSearchParams {
    /// Words, `"phrases"` and `-exclusions`, or a question.
    pub q: String,
    /// The agent, by its folder. An agent may name only itself, or omit this.
    pub agent_name: Option<String>,
    /// Maximum hits, 1 to 1,000; default `[search] limit`.
    pub limit: Option<usize>,
    /// Only this collection.
    pub collection: Option<String>,
    /// Time limit for the models, 1 to 60,000 ms.
    pub timeout_ms: Option<u64>,
    /// Whether to wait, at most a second, for the newest changes. Default `true` over the Unix
    /// socket.
    pub fresh: Option<bool>,
}

/// The answer to an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AgentFound {
    /// The answer.
    #[serde(flatten)]
    pub response: SearchResponse,
    /// The agent.
    pub agent: String,
}

/// State of the librarian of an agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarianView {
    /// The agent, by its folder.
    pub agent_name: String,
    /// Whether the owner has switched it on, with `librarian: true` on the agent's page.
    pub enabled: bool,
    /// Its model: that of `[memory]`.
    pub model: Option<String>,
    /// `off`, `idle`, `waiting`, `working`, `withheld` where the model is on another machine and gets no traces, or `stopped`.
    pub state: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it last read something, as RFC 3339.
    pub last_run: Option<String>,
    /// Number of events read.
    pub covered: u64,
    /// Waiting trace files.
    pub queued: usize,
    /// Failed trace files.
    pub dead: usize,
    /// What it looks for: `fact_extraction` and `preference_extraction`.
    pub tasks: BTreeMap<String, bool>,
}

/// A change to the librarian; absent fields stay unchanged. Other keys, as taOS sends them, are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarianParams {
    /// Whether it reads the traces of the agent.
    pub enabled: Option<bool>,
    /// Its model; it must be that of `[memory]` in memory.toml.
    pub model: Option<String>,
    /// What it looks for: `fact_extraction`, `preference_extraction`. Tasks that are not named stay unchanged; unknown ones are ignored.
    pub tasks: Option<BTreeMap<String, bool>>,
    /// Whether to process waiting files now, and retry failed ones.
    pub run: Option<bool>,
}

/// The version of an event's envelope.
pub(crate) const TRACE_VERSION: u32 = 1;

/// An event. Unknown fields are not stored. A whole number may be written with a fraction of zero: `3.0` is 3.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TraceParams {
    /// The version of the envelope: 1, or absent.
    #[schema(value_type = Option<u32>)]
    pub v: Option<Number>,
    /// The event's id; an event that is sent again is stored once. Default: a new id.
    pub id: Option<String>,
    /// The trace that it is part of.
    pub trace_id: Option<String>,
    /// The event that caused it.
    pub parent_id: Option<String>,
    /// When it happened, in seconds since 1970; default now.
    #[schema(value_type = Option<f64>)]
    pub created_at: Option<Number>,
    /// The agent. An agent may omit this; the owner must name the agent.
    pub agent_name: Option<String>,
    /// `message_in`, `message_out`, `llm_call`, `tool_call`, `tool_result`, `reasoning`, `error` or `lifecycle`.
    pub kind: String,
    /// The channel in which it happened.
    pub channel_id: Option<String>,
    /// The thread in the channel.
    pub thread_id: Option<String>,
    /// The backend that ran the model.
    pub backend_name: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// Duration in milliseconds.
    #[schema(value_type = Option<f64>)]
    pub duration_ms: Option<Number>,
    /// Instead of `duration_ms`: when it began, in seconds since 1970; it ended now.
    #[schema(value_type = Option<f64>)]
    pub ts_start: Option<Number>,
    /// Input tokens.
    #[schema(value_type = Option<u64>)]
    pub tokens_in: Option<Number>,
    /// Output tokens.
    #[schema(value_type = Option<u64>)]
    pub tokens_out: Option<Number>,
    /// Cost in US dollars.
    #[schema(value_type = Option<f64>)]
    pub cost_usd: Option<Number>,
    /// What went wrong.
    pub error: Option<String>,
    /// Data by kind: `message_in {from, text}`, `message_out {content}`, `llm_call {status, messages, response, metadata}`,
    /// `tool_call {tool, args, caller}`, `tool_result {tool, result, success}`, `reasoning {text}`, `error {stage, message}`,
    /// `lifecycle {event, reason}`.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub payload: Option<Map<String, Value>>,
}

/// A stored event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TraceStored {
    /// Its id.
    pub id: String,
    /// The agent.
    pub agent_name: String,
    /// The version of the envelope.
    pub schema_version: u32,
}

/// Which events.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams, Args)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TracesParams {
    /// Only this kind: message_in, message_out, llm_call, tool_call, tool_result, reasoning, error, lifecycle.
    #[arg(long)]
    pub kind: Option<String>,
    /// Only this channel.
    #[arg(long, value_name = "ID")]
    pub channel_id: Option<String>,
    /// Only this trace.
    #[arg(long, value_name = "ID")]
    pub trace_id: Option<String>,
    /// Only from this time: seconds since 1970, a date, a time, or how long ago.
    #[arg(long, value_name = "WHEN")]
    pub since: Option<String>,
    /// Only until this time, likewise; a date includes its whole day.
    #[arg(long, value_name = "WHEN")]
    pub until: Option<String>,
    /// Maximum events, 1 to 1,000; default 100.
    #[arg(long, short = 'n', default_value = "100")]
    pub limit: Option<usize>,
}

/// The events of an agent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TracesView {
    /// The agent.
    pub agent_name: String,
    /// The version of the envelope.
    pub schema_version: u32,
    /// The newest first, each with all fields of the envelope.
    pub events: Vec<Value>,
    /// Number of damaged lines in the files; absent if none.
    pub damaged: Option<usize>,
    /// Whether older events were left out, because the answer would exceed 16 MB; absent if not.
    pub cut: Option<bool>,
}

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

/// What is captured; in a change, absent fields stay unchanged.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct CaptureSettings {
    pub capture_conversations: Option<bool>,
    pub capture_files: Option<bool>,
    pub capture_searches: Option<bool>,
    pub capture_notes: Option<bool>,
    pub capture_snippets: Option<bool>,
    pub capture_agent_activity: Option<bool>,
    pub capture_bookmarks: Option<bool>,
}

/// Turns of a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TurnsParams {
    /// The agent that spoke.
    pub agent_id: String,
    /// Id of the conversation, unique for the agent.
    pub conversation_id: String,
    /// The turns in order. A repeated turn counts once.
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
    pub kind: String,
    /// The name of the source. An unfinished import of the same kind and source is continued.
    pub source: String,
    /// The import to continue.
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
    /// The import, for the next part; `vault undo import-N` undoes it. Absent for a dry run.
    pub import: Option<i64>,
    /// Whether it continues an unfinished import, so that undoing it also undoes the earlier parts; as for the first part.
    pub went_on: bool,
    /// Whether there is something to undo: files created or changed so far.
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

/// The browsers in which the page is open.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PageSessionsView {
    /// The one that was used last first.
    pub sessions: Vec<PageSessionView>,
}

/// A session of the page in a browser.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct PageSessionView {
    /// Its id, with which the browser's key begins.
    pub id: String,
    /// The browser and its system, as it named them.
    pub browser: String,
    /// When it was opened, RFC 3339.
    pub made_at: String,
    /// When it was last used, to the hour.
    pub used_at: String,
}

/// Which sessions to end: one of the two fields.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EndSessionsParams {
    /// This session.
    pub id: Option<String>,
    /// All but this session.
    pub all_but: Option<String>,
}

/// Ended sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SessionsEnded {
    /// Number of ended sessions.
    pub ended: usize,
}

/// A note to show to whoever has a link.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ShareParams {
    /// The note's path.
    pub path: String,
    /// Days that the link counts, 1 to 366. Default: 7.
    #[serde(default)]
    pub days: Option<u16>,
}

/// A link that was made. Its address is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct NewShareLink {
    /// The address: from outside where `[server] public_url` is set, else on this machine.
    pub address: String,
    /// The link.
    #[serde(flatten)]
    pub link: ShareLinkView,
}

/// The links that count.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ShareLinksView {
    /// The newest first.
    pub links: Vec<ShareLinkView>,
}

/// A link that shows one note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct ShareLinkView {
    /// Its id.
    pub id: String,
    /// The note's path.
    pub path: String,
    /// When it was made, RFC 3339.
    pub made_at: String,
    /// Until when it counts, RFC 3339.
    pub until: String,
}

/// Which links to end.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EndShareParams {
    /// The id of a link, or the path of a note, for all that show it.
    pub link: String,
}

/// Ended links.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct SharesEnded {
    /// Number of ended links.
    pub ended: usize,
}
