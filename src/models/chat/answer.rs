//! What a chat endpoint answers, of which nothing is believed.

use serde::Deserialize;

use super::super::endpoint::{BadAnswer, read_answer};
use super::model::{ChatReply, ChatUsage};

/// As OpenAI has it. Other fields are no business of ours.
#[derive(Deserialize)]
struct ChatAnswer {
    choices: Vec<AnsweredChoice>,
    usage: Option<AnsweredUsage>,
}

#[derive(Deserialize)]
struct AnsweredChoice {
    message: AnsweredMessage,
}

#[derive(Deserialize)]
struct AnsweredMessage {
    content: Option<String>,
}

#[derive(Deserialize)]
struct AnsweredUsage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
    #[serde(default)]
    completion_tokens: Option<u64>,
}

/// Takes the one reply out of an answer, and hands `used` what it cost, though it have no text.
pub(super) fn reply(body: &[u8], used: impl FnOnce(ChatUsage)) -> Result<ChatReply, BadAnswer> {
    let answer: ChatAnswer = read_answer(body, "reply")?;
    let of = |count: fn(&AnsweredUsage) -> Option<u64>| answer.usage.as_ref().and_then(count).unwrap_or(0);
    let usage = ChatUsage {
        answers: 1,
        prompt_tokens: of(|usage| usage.prompt_tokens),
        answer_tokens: of(|usage| usage.completion_tokens),
    };
    used(usage);
    let text = answer.choices.into_iter().next().and_then(|choice| choice.message.content);
    let Some(text) = text else { return Err(BadAnswer::Lasting("gave a reply without a text".into())) };
    Ok(ChatReply { text, usage })
}

#[cfg(test)]
mod tests {
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
            assert!(matches!(reply(body.as_bytes()), Err(BadAnswer::Lasting(_))), "{body}");
        }
        for body in ["", "<html>", r#"{"choices":[{"message":{"content":"ye"#] {
            assert!(matches!(reply(body.as_bytes()), Err(BadAnswer::Passing(_))), "{body}");
        }
    }
}
