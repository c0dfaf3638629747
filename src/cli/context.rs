//! `vault context`, and what Claude Code tells of a session with `--hook`.

use std::io::{BufRead, BufReader, Read};
use std::ops::ControlFlow;
use std::path::Path;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::backend::Backend;
use super::import::{BATCH, BATCH_BYTES};
use super::terminal::{Outcome, answer, count, remark, stdout};
use crate::access::agents::no_agent;
use crate::access::request::{ErrorKind, RequestError};
use crate::memory::imports::{ImportItem, ImportSink, SourceKind, read};
use crate::serve::api::endpoints;
use crate::serve::wire::{ContextMode, ContextParams};

/// Print what a model should know for a question: a few cited lines of your memory, or nothing.
///
/// A gate chooses by the question: the profile for questions about you, turns for "what did I say", summaries for times and decisions,
/// entries for known names, else passages that are likely to answer; often nothing. The output is fenced as data. --json prints a receipt
/// of what was included and what was left out.
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  vault context \"what did we decide about the roof\"\n  vault context --mode full --budget 2000\n  \
        vault context --agent claude --hook < event.json"
)]
pub(super) struct ContextCommand {
    #[command(flatten)]
    params: ContextParams,
    /// Act as a hook of Claude Code: read an event as JSON from standard input, and answer in its format. Never fails.
    #[arg(long, conflicts_with_all = ["query", "json"])]
    hook: bool,
}

impl ContextCommand {
    pub(super) fn run(self, vault: Option<&Path>) -> anyhow::Result<Outcome> {
        let params = ContextParams { unasked: self.hook.then_some(true), ..self.params };
        if self.hook {
            // One that fails would keep the person from working.
            if let Err(error) = answered(vault, params) {
                remark!("vault: the hook did nothing: {error:#}");
            }
            return Ok(Outcome::Done);
        }
        let mut backend = Backend::open(vault, |_| {})?;
        backend.catch_up(true)?;
        let view = match (backend.context(&params), &params.agent) {
            (Err(error), Some(name)) => return Err(absent(name, &mut backend).unwrap_or(error)),
            (view, _) => view?,
        };
        answer(&view, !view.text.is_empty(), |out| {
            let receipt = &view.receipt;
            if view.text.is_empty() {
                remark!("vault: no memory fits: {}", receipt.why);
            } else {
                writeln!(out, "{}", view.text.trim_end());
                remark!("vault: {}, by the gate `{}`: {}", count(receipt.tokens, "token"), receipt.gate, receipt.why);
            }
        })
    }
}

/// That there is no such agent, if there is none: programs that ask for an agent are not told so, and the person is.
fn absent(name: &str, backend: &mut Backend) -> Option<anyhow::Error> {
    let error = backend.ask_of(&endpoints::agents::SHOW, name, &()).err()?;
    let is_absent = error.downcast_ref::<RequestError>().is_some_and(|error| error.kind == ErrorKind::NotFound);
    is_absent.then(|| no_agent(name).into())
}

/// Maximum length of an event that is read, and of the head of a transcript that says when it began, in bytes.
const MAX_EVENT_BYTES: u64 = 16 << 20;

/// Answers an event.
fn answered(vault: Option<&Path>, mut params: ContextParams) -> anyhow::Result<()> {
    let mut text = String::new();
    std::io::stdin().take(MAX_EVENT_BYTES).read_to_string(&mut text)?;
    let event: Value = serde_json::from_str(&text)?;
    let said = |key: &str| event[key].as_str().unwrap_or_default();
    let name = event["hook_event_name"].as_str().context("the event has no name")?;
    match name {
        "UserPromptSubmit" | "SessionStart" => {
            if name == "UserPromptSubmit" {
                params.query = Some(said("prompt").to_owned());
                params.session_start = begun(said("transcript_path"));
            } else {
                params.mode = params.mode.or(Some(ContextMode::Full));
            }
            let mut backend = Backend::open(vault, |_| {})?;
            backend.catch_up(false)?;
            let view = backend.context(&params)?;
            if !view.text.is_empty() {
                let output = json!({ "hookEventName": name, "additionalContext": view.text });
                stdout().json(&json!({ "hookSpecificOutput": output }));
            }
        }
        "PreCompact" | "SessionEnd" => {
            let messages = messages(Path::new(said("transcript_path")), said("session_id"))?;
            let mut backend = Backend::without_model(vault)?;
            // One that is refused keeps none of the others.
            let sent: Vec<_> = batches(&messages).into_iter().map(|batch| backend.send_events(batch)).collect();
            sent.into_iter().collect::<anyhow::Result<()>>()?;
        }
        _ => {}
    }
    Ok(())
}

