//! A transcript of Claude Code: a record a line.

use std::collections::{BTreeMap, HashMap};
use std::io::Read;

use serde_json::Value;

use super::lines::{LeftOutCounts, objects};
use super::moments::first_moment;
use super::parts::{media_of, text_of};
use super::sink::{ImportSink, ReadConversation, ReadTurn};
use super::tools::{SPEAKER, answer};

/// Reads a transcript. A session that was gone on with has the turns of the one before, each under its own session.
pub(super) fn conversations(
    from: impl Read,
    name: &str,
    stem: &str,
    sink: &mut ImportSink<'_>,
) -> Vec<ReadConversation> {
    let mut found = Records::default();
    let mut title = None;
    objects(from, name, sink, &mut |line| match line["type"].as_str() {
        Some("user" | "assistant") => found.record(line),
        Some("summary") => title = line["summary"].as_str().map(str::to_owned).or_else(|| title.take()),
        Some(_) => found.left_out.add("records of the program itself"),
        None => found.left_out.add("records of a shape that is not known"),
    });
    found.left_out.tell(sink);
    let mut sessions: BTreeMap<String, ReadConversation> = BTreeMap::new();
    for (session, turn) in found.turns {
        let session = session.unwrap_or_else(|| stem.to_owned());
        let title = title.clone();
        let new = || ReadConversation { session: Some(session.clone()), title, ..ReadConversation::default() };
        sessions.entry(session.clone()).or_insert_with(new).turns.push(turn);
    }
    sessions.into_values().collect()
}

/// Maximum number of calls of tools whose names are remembered until they are answered.
const MAX_ASKED: usize = 10_000;

/// What was read of a transcript so far.
#[derive(Default)]
struct Records {
    /// Turns, each with its session, if it says one.
    turns: Vec<(Option<String>, ReadTurn)>,
    /// The names of the tools that were asked, by the call.
    asked: HashMap<String, String>,
    left_out: LeftOutCounts,
}

impl Records {
    fn record(&mut self, line: &Value) {
        if line["isSidechain"] == true {
            return self.left_out.add("what agents of a session said among themselves");
        }
        if line["isMeta"] == true || line["isCompactSummary"] == true {
            return self
                .left_out
                .add("turns that programs wrote (flush prompts, heartbeats, summaries for a new session)");
        }
        let session = line["sessionId"].as_str().map(str::to_owned);
        let (id, at_ms) = (line["uuid"].as_str(), first_moment(line, &["timestamp"]));
        let content = &line["message"]["content"];
        self.left_out.add_times("images, sounds and other files", media_of(content));
        let parts = content.as_array().map(Vec::as_slice).unwrap_or_default();
        let mut answers = 0;
        for part in parts {
            match part["type"].as_str() {
                Some("tool_use") if self.asked.len() < MAX_ASKED => {
                    if let (Some(call), Some(name)) = (part["id"].as_str(), part["name"].as_str()) {
                        self.asked.insert(call.to_owned(), name.to_owned());
                    }
                }
                Some("tool_result") => {
                    answers += 1;
                    let tool = part["tool_use_id"].as_str().and_then(|call| self.asked.get(call).cloned());
                    let id = id.map(|id| format!("{id}#answer-{answers}"));
                    let text = answer(&part["content"]);
                    self.keep(session.clone(), ReadTurn { id, role: SPEAKER.into(), tool, at_ms, text });
                }
                _ => {}
            }
        }
        let text = text_of(content, &["text"]);
        if text.trim().is_empty() {
            if answers == 0 {
                self.left_out.add("what a model thought, and asked of tools");
            }
            return;
        }
        let role = line["message"]["role"].as_str().or_else(|| line["type"].as_str()).unwrap_or_default().to_owned();
        let turn = ReadTurn { id: id.map(str::to_owned), role, tool: None, at_ms, text };
        self.keep(session, turn);
    }

    fn keep(&mut self, session: Option<String>, turn: ReadTurn) {
        if self.left_out.has_room_for(&turn) {
            self.turns.push((session, turn));
        }
    }
}
