//! What agents tell of their work, event by event.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use serde_with::skip_serializing_none;
use utoipa::{IntoParams, ToSchema};

/// The version of an event's envelope.
pub(crate) const TRACE_VERSION: u32 = 1;

/// An event. Fields that are not named here are not kept. A whole number may be written as programs write theirs: `3.0` is 3.
#[derive(Debug, Clone, Default, PartialEq, Deserialize, ToSchema)]
pub(crate) struct TraceParams {
    /// The version of the envelope: 1, or absent.
    #[serde(default)]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 1)]
    pub v: Option<Number>,
    /// The event's name: sent again it is not kept twice. Without one it gets one.
    #[serde(default)]
    pub id: Option<String>,
    /// What it is a part of.
    #[serde(default)]
    pub trace_id: Option<String>,
    /// The event that it follows from.
    #[serde(default)]
    pub parent_id: Option<String>,
    /// When it happened, in seconds since 1970; now, where it is absent.
    #[serde(default)]
    #[schema(value_type = Option<f64>)]
    pub created_at: Option<Number>,
    /// Whose it is: an agent's own, which need not say so; the person names the agent.
    #[serde(default)]
    pub agent_name: Option<String>,
    /// `message_in`, `message_out`, `llm_call`, `tool_call`, `tool_result`, `reasoning`, `error` or `lifecycle`.
    pub kind: String,
    /// The channel in which it happened.
    #[serde(default)]
    pub channel_id: Option<String>,
    /// The thread of that.
    #[serde(default)]
    pub thread_id: Option<String>,
    /// What ran the model.
    #[serde(default)]
    pub backend_name: Option<String>,
    /// The model.
    #[serde(default)]
    pub model: Option<String>,
    /// How long it took, in milliseconds.
    #[serde(default)]
    #[schema(value_type = Option<f64>, minimum = 0)]
    pub duration_ms: Option<Number>,
    /// In place of `duration_ms`: when it began, in seconds since 1970. It has ended now.
    #[serde(default)]
    #[schema(value_type = Option<f64>)]
    pub ts_start: Option<Number>,
    /// Tokens that a model was given.
    #[serde(default)]
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_992_u64)]
    pub tokens_in: Option<Number>,
    /// Tokens that it gave.
    #[serde(default)]
    #[schema(value_type = Option<u64>, maximum = 9_007_199_254_740_992_u64)]
    pub tokens_out: Option<Number>,
    /// What it cost, in US dollars.
    #[serde(default)]
    #[schema(value_type = Option<f64>)]
    pub cost_usd: Option<Number>,
    /// What went wrong.
    #[serde(default)]
    pub error: Option<String>,
    /// What the kind says of it: `message_in {from, text}`, `message_out {content}`, `llm_call {status, messages, response, metadata}`,
    /// `tool_call {tool, args, caller}`, `tool_result {tool, result, success}`, `reasoning {text}`, `error {stage, message}`,
    /// `lifecycle {event, reason}`.
    #[serde(default)]
    #[schema(value_type = Option<std::collections::HashMap<String, Value>>)]
    pub payload: Option<Map<String, Value>>,
}

/// An event that is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub(crate) struct TraceKept {
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
