//! A rollout of Codex: a record a line, of the version with envelopes and of the one before.

use std::io::Read;

use serde_json::Value;

use super::lines::{media_of, objects, text_of};
use super::moments::first_moment;
use super::sink::{ImportSink, ReadConversation, ReadTurn};

/// Reads a rollout.
pub(super) fn conversation(from: impl Read, name: &str, stem: &str, sink: &mut ImportSink<'_>) -> ReadConversation {
    let mut read = ReadConversation { session: stem.to_owned(), ..ReadConversation::default() };
    let mut left_out = Vec::new();
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
                (read.session, is_named) = (id.to_owned(), true);
                read.at_ms = first_moment(item, &["timestamp"]).or(at_ms);
            }
            return;
        }
        // What is shown stands in events besides.
        if matches!(kind, "event_msg" | "turn_context" | "compacted") || line["record_type"].is_string() {
            return left_out.push("records of the program itself");
        }
        match item["type"].as_str() {
            Some("message") => {
                let content = &item["content"];
                left_out.extend((0..media_of(content)).map(|_| "images, sounds and other files"));
                read.turns.push(turn(item, at_ms));
            }
            Some(_) => left_out.push("what a model thought, asked of tools and was answered by them"),
            None => left_out.push("records of a shape that is not known"),
        }
    });
    left_out.into_iter().for_each(|reason| sink.leave_out(reason));
    read
}

fn turn(item: &Value, at_ms: Option<i64>) -> ReadTurn {
    let role = item["role"].as_str().unwrap_or_default().to_owned();
    let text = text_of(&item["content"], &["input_text", "output_text", "text"]);
    ReadTurn { id: item["id"].as_str().map(str::to_owned), role, at_ms, text }
}
