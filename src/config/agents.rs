//! `[scope]` and `[agents]`: in which sessions agents read, and how much.

use serde::{Deserialize, Serialize};

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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScopeRule {
    /// What it decides.
    pub action: ScopeDecision,
    /// With whom the agent talks: `direct`, `group`, `channel`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chat_type: Option<String>,
    /// Through which service: `telegram`, `slack`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub channel: Option<String>,
}

/// `[agents]`: how much an agent gets. `limits` in its `agent.md` may say otherwise for one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentsConfig {
    /// Results of one answer at most.
    pub max_results: usize,
    /// Characters of a snippet at most.
    pub max_snippet_chars: usize,
    /// Characters of all texts of one answer at most.
    pub max_injected_chars: usize,
    /// Milliseconds after which an answer is given up.
    pub timeout_ms: u64,
    /// Requests a minute.
    pub requests_per_minute: u32,
}

impl Default for AgentsConfig {
    fn default() -> Self {
        Self {
            max_results: 50,
            max_snippet_chars: 700,
            max_injected_chars: 20_000,
            timeout_ms: 4000,
            requests_per_minute: 240,
        }
    }
}
