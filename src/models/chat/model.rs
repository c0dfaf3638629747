//! What every chat model offers.

use std::io::{BufRead, BufReader, Read};
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

    /// Answers in parts as they come, by the deadline at the latest, until `take` says that nobody wants more.
    ///
    /// # Errors
    /// When it fails, takes too long, or ends before its answer does.
    fn stream(
        &self,
        request: &ChatRequest,
        deadline: Instant,
        take: &mut dyn FnMut(&str) -> bool,
    ) -> Result<(), ModelError> {
        self.answer(request, deadline).map(|reply| _ = take(&reply.text))
    }

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
    /// The JSON schema of its answer; null for a text. Not every model holds itself to it.
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

/// Maximum length of an answer that comes in parts, in bytes, with all that is around them.
const MAX_STREAM_BYTES: u64 = 4 << 20;

/// Hands on the parts of an answer as OpenAI streams it, until `take` says that nobody wants more. A service that does not stream answers as a
/// whole.
pub(super) fn parts(body: impl Read, take: &mut dyn FnMut(&str) -> bool) -> Result<(), BadAnswer> {
    let cut = |why: &str| (ModelErrorKind::Transient, format!("ended before its answer did{why}"));
    let mut lines = BufReader::new(body.take(MAX_STREAM_BYTES));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = lines.read_until(b'\n', &mut line).map_err(|error| cut(&format!(": {error}")))?;
        if read == 0 {
            return Err(cut(""));
        }
        if line.starts_with(b"{") {
            lines.read_to_end(&mut line).map_err(|error| cut(&format!(": {error}")))?;
            return reply(&line, |_| ()).map(|reply| _ = take(&reply.text));
        }
        let Some(data) = line.strip_prefix(b"data:").map(<[u8]>::trim_ascii) else { continue };
        if data == b"[DONE]" {
            return Ok(());
        }
        let part: Value = read_answer(data, "part of a reply")?;
        if !part["error"].is_null() {
            return Err(cut(" with an error"));
        }
        let choice = &part["choices"][0];
        let text = choice["delta"]["content"].as_str().unwrap_or_default();
        if (!text.is_empty() && !take(text)) || choice["finish_reason"].is_string() {
            return Ok(());
        }
    }
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
    fn an_answer_in_parts_is_whole_or_an_error() {
        let parts = |body: &str, most: usize| {
            let mut taken = Vec::new();
            let ended = super::parts(body.as_bytes(), &mut |part| {
                taken.push(part.to_owned());
                taken.len() < most
            });
            (taken.concat(), ended.map_err(|(_, why)| why))
        };
        let part = |text: &str| format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\r\n\r\n");
        let all = format!(": hello\n\n{}{}data: [DONE]\n\n", part("Green "), part("tea."));
        assert_eq!(parts(&all, 9), ("Green tea.".into(), Ok(())));
        assert_eq!(parts(&all, 1), ("Green ".into(), Ok(())), "nobody wants more");
        let ends = r#"data: {"choices":[{"delta":{},"finish_reason":"stop"}]}"#;
        assert_eq!(parts(&format!("{}{ends}\n", part("Tea.")), 9), ("Tea.".into(), Ok(())));
        let whole = r#"{"choices":[{"message":{"content":"Whole."}}]}"#;
        assert_eq!(parts(whole, 9), ("Whole.".into(), Ok(())), "it does not stream");
        let lost = Err("ended before its answer did".to_owned());
        assert_eq!(parts(&part("Green "), 9), ("Green ".into(), lost));
        assert!(parts("data: {\"error\":{\"message\":\"x\"}}\n", 9).1.unwrap_err().contains("with an error"));
        assert!(parts("data: <html>\n", 9).1.is_err());
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
