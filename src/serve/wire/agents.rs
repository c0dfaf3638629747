//! What the person asks and learns of agents, and what agents tell of their work.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

use super::search::{SearchQuery, SearchResponse, object};
use crate::access::policy::LogEntry;
use crate::access::rules::{Session, WriteMode};

/// A new agent.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentParams {
    /// What it is called; its folder in `agents/` is called after that.
    pub name: String,
    /// What its page says from the start.
    #[serde(default, deserialize_with = "object")]
    pub rules: AgentRules,
    /// With whom it talks, as the rules of `[scope]` name it; `direct` when neither this nor `channel` is said.
    pub chat_type: Option<String>,
    /// Through which service it talks.
    pub channel: Option<String>,
}

/// What an agent's page is to say; what is absent stays as it is.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AgentRules {
    /// Whether it may read anything of the person's memory.
    pub can_read_user_memory: Option<bool>,
    /// The collections it may read; `*` stands for all.
    pub collections: Option<Vec<String>>,
    /// Notes with one of these tags stay hidden.
    pub exclude_tags: Option<Vec<String>>,
    /// Globs of what it may read; with `!` in front of what it must not.
    pub paths: Option<Vec<String>>,
    /// How it may write its own memory.
    pub write_mode: Option<WriteMode>,
    /// The day on which its token ends, or an RFC 3339 time; empty for never.
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
    /// Its folder's name in `agents/`; what names it.
    pub slug: String,
    /// Its page's title.
    pub name: String,
    /// Its page.
    pub path: String,
    /// Whether it may read anything of the person's memory.
    pub can_read_user_memory: bool,
    /// The collections it may read; `*` stands for all.
    pub collections: Vec<String>,
    /// Tags that hide a note.
    pub exclude_tags: Vec<String>,
    /// Globs of what it may read; with `!` in front of what it must not.
    pub paths: Vec<String>,
    /// How it may write its own memory.
    pub write_mode: WriteMode,
    /// When its token ends, as RFC 3339.
    pub expires: Option<String>,
    /// Whether that is over.
    pub expired: bool,
    /// Since when it has its token, as RFC 3339; absent where it has none, as after a clone.
    pub token_since: Option<String>,
    /// Since when its page gives what it does, as RFC 3339; absent where that is as when its token was made. The log has what it
    /// gave before.
    pub rights_since: Option<String>,
    /// With whom it talks, as its token is bound.
    pub chat_type: Option<String>,
    /// Through which service.
    pub channel: Option<String>,
    /// What of its page makes no sense; while there is any, it reads nothing.
    pub problems: Vec<String>,
    /// Those of its collections in which there is no note: a name that was mistyped, or a folder that is yet to be filled.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub empty_collections: Vec<String>,
    /// Notes of the person's that it sees now.
    pub files: usize,
    /// Their passages.
    pub chunks: usize,
}

/// All agents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentsView {
    /// In alphabetical order of their folders.
    pub agents: Vec<AgentView>,
}

/// An agent with a new token.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AgentWithToken {
    /// The agent.
    pub agent: AgentView,
    /// Its token, which is shown this once.
    pub token: String,
    /// The folders of an earlier agent of that name, whose memory and traces are this one's now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inherits: Vec<String>,
}

/// To which session a new token is bound; as the one before when nothing is said.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RotateParams {
    /// With whom the agent talks.
    pub chat_type: Option<String>,
    /// Through which service.
    pub channel: Option<String>,
}

impl RotateParams {
    /// The session, if one is said.
    pub(crate) fn session(self) -> Option<Session> {
        let said = self.chat_type.is_some() || self.channel.is_some();
        // Who says through which service it talks, and not with whom, talks with the person.
        let chat_type = self.chat_type.or(Session::direct().chat_type);
        said.then_some(Session { chat_type, channel: self.channel })
    }
}

/// An agent that is gone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AgentRemoved {
    /// Always true: its token counts no more.
    pub ok: bool,
    /// What brings its page back; the rest of its folder is where it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}

/// What is to be explained.
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

/// How much of the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct LogParams {
    /// Entries at most, 1 to 10,000; 50 when it is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[param(minimum = 1, maximum = 10_000)]
    pub limit: Option<usize>,
}

/// What an agent asked, and what it got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct LogView {
    /// The newest first.
    pub entries: Vec<LogEntry>,
}

/// How an agent's part of the vault is.
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
    /// The agent, by the name of its folder. An agent names itself, or nobody.
    pub agent_name: Option<String>,
    /// Hits at most, 1 to 1,000; `[search] limit` when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
    /// Only this collection.
    pub collection: Option<String>,
    /// How long the models are waited for, 1 to 60,000 ms, and no longer than `[search] timeout_ms` says.
    #[param(minimum = 1, maximum = 60_000)]
    pub timeout_ms: Option<u64>,
    /// Whether what was saved just before is waited for, a second at most. Over the Unix socket it is, unless this is
    /// `false`.
    pub fresh: Option<bool>,
}

