//! How much an agent gets.

use std::time::Duration;

use crate::access::Principal;
use crate::config::AgentsConfig;
use crate::vault::Quota;

/// How much an agent gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgentLimits {
    /// Results of one answer.
    pub max_results: usize,
    /// Characters of a snippet.
    pub max_snippet_chars: usize,
    /// Characters of all that one answer gives of notes: texts, titles, headings, tags, frontmatter.
    pub max_injected_chars: usize,
    /// After this an answer is given up.
    pub timeout: Duration,
    /// Requests a minute.
    pub requests_per_minute: u32,
    /// Files of its own memory.
    pub max_files: usize,
    /// What it may write, and have kept of that.
    pub quota: Quota,
}

impl AgentLimits {
    /// Those of who asks: of an agent as its page says, else as `[agents]` does; the person gets all.
    pub fn of(config: &AgentsConfig, principal: &Principal) -> Option<Self> {
        let Principal::Agent(caller) = principal else { return None };
        let own = &caller.policy.limits;
        Some(Self {
            max_results: own.max_results.unwrap_or(config.max_results),
            max_snippet_chars: own.max_snippet_chars.unwrap_or(config.max_snippet_chars),
            max_injected_chars: own.max_injected_chars.unwrap_or(config.max_injected_chars),
            timeout: Duration::from_millis(own.timeout_ms.unwrap_or(config.timeout_ms)),
            requests_per_minute: own.requests_per_minute.unwrap_or(config.requests_per_minute),
            max_files: own.max_files.unwrap_or(config.max_files),
            quota: Quota {
                checkpoints: own.max_checkpoints.unwrap_or(config.max_checkpoints),
                checkpoint_bytes: own.max_checkpoint_bytes.unwrap_or(config.max_checkpoint_bytes),
                written_bytes_per_day: own.max_written_bytes_per_day.unwrap_or(config.max_written_bytes_per_day),
            },
        })
    }
}
