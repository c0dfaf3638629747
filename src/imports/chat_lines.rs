//! Sessions of OpenClaw and Moltis: a message a line.

use std::io::Read;

use serde_json::Value;

use super::lines::{media_of, objects, text_of};
use super::moments::first_moment;
use super::sink::{ImportSink, ReadConversation, ReadTurn};

/// Reads a session, which is called as its first line says, or as its file is.
pub(super) fn conversation(from: impl Read, name: &str, stem: &str, sink: &mut ImportSink<'_>) -> ReadConversation {
    let mut read = ReadConversation { session: stem.to_owned(), ..ReadConversation::default() };
    let mut left_out = Vec::new();
    objects(from, name, sink, &mut |line| match line["type"].as_str() {
        Some("session") => {
            read.session = line["id"].as_str().unwrap_or(stem).to_owned();
            read.at_ms = first_moment(line, &["timestamp"]);
        }
        Some("message") if line["message"].is_object() => {
            let at_ms = first_moment(line, &["timestamp"]);
            read.turns.extend(turn(&line["message"], line["id"].as_str(), at_ms, &mut left_out));
        }
        None if line["role"].is_string() => {
            let id = ["id", "message_id", "run_id"].iter().find_map(|field| line[*field].as_str());
            let id = id.filter(|_| line["run_id"].is_null());
            read.turns.extend(turn(line, id, None, &mut left_out));
        }
        Some(_) => left_out.push("records of the program itself"),
        None => left_out.push("records of a shape that is not known"),
    });
    left_out.into_iter().for_each(|reason| sink.leave_out(reason));
    read
}

fn turn(message: &Value, id: Option<&str>, at_ms: Option<i64>, left_out: &mut Vec<&'static str>) -> Option<ReadTurn> {
    let content = &message["content"];
    left_out.extend((0..media_of(content)).map(|_| "images, sounds and other files"));
    let text = text_of(content, &["text"]);
    let role = message["role"].as_str().unwrap_or_default().to_owned();
    if text.trim().is_empty() && content.is_array() {
        left_out.push("what a model thought, asked of tools and was answered by them");
        return None;
    }
    let at_ms = at_ms.or_else(|| first_moment(message, &["timestamp", "created_at", "createdAt"]));
    Some(ReadTurn { id: id.map(str::to_owned), role, at_ms, text })
}
