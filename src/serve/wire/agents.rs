//! What the person asks and learns of agents, and what agents tell of their work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::search::{SearchQuery, SearchResponse, object};
use crate::access::policy::LogEntry;
use crate::access::rules::{MemoryMode, Session};

/// A new agent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentParams {
    /// Its name; its folder in `agents/` is named after it.
    pub name: String,
    /// The initial rules on its page.
    #[serde(default, deserialize_with = "object")]
    pub rules: AgentRules,
    /// The kind of chat, as in the rules of `[scope]`; default `direct` without `channel`.
    pub chat_type: Option<String>,
    /// The channel (service) of its chats.
    pub channel: Option<String>,
}

/// The rules for an agent's page; absent fields stay unchanged.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentRules {
    /// Whether it may read the owner's memory.
    pub can_read_user_memory: Option<bool>,
    /// The collections that it may read; `*` means all.
    pub collections: Option<Vec<String>>,
    /// Notes with one of these tags stay hidden.
    pub exclude_tags: Option<Vec<String>>,
    /// Globs of what it may read; with `!` in front, of what it must not read.
    pub paths: Option<Vec<String>>,
    /// How it may write its own memory.
    pub write_mode: Option<MemoryMode>,
    /// The day on which its token expires, or an RFC 3339 time; empty for never.
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
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RotateParams {
    /// The kind of chat.
    pub chat_type: Option<String>,
    /// The channel (service).
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

/// A removed agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentRemoved {
    /// Always true: its token is no longer valid.
    pub ok: bool,
    /// Checkpoint that restores its page; the rest of its folder stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// What to explain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
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
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogParams {
    /// Maximum entries, 1 to 10,000; default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
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
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct AgentSearchParams {
    /// Words, `"phrases"` and `-exclusions`, or a question.
    pub q: String,
    /// The agent, by its folder. An agent may name only itself, or omit this.
    pub agent_name: Option<String>,
    /// Maximum hits, 1 to 1,000; default `[search] limit`.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Only this collection.
    pub collection: Option<String>,
    /// Time limit for the models, 1 to 60,000 ms, at most `[search] timeout_ms`.
    #[param(minimum = 1, maximum = 60_000)]
    pub timeout_ms: Option<u64>,
    /// Whether to wait, at most a second, for the newest changes. Default `true` over the Unix
    /// socket.
    pub fresh: Option<bool>,
}

impl From<AgentSearchParams> for SearchQuery {
    fn from(asked: AgentSearchParams) -> Self {
        let collection = asked.collection.filter(|name| !name.is_empty());
        let AgentSearchParams { q, limit, timeout_ms, fresh, .. } = asked;
        Self { q, limit, collection, timeout_ms, fresh, ..Self::default() }
    }
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
    #[serde(default)]
    pub tasks: BTreeMap<String, bool>,
}

/// A change to the librarian; absent fields stay unchanged. Other keys, as taOS sends them, are ignored.
#[skip_serializing_none]
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
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
pub(crate) struct TraceParams {
    /// The version of the envelope: 1, or absent.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1)]
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
    #[schema(value_type = Option<f64>, minimum = 0)]
    pub duration_ms: Option<Number>,
    /// Instead of `duration_ms`: when it began, in seconds since 1970; it ended now.
    #[schema(value_type = Option<f64>)]
    pub ts_start: Option<Number>,
    /// Input tokens.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_992_u64)]
    pub tokens_in: Option<Number>,
    /// Output tokens.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_992_u64)]
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
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct TracesParams {
    /// Only this kind.
    pub kind: Option<String>,
    /// Only this channel.
    pub channel_id: Option<String>,
    /// Only this trace.
    pub trace_id: Option<String>,
    /// Only from this time: seconds since 1970, a date, a time, or how long ago.
    pub since: Option<String>,
    /// Only until this time, likewise; a date includes its whole day.
    pub until: Option<String>,
    /// Maximum events, 1 to 1,000; default 100.
    #[param(minimum = 1, maximum = 1000)]
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
