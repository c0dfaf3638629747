//! Sessions of OpenClaw and Moltis: a message a line.

use std::io::Read;

use serde_json::Value;

use super::lines::{LeftOutCounts, objects};
use super::moments::first_moment;
use super::parts::{media_of, text_of};
use super::sink::{ImportSink, ReadConversation, ReadTurn};
use super::tools::{answer, is_tool};

/// Where a message says when it was.
const TIMES: [&str; 3] = ["timestamp", "created_at", "createdAt"];

/// Reads a session, which is called as its first line says, if it has one.
pub(super) fn conversation(from: impl Read, name: &str, sink: &mut ImportSink<'_>) -> ReadConversation {
    let mut read = ReadConversation::default();
    let mut left_out = LeftOutCounts::default();
    objects(from, name, sink, &mut |line| match line["type"].as_str() {
        Some("session") => {
            read.session = line["id"].as_str().map(str::to_owned);
            read.at_ms = first_moment(line, &["timestamp"]);
        }
        Some("message") if line["message"].is_object() => {
            let at_ms = first_moment(line, &["timestamp"]);
            let turn = turn(&line["message"], line["id"].as_str(), at_ms, &mut left_out);
            read.turns.extend(turn.filter(|turn| left_out.has_room_for(turn)));
        }
        None if line["role"].is_string() => {
            let id = ["id", "message_id", "run_id"].iter().find_map(|field| line[*field].as_str());
            let id = id.filter(|_| line["run_id"].is_null());
            let turn = turn(line, id, None, &mut left_out);
            read.turns.extend(turn.filter(|turn| left_out.has_room_for(turn)));
        }
        Some(_) => left_out.add("records of the program itself"),
        None => left_out.add("records of a shape that is not known"),
    });
    left_out.tell(sink);
    read
}

fn turn(message: &Value, id: Option<&str>, at_ms: Option<i64>, left_out: &mut LeftOutCounts) -> Option<ReadTurn> {
    let content = &message["content"];
    left_out.add_times("images, sounds and other files", media_of(content));
    let role = message["role"].as_str().unwrap_or_default().to_owned();
    if is_tool(&role) {
        // OpenClaw has the answer where texts are, Moltis apart.
        let fields = ["content", "result", "error"].into_iter().map(|field| answer(&message[field]));
        let text = fields.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
        let tool = ["toolName", "tool_name", "name"].iter().find_map(|field| message[*field].as_str());
        let at_ms = at_ms.or_else(|| first_moment(message, &TIMES));
        return Some(ReadTurn { id: id.map(str::to_owned), role, tool: tool.map(str::to_owned), at_ms, text });
    }
    let text = text_of(content, &["text"]);
    if text.trim().is_empty() && content.is_array() {
        left_out.add("what a model thought, and asked of tools");
        return None;
    }
    let at_ms = at_ms.or_else(|| first_moment(message, &TIMES));
    Some(ReadTurn { id: id.map(str::to_owned), role, tool: None, at_ms, text })
}
