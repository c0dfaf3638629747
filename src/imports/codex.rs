//! A rollout of Codex: a record a line, of the version with envelopes and of the one before.

use std::collections::HashMap;
use std::io::Read;

use serde_json::Value;

use super::lines::{LeftOutCounts, objects};
use super::moments::first_moment;
use super::parts::{media_of, text_of};
use super::sink::{ImportSink, ReadConversation, ReadTurn};
use super::tools::{SPEAKER, answer};

/// Maximum number of calls of tools whose names are remembered until they are answered.
const MAX_ASKED: usize = 10_000;

/// Reads a rollout.
pub(super) fn conversation(from: impl Read, name: &str, stem: &str, sink: &mut ImportSink<'_>) -> ReadConversation {
    let mut read = ReadConversation { session: Some(stem.to_owned()), ..ReadConversation::default() };
    let (mut left_out, mut asked) = (LeftOutCounts::default(), HashMap::new());
    let mut is_named = false;
    objects(from, name, sink, &mut |line| {
        let at_ms = first_moment(line, &["timestamp"]);
        let item = if line["payload"].is_object() { &line["payload"] } else { line };
        let kind = line["type"].as_str().unwrap_or_default();
        let is_meta =
            kind == "session_meta" || (kind.is_empty() && line["id"].is_string() && line["timestamp"].is_string());
        if is_meta {
            // Of one that goes on with another the first is its own.
            if let Some(id) = item["id"].as_str().filter(|_| !is_named) {
                (read.session, is_named) = (Some(id.to_owned()), true);
                read.at_ms = first_moment(item, &["timestamp"]).or(at_ms);
            }
            return;
        }
        // What is shown stands in events besides.
        if matches!(kind, "event_msg" | "turn_context" | "compacted") || line["record_type"].is_string() {
            return left_out.add("records of the program itself");
        }
        match item["type"].as_str() {
            Some("message") => {
                let content = &item["content"];
                left_out.add_times("images, sounds and other files", media_of(content));
                read.turns.extend(Some(turn(item, at_ms)).filter(|turn| left_out.has_room_for(turn)));
            }
            Some(kind) if kind.ends_with("_call_output") => {
                let tool = item["call_id"].as_str().and_then(|call| asked.get(call).cloned());
                let (id, text) = (item["id"].as_str().or_else(|| item["call_id"].as_str()), answer(&item["output"]));
                let id = id.map(|id| format!("{id}#answer"));
                let turn = ReadTurn { id, role: SPEAKER.into(), tool, at_ms, text };
                read.turns.extend(Some(turn).filter(|turn| left_out.has_room_for(turn)));
            }
            Some(kind) => {
                if kind.ends_with("_call")
                    && asked.len() < MAX_ASKED
                    && let (Some(call), Some(name)) = (item["call_id"].as_str(), item["name"].as_str())
                {
                    asked.insert(call.to_owned(), name.to_owned());
                }
                left_out.add("what a model thought, and asked of tools");
            }
            None => left_out.add("records of a shape that is not known"),
        }
    });
    left_out.tell(sink);
    read
}

fn turn(item: &Value, at_ms: Option<i64>) -> ReadTurn {
    let role = item["role"].as_str().unwrap_or_default().to_owned();
    let text = text_of(&item["content"], &["input_text", "output_text", "text"]);
    ReadTurn { id: item["id"].as_str().map(str::to_owned), role, tool: None, at_ms, text }
}
