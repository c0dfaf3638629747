//! A transcript of Claude Code: a record a line.

use std::collections::BTreeMap;
use std::io::Read;

use serde_json::Value;

use super::lines::{media_of, objects, text_of};
use super::moments::first_moment;
use super::sink::{ImportSink, ReadConversation, ReadTurn};

/// Reads a transcript. A session that was gone on with has the turns of the one before, each under its own session.
pub(super) fn conversations(
    from: impl Read,
    name: &str,
    stem: &str,
    sink: &mut ImportSink<'_>,
) -> Vec<ReadConversation> {
    let mut records = Vec::new();
    let mut left_out: Vec<&'static str> = Vec::new();
    let mut title = None;
    objects(from, name, sink, &mut |line| match line["type"].as_str() {
        Some("user" | "assistant") => records.extend(record(line, &mut left_out)),
        Some("summary") => title = line["summary"].as_str().map(str::to_owned).or_else(|| title.take()),
        Some(_) => left_out.push("records of the program itself"),
        None => left_out.push("records of a shape that is not known"),
    });
    left_out.into_iter().for_each(|reason| sink.leave_out(reason));
    let mut sessions: BTreeMap<String, ReadConversation> = BTreeMap::new();
    for (session, turn) in records {
        let session = session.unwrap_or_else(|| stem.to_owned());
        let title = title.clone();
        let new = || ReadConversation { session: session.clone(), title, ..ReadConversation::default() };
        sessions.entry(session.clone()).or_insert_with(new).turns.push(turn);
    }
    sessions.into_values().collect()
}

fn record(line: &Value, left_out: &mut Vec<&'static str>) -> Option<(Option<String>, ReadTurn)> {
    if line["isSidechain"] == true {
        left_out.push("what agents of a session said among themselves");
        return None;
    }
    if line["isMeta"] == true || line["isCompactSummary"] == true {
        left_out.push("turns that programs wrote (flush prompts, heartbeats, summaries for a new session)");
        return None;
    }
    let content = &line["message"]["content"];
    left_out.extend((0..media_of(content)).map(|_| "images, sounds and other files"));
    let text = text_of(content, &["text"]);
    if text.trim().is_empty() {
        left_out.push("what a model thought, asked of tools and was answered by them");
        return None;
    }
    let turn = ReadTurn {
        id: line["uuid"].as_str().map(str::to_owned),
        role: line["message"]["role"].as_str().or_else(|| line["type"].as_str()).unwrap_or_default().to_owned(),
        at_ms: first_moment(line, &["timestamp"]),
        text,
    };
    Some((line["sessionId"].as_str().map(str::to_owned), turn))
}