impl From<AgentSearchParams> for SearchQuery {
    fn from(asked: AgentSearchParams) -> Self {
        let collection = asked.collection.filter(|name| !name.is_empty());
        let AgentSearchParams { q, limit, timeout_ms, fresh, .. } = asked;
        Self { q, limit, collection, timeout_ms, fresh, ..Self::default() }
    }
}

/// What an agent is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct AgentFound {
    /// The answer.
    #[serde(flatten)]
    pub response: SearchResponse,
    /// The agent.
    pub agent: String,
}

/// How the librarian of an agent is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarianView {
    /// The agent, by its folder.
    pub agent_name: String,
    /// Whether the person has switched it on, which the agent's page says: `librarian: true`.
    pub enabled: bool,
    /// The model that it asks: that of `[memory]`.
    pub model: Option<String>,
    /// `off`, `idle`, `waiting`, `working`, `withheld` where the model is on another machine and gets no traces, or `stopped`.
    pub state: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// When it read something last, as RFC 3339.
    pub last_run: Option<String>,
    /// How many events it has read.
    pub covered: u64,
    /// Files of the traces that wait.
    pub queued: usize,
    /// Those that were put aside.
    pub dead: usize,
    /// What it looks for: `fact_extraction` and `preference_extraction`.
    #[serde(default)]
    pub tasks: BTreeMap<String, bool>,
}

/// A change of it; what is absent stays. Other keys, as taOS sends them, are ignored.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LibrarianParams {
    /// Whether it reads what the agent tells.
    pub enabled: Option<bool>,
    /// Its model, which is that of `[memory]` in memory.toml and no other.
    pub model: Option<String>,
    /// What it looks for: `fact_extraction`, `preference_extraction`. Those that are not named stay; others are ignored.
    pub tasks: Option<BTreeMap<String, bool>>,
    /// Whether it is to read what waits now, and to try what was put aside.
    pub run: Option<bool>,
}

/// The version of an event's envelope.
pub(crate) const TRACE_VERSION: u32 = 1;

/// An event. Fields that are not named here are not kept. A whole number may be written as programs write theirs: `3.0` is 3.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
pub(crate) struct TraceParams {
    /// The version of the envelope: 1, or absent.
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1)]
    pub v: Option<Number>,
    /// The event's name: sent again it is not kept twice. Without one it gets one.
    pub id: Option<String>,
    /// What it is a part of.
    pub trace_id: Option<String>,
    /// The event that it follows from.
    pub parent_id: Option<String>,
    /// When it happened, in seconds since 1970; now, where it is absent.
    #[schema(value_type = Option<f64>)]
    pub created_at: Option<Number>,
    /// Whose it is: an agent's own, which need not say so; the person names the agent.
    pub agent_name: Option<String>,
    /// `message_in`, `message_out`, `llm_call`, `tool_call`, `tool_result`, `reasoning`, `error` or `lifecycle`.
    pub kind: String,
    /// The channel in which it happened.
    pub channel_id: Option<String>,
    /// The thread of that.
    pub thread_id: Option<String>,
    /// What ran the model.
    pub backend_name: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// How long it took, in milliseconds.
    #[schema(value_type = Option<f64>, minimum = 0)]
    pub duration_ms: Option<Number>,
    /// In place of `duration_ms`: when it began, in seconds since 1970. It has ended now.
    #[schema(value_type = Option<f64>)]
    pub ts_start: Option<Number>,
    /// Tokens that a model was given.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_992_u64)]
    pub tokens_in: Option<Number>,
    /// Tokens that it gave.
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_992_u64)]
    pub tokens_out: Option<Number>,
    /// What it cost, in US dollars.
    #[schema(value_type = Option<f64>)]
    pub cost_usd: Option<Number>,
    /// What went wrong.
    pub error: Option<String>,
    /// What the kind says of it: `message_in {from, text}`, `message_out {content}`, `llm_call {status, messages, response, metadata}`,
    /// `tool_call {tool, args, caller}`, `tool_result {tool, result, success}`, `reasoning {text}`, `error {stage, message}`,
    /// `lifecycle {event, reason}`.
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub payload: Option<Map<String, Value>>,
}

/// An event that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TraceStored {
    /// Its name.
    pub id: String,
    /// Whose it is.
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
    /// Of this kind alone.
    pub kind: Option<String>,
    /// Of this channel alone.
    pub channel_id: Option<String>,
    /// Of this trace alone.
    pub trace_id: Option<String>,
    /// From then on: seconds since 1970, a date, a time or how long ago.
    pub since: Option<String>,
    /// Until then, likewise; a date counts to its end.
    pub until: Option<String>,
    /// Events at most, 1 to 1,000; 100 when it is not said.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<usize>,
}

/// The events of an agent.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TracesView {
    /// Whose they are.
    pub agent_name: String,
    /// The version of the envelope.
    pub schema_version: u32,
    /// The newest first, each with all fields of the envelope.
    pub events: Vec<Value>,
    /// So many lines of the files that were looked at are damaged; absent where none is.
    pub damaged: Option<usize>,
    /// Whether older ones were left out, as the answer would have over 16 MB; absent where none were.
    pub cut: Option<bool>,
}
