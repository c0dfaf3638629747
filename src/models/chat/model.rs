//! What every chat model offers.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::{ModelError, ModelTrouble};

/// Answers messages.
pub trait ChatModel: Send + Sync {
    /// Names the model for people.
    fn name(&self) -> &str;

    /// Answers, by the deadline at the latest. It is asked once.
    ///
    /// # Errors
    /// When it fails, or takes too long.
    fn answer(&self, request: &ChatRequest, deadline: Instant) -> Result<ChatReply, ModelError>;

    /// Whether it may be given private notes: not where they would leave this machine.
    fn takes_private(&self) -> bool {
        true
    }

    /// Why it does not answer, as far as it knows without being asked.
    fn trouble(&self) -> Option<ModelTrouble> {
        None
    }

    /// For how long it is left alone and not asked, after it failed too often.
    fn rests(&self) -> Option<Duration> {
        None
    }

    /// Makes requests under way, and all later ones, end at once.
    fn stop(&self) {}

    /// What it was asked since it was opened.
    fn usage(&self) -> ChatUsage {
        ChatUsage::default()
    }
}

/// What a chat model is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct ChatRequest {
    /// What it is to do; the program's own words.
    pub instructions: String,
    /// What it is to do it with.
    pub material: String,
    /// The JSON schema of its answer. Not every model holds itself to it.
    pub schema: Value,
    /// The tokens of an answer at most.
    pub max_tokens: u32,
}

/// What it answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChatReply {
    /// Its words.
    pub text: String,
    /// What the answer cost.
    pub usage: ChatUsage,
}

/// What answers cost. A service that does not count says 0 tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChatUsage {
    /// Requests that were answered.
    pub answers: u64,
    /// Tokens that the model read.
    pub prompt_tokens: u64,
    /// Tokens that it wrote.
    pub answer_tokens: u64,
}

impl ChatUsage {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            answers: self.answers.saturating_add(other.answers),
            prompt_tokens: self.prompt_tokens.saturating_add(other.prompt_tokens),
            answer_tokens: self.answer_tokens.saturating_add(other.answer_tokens),
        }
    }
}
