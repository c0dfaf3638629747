//! `[memory]`: the layers that are made of notes and conversations.

use serde::{Deserialize, Serialize};

use super::sections::is_variable_name;

/// `[memory]`: profile, entries, summaries, and the context that is made of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryConfig {
    /// Whether the layers are kept.
    pub enabled: bool,
    /// The name of the chat model that extracts; empty means none.
    pub model: String,
    /// Where it is; empty means the endpoint of `[chat]`.
    pub endpoint: String,
    /// The environment variable that has its key.
    pub api_key_env: String,
    /// Whether private notes and conversations are sent to a service on another machine.
    pub send_private: bool,
    /// A call that takes longer is given up.
    pub timeout_ms: u64,
    /// Calls within 24 hours at most.
    pub calls_per_day: u64,
    /// Tokens, asked and answered, within 24 hours at most.
    pub tokens_per_day: u64,
    /// The kinds of entries that may be accepted without the person.
    pub accept: Vec<MemoryKind>,
    /// Active entries of one memory; 0 means no limit.
    pub max_entries: usize,
    /// Whether entries are held against those that are there.
    pub verification: bool,
    /// How likely two entries have to say the same, by their meaning, to count as the same.
    pub duplicate_meaning: f64,
    /// Tokens of a context.
    pub context_tokens: usize,
    /// New contributions after which the profile is made again.
    pub regenerate_after: usize,
    /// How long a conversation must be quiet before it is summarised, in seconds.
    pub summary_debounce_seconds: u64,
    /// Days for which summaries are searched; 0 means for ever.
    pub summary_retention_days: u64,
    /// Who writes `USER.md`.
    pub user_profile_write_mode: ProfileWriteMode,
}

impl Default for MemoryConfig {
    fn default() -> Self {
        Self {
            enabled: true,
            model: String::new(),
            endpoint: String::new(),
            api_key_env: String::new(),
            send_private: false,
            timeout_ms: 60_000,
            calls_per_day: 100,
            tokens_per_day: 200_000,
            accept: Vec::new(),
            max_entries: 500,
            verification: true,
            duplicate_meaning: 0.85,
            context_tokens: 800,
            regenerate_after: 10,
            summary_debounce_seconds: 60,
            summary_retention_days: 180,
            user_profile_write_mode: ProfileWriteMode::ExplicitOnly,
        }
    }
}

impl MemoryConfig {
    /// Its whole numbers with their ranges.
    pub(super) fn ranges(&self) -> [(&'static str, u64, u64, u64); 8] {
        [
            ("memory.timeout_ms", self.timeout_ms, 1_000, 600_000),
            ("memory.calls_per_day", self.calls_per_day, 0, 100_000),
            ("memory.tokens_per_day", self.tokens_per_day, 0, 1_000_000_000),
            ("memory.max_entries", self.max_entries as u64, 0, 10_000),
            ("memory.context_tokens", self.context_tokens as u64, 50, 100_000),
            ("memory.regenerate_after", self.regenerate_after as u64, 1, 100),
            ("memory.summary_debounce_seconds", self.summary_debounce_seconds, 10, 3_600),
            ("memory.summary_retention_days", self.summary_retention_days, 0, 3_650),
        ]
    }

    /// What of it does not go together, as a sentence that names the key.
    pub(super) fn violation(&self) -> Option<String> {
        if !self.endpoint.is_empty() && self.model.is_empty() {
            return Some("`memory.endpoint` needs `memory.model`, the model's name at that service".into());
        }
        // It may be the key itself, so it is not said.
        (!is_variable_name(&self.api_key_env)).then(|| {
            "`memory.api_key_env` is not the name of an environment variable; put the key into such a variable, and its name here"
                .into()
        })
    }
}

/// Tokens of the profile: of its page, and in a full context.
pub(crate) const PROFILE_TOKENS: usize = 2_000;

/// The kind of a memory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// Something that is true.
    Fact,
    /// A like, a dislike, or a wish.
    Preference,
    /// A decision.
    Decision,
    /// A mistake, and the right version.
    Correction,
    /// A promise.
    Commitment,
    /// How people are related.
    Relationship,
    /// An ability, or how to do something.
    Skill,
}

impl MemoryKind {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Fact,
        Self::Preference,
        Self::Decision,
        Self::Correction,
        Self::Commitment,
        Self::Relationship,
        Self::Skill,
    ];

    /// Its word in files and answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Preference => "preference",
            Self::Decision => "decision",
            Self::Correction => "correction",
            Self::Commitment => "commitment",
            Self::Relationship => "relationship",
            Self::Skill => "skill",
        }
    }

    /// The kind of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| word.eq_ignore_ascii_case(kind.word()))
    }
}

/// Who writes `USER.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ProfileWriteMode {
    /// Requests that say what to write.
    ExplicitOnly,
    /// They, and what was accepted about the person.
    ExplicitAndAuto,
    /// Nobody but the person.
    Off,
}