/// Messages in the batches in which they are sent, none of which is too long for a request.
fn batches(messages: &[Value]) -> Vec<&[Value]> {
    let (mut batches, mut from, mut bytes) = (Vec::new(), 0, 0);
    for (at, message) in messages.iter().enumerate() {
        let length = message.to_string().len() + 1;
        if at > from && (at - from >= BATCH || bytes + length > BATCH_BYTES) {
            batches.push(&messages[from..at]);
            (from, bytes) = (at, 0);
        }
        bytes += length;
    }
    batches.extend((from < messages.len()).then(|| &messages[from..]));
    batches
}

/// When a session began: the first time in its transcript.
fn begun(transcript: &str) -> Option<String> {
    let head = BufReader::new(std::fs::File::open(transcript).ok()?.take(MAX_EVENT_BYTES));
    let time = |line: String| Some(serde_json::from_str::<Value>(&line).ok()?["timestamp"].as_str()?.to_owned());
    head.lines().map_while(Result::ok).find_map(time)
}

/// What the person and the model said in a transcript, as events. What tools answered is none of it.
fn messages(transcript: &Path, session: &str) -> anyhow::Result<Vec<Value>> {
    anyhow::ensure!(transcript.is_file(), "{} is no file", transcript.display());
    let mut messages = Vec::new();
    let mut take = |item| {
        if let ImportItem::Event(mut event) = item
            && event["role"] != "tool"
        {
            drop(event.as_object_mut().and_then(|event| event.remove("title")));
            if !session.is_empty() {
                event["session"] = session.into();
            }
            messages.push(event);
        }
        ControlFlow::Continue(())
    };
    let was_read = read(SourceKind::ClaudeCode, transcript, &|_| true, &mut ImportSink::new(&mut take));
    was_read.map_err(anyhow::Error::msg)?;
    Ok(messages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_sent_at_a_time_fits_into_a_request() {
        let long = |number: usize| json!({"id": number.to_string(), "text": "\"".repeat(50 * 1024)});
        let messages: Vec<Value> = (0..60).map(long).chain((0..1_200).map(|number| json!({"id": number}))).collect();
        let batches = batches(&messages);
        assert!(batches.iter().all(|batch| batch.len() <= BATCH && json!(batch).to_string().len() < 1 << 20));
        assert_eq!(batches.concat(), messages);
        assert!(batches.len() < 15 && super::batches(&[]).is_empty());
    }

    #[test]
    fn of_a_transcript_what_was_said_counts() {
        let lines = [
            json!({"type": "summary", "summary": "x"}),
            json!({"type": "user", "uuid": "1", "timestamp": "2026-01-05T10:00:00Z", "message": {"role": "user", "content": "Hello"}}),
            json!({"type": "assistant", "uuid": "2", "message": {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"},
                {"type": "tool_use", "name": "Bash", "input": {}}]}}),
            json!({"type": "user", "uuid": "3", "message": {"content": [{"type": "tool_result", "content": "secret"}]}}),
            json!({"type": "user", "uuid": "4", "isMeta": true, "message": {"content": "Caveat"}}),
            json!({"type": "user", "uuid": "5", "message": {"content": "<command-name>/clear</command-name>"}}),
            json!({"type": "user", "uuid": "6", "message": {"content": "<system-reminder>be brief</system-reminder>"}}),
            json!({"type": "user", "uuid": "7", "message": {"content": "<system-reminder>\nbe brief\n</system-reminder>\nGo on"}}),
            json!({"type": "assistant", "uuid": "8", "message": {"content": "<think>hm</think>Sure"}}),
        ];
        let text = lines.map(|line| line.to_string()).join("\n") + "\nnot json\n{\"type\": \"us";
        let folder = tempfile::tempdir().unwrap();
        let transcript = folder.path().join("s.jsonl");
        std::fs::write(&transcript, text).unwrap();
        let said = messages(&transcript, "s1").unwrap();
        let texts: Vec<&str> = said.iter().map(|message| message["text"].as_str().unwrap()).collect();
        assert_eq!(texts, ["Hello", "Hi", "Go on", "Sure"]);
        assert_eq!(
            said[0],
            json!({"type": "message", "session": "s1", "role": "user", "text": "Hello", "id": "1", "time": "2026-01-05T10:00:00Z"})
        );
    }
}
