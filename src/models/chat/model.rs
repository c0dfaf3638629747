//! What every chat model offers.

use std::time::{Duration, Instant};

use serde_json::Value;

use super::super::endpoint::{BadAnswer, read_answer};
use super::super::{ModelError, ModelErrorKind, ModelTrouble};

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

/// The first so many characters of a text.
pub(super) fn cut(text: &str, max_chars: usize) -> &str {
    text.char_indices().nth(max_chars).map_or(text, |(end, _)| &text[..end])
}

/// Takes the one reply out of an answer as OpenAI has it, and hands `used` what it cost, though it have no text.
pub(super) fn reply(body: &[u8], used: impl FnOnce(ChatUsage)) -> Result<ChatReply, BadAnswer> {
    let answer: Value = read_answer(body, "reply")?;
    let tokens = |of: &str| answer["usage"][of].as_u64().unwrap_or(0);
    let usage =
        ChatUsage { answers: 1, prompt_tokens: tokens("prompt_tokens"), answer_tokens: tokens("completion_tokens") };
    used(usage);
    let text = answer["choices"][0]["message"]["content"].as_str();
    let text = text.ok_or_else(|| (ModelErrorKind::Permanent, "returned a reply without text".into()))?;
    Ok(ChatReply { text: text.to_owned(), usage })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!((cut("größe", 3), cut("größe", 9), cut("", 0)), ("grö", "größe", ""));
    }
}

#[cfg(test)]
mod tests_of_answer {
    use super::*;

    fn reply(body: &[u8]) -> Result<ChatReply, BadAnswer> {
        super::reply(body, |_| ())
    }

    #[test]
    fn a_reply_without_a_text_costs_as_much() {
        let body = br#"{"choices":[{"message":{"content":null}}],"usage":{"prompt_tokens":12,"completion_tokens":3}}"#;
        let mut cost = None;
        assert!(super::reply(body, |usage| cost = Some(usage)).is_err());
        assert_eq!(cost, Some(ChatUsage { answers: 1, prompt_tokens: 12, answer_tokens: 3 }));
    }

    #[test]
    fn a_reply_is_a_text_with_what_it_cost() {
        let body = r#"{"id":1,"choices":[{"index":0,"message":{"role":"assistant","content":"yes"},"finish_reason":"stop"}],
                       "usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}"#;
        let usage = ChatUsage { answers: 1, prompt_tokens: 12, answer_tokens: 3 };
        assert_eq!(reply(body.as_bytes()), Ok(ChatReply { text: "yes".into(), usage }));
        let uncounted = reply(br#"{"choices":[{"message":{"content":"yes"}}]}"#).unwrap();
        assert_eq!((uncounted.text.as_str(), uncounted.usage.prompt_tokens), ("yes", 0));
        for body in [
            r#"{"choices":[]}"#,
            r#"{"choices":[{"message":{"content":null,"refusal":"no"}}]}"#,
            r#"{"error":"x"}"#,
            r#"{"choices":[{"message":{"content":["a"]}}]}"#,
        ] {
            assert!(matches!(reply(body.as_bytes()), Err((ModelErrorKind::Permanent, _))), "{body}");
        }
        for body in ["", "<html>", r#"{"choices":[{"message":{"content":"ye"#] {
            assert!(matches!(reply(body.as_bytes()), Err((ModelErrorKind::Transient, _))), "{body}");
        }
    }
}
