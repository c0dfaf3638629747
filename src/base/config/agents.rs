//! `[scope]` and `[agents]`: in which sessions agents read, and how much.

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

/// `[scope]`: in which sessions agents may read at all, as OpenClaw has it. The first rule that fits decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ScopeConfig {
    /// What is decided where no rule fits.
    pub default: ScopeDecision,
    /// The rules, in order.
    pub rules: Vec<ScopeRule>,
}

impl Default for ScopeConfig {
    fn default() -> Self {
        let direct = ScopeRule { action: ScopeDecision::Allow, chat_type: Some("direct".into()), channel: None };
        Self { default: ScopeDecision::Deny, rules: vec![direct] }
    }
}

/// What a rule decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScopeDecision {
    /// The agent reads what its `agent.md` gives it.
    Allow,
    /// It reads nothing.
    Deny,
}

/// A rule over sessions. It fits where all that it names is so.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeRule {
    /// What it decides.
    pub action: ScopeDecision,
    /// With whom the agent talks: `direct`, `group`, `channel`.
    pub chat_type: Option<String>,
    /// Through which service: `telegram`, `slack`.
    pub channel: Option<String>,
}

/// The least and the most that each limit of an agent may be.
pub(crate) const AGENT_RANGES: [(&str, u64, u64); 8] = [
    ("max_results", 1, 1000),
    ("max_snippet_chars", 50, 10_000),
    ("max_injected_chars", 100, 1_000_000),
    ("timeout_ms", 50, 60_000),
    ("requests_per_minute", 1, 100_000),
    ("max_files", 1, 100_000),
    ("max_written_bytes_per_day", 1000, 1 << 40),
    ("max_checkpoints", 10, 100_000),
];

/// `[agents]`: how much an agent gets. `limits` in its `agent.md` may say otherwise for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsConfig {
    /// Results of one answer at most.
    pub max_results: usize,
    /// Characters of a snippet at most.
    pub max_snippet_chars: usize,
    /// Maximum characters of all that an answer gives of notes: texts, titles, tags, frontmatter.
    pub max_injected_chars: usize,
    /// Milliseconds after which an answer is given up.
    pub timeout_ms: u64,
    /// Requests a minute.
    pub requests_per_minute: u32,
    /// Files of its own memory.
    pub max_files: usize,
    /// Bytes that it may write into them within 24 hours.
    pub max_written_bytes_per_day: u64,
    /// Changes of it that can be undone; the oldest go first.
    pub max_checkpoints: usize,
}

impl AgentsConfig {
    /// Finds the first limit that is out of its range, as a sentence that names it.
    pub(super) fn violation(&self) -> Option<String> {
        let values = [
            self.max_results as u64,
            self.max_snippet_chars as u64,
            self.max_injected_chars as u64,
            self.timeout_ms,
            u64::from(self.requests_per_minute),
            self.max_files as u64,
            self.max_written_bytes_per_day,
            self.max_checkpoints as u64,
        ];
        let wrong = AGENT_RANGES.iter().zip(values).find(|((_, low, high), value)| !(low..=high).contains(&value));
        wrong.map(|((name, low, high), value)| format!("`agents.{name}` is {value}; it takes {low} to {high}"))
    }
}

impl Default for AgentsConfig {
    fn default() -> Self {
        Self {
            max_results: 50,
            max_snippet_chars: 700,
            max_injected_chars: 20_000,
            timeout_ms: 4000,
            requests_per_minute: 240,
            max_files: 1000,
            max_written_bytes_per_day: 20_000_000,
            max_checkpoints: 5000,
        }
    }
}
