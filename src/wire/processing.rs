//! What chat models do for the memory, and what it costs.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;
use utoipa::ToSchema;

/// How the model of the memory works, and what it has cost.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[schema(as = Processing)]
pub struct ProcessingView {
    /// How it is now.
    #[serde(flatten)]
    pub now: ProcessingState,
    /// The last 24 hours, against their limits.
    pub day: ProcessingDay,
    /// Tokens that it read, by the provider's own count.
    pub prompt_tokens: u64,
    /// Tokens that it wrote, likewise.
    pub answer_tokens: u64,
    /// The share of calls that were answered; absent where there was none.
    pub success: Option<f64>,
    /// Half of the calls that were answered took no longer, in milliseconds.
    pub p50_ms: Option<u64>,
    /// 95 of 100 took no longer.
    pub p95_ms: Option<u64>,
    /// How calls ended, the most common first.
    pub outcomes: Vec<ProcessingOutcome>,
    /// Sessions that were put aside.
    pub dead_letters: Vec<DeadLetter>,
    /// The newest calls, newest first.
    pub recent: Vec<ProcessingCall>,
    /// How large the stores are.
    pub stores: StoreSizes,
}

/// How the model of the memory is.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingState {
    /// The model; absent where `[memory]` names none.
    pub model: Option<String>,
    /// `off`, `idle`, `waiting`, `working` or `stopped`.
    pub state: String,
    /// Why it waits, or does not work.
    pub reason: Option<String>,
    /// Sessions that wait.
    pub queued: usize,
    /// Sessions that were put aside; `vault status` and the page say why.
    pub dead: usize,
    /// Private conversations that are not sent to another machine.
    pub withheld: usize,
    /// Calls since the vault was made.
    pub calls: u64,
    /// Bytes of text that were sent since.
    pub bytes_sent: u64,
    /// When the first call was; absent where there was none.
    pub since: Option<String>,
}

/// Calls and tokens of 24 hours.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingDay {
    /// Calls.
    pub calls: u64,
    /// And no more than these.
    pub calls_limit: u64,
    /// Tokens, by the provider's count; an estimate for calls where it gives none.
    pub tokens: u64,
    /// And no more than these.
    pub tokens_limit: u64,
}

/// So many calls ended so.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingOutcome {
    /// `answered`, `unreadable`, `failed`, `refused`, `stopped`, `cut off` or `under way`.
    pub outcome: String,
    /// Calls.
    pub calls: u64,
}

/// A session that was put aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DeadLetter {
    /// Its name, for a retry.
    pub id: String,
    /// The conversation, where it is there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// Why.
    pub reason: String,
    /// How often it was tried.
    pub attempts: u32,
}

/// A call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ProcessingCall {
    /// When.
    pub at: String,
    /// For what: `extraction`.
    pub kind: String,
    /// The model.
    pub model: String,
    /// How it ended.
    pub outcome: String,
    /// Tokens that it read, by the provider's count.
    pub prompt_tokens: u64,
    /// Tokens that it wrote.
    pub answer_tokens: u64,
    /// How long it took.
    pub ms: u64,
    /// Bytes of text that were sent.
    pub bytes: u64,
    /// Entries and lines of a summary that its answer brought.
    pub kept: u64,
    /// Those that the conversation does not say, and which were dropped.
    pub dropped: u64,
}

/// How large the stores are, in bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct StoreSizes {
    /// The indexed notes.
    pub notes: u64,
    /// Of these, entries, summaries and the profile.
    pub layers: u64,
    /// The index.
    pub index: u64,
    /// What is not derived: tokens, logs, jobs, checkpoints.
    pub state: u64,
}

/// What is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RetryParams {
    /// The session that was put aside; all of them, when it is absent.
    #[schema(max_length = 32, pattern = "^[0-9a-f]{32}$")]
    pub id: Option<String>,
}

/// What is tried again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Retried {
    /// Sessions.
    pub queued: usize,
}

/// How the derived layers are cleared.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ClearParams {
    /// Also removes what would undo it.
    pub purge: bool,
}

/// What was cleared.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Cleared {
    /// The files that went.
    pub files: Vec<ClearedFile>,
    /// Generated files that a person has edited, and which stay.
    pub kept: Vec<String>,
}

/// A file that went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClearedFile {
    /// Its place.
    pub path: String,
    /// What brings it back; absent after a purge.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
}
