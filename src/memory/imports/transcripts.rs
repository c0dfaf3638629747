//! Transcripts: a record a line, as Claude Code, Codex, OpenClaw and Moltis write them.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Read};

use serde_json::Value;

use super::clean::HOUSEKEEPING;
use super::json::{BYTE_ORDER_MARK, NotHeld, parse};
use super::kinds::{FILES, SourceKind};
use super::messages::{SPEAKER, THOUGHTS, answer, first_moment, is_tool, media_of, text_of};
use super::sink::{ImportSink, ReadConversation, ReadTurn};

/// Maximum length of a line: what tools answer may be long.
pub(super) const MAX_LINE_BYTES: u64 = 64 << 20;
/// Maximum memory for the turns of a file, in bytes: they are held together.
const MAX_TURNS_BYTES: usize = 256 << 20;
/// What a turn takes besides its text, at most.
const TURN_BYTES: usize = 400;
/// Maximum number of calls of tools whose names are remembered until they are answered.
const MAX_ASKED: usize = 10_000;
/// Why a line is left out that is too long, and one that is broken.
pub(super) const TOO_LONG: &str = "lines of more than 64 MB, or that would take more than 256 MB of memory";
pub(super) const NO_JSON: &str = "lines that are not JSON";
/// Why the last turns of a long transcript are left out.
pub(super) const BEHIND: &str = "turns of a transcript after the first 256 MB of their text";
/// Why records are left out that nobody said.
const OWN_RECORDS: &str = "records of the program itself";
const UNKNOWN: &str = "records in an unknown format";
/// Where a message of OpenClaw or Moltis says when it was.
const TIMES: [&str; 3] = ["timestamp", "created_at", "createdAt"];

/// What is done with a record.
type EachRecord<'e> = dyn FnMut(&Value, &mut ImportSink<'_>) + 'e;

/// Reads a transcript of a file that is called so, with its name and without its ending.
pub(super) fn transcript(
    kind: SourceKind,
    from: impl Read,
    (name, stem): (&str, &str),
    sink: &mut ImportSink<'_>,
) -> Vec<ReadConversation> {
    let mut read = Transcript::default();
    objects(from, name, sink, &mut |record, sink| match kind {
        SourceKind::ClaudeCode => read.claude_code(record, sink),
        SourceKind::Codex => read.codex(record, sink),
        _ => read.claw(record, sink),
    });
    read.conversations(kind, stem)
}

/// Gives the objects of a file, one after the other, to `each`. What is no JSON is counted, and the last line, where it was cut short, said.
pub(super) fn objects(from: impl Read, name: &str, sink: &mut ImportSink<'_>, each: &mut EachRecord<'_>) {
    let mut from = BufReader::new(from);
    let mut line = Vec::new();
    loop {
        line.clear();
        match from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line) {
            Ok(0) => return,
            Ok(_) => {}
            Err(error) => return sink.remark(format!("{name} cannot be read completely: {error}")),
        }
        let is_whole = line.ends_with(b"\n");
        if line.len() as u64 == MAX_LINE_BYTES && !is_whole {
            sink.leave_out(TOO_LONG);
            // The rest of it is no line.
            match from.skip_until(b'\n') {
                Ok(_) => continue,
                Err(error) => return sink.remark(format!("{name} cannot be read completely: {error}")),
            }
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        // A mark of the order of bytes, which some programs put at the beginning.
        match parse(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&line)) {
            Ok(value) if value.is_object() => each(&value, sink),
            Err(NotHeld::TooLarge) => sink.leave_out(TOO_LONG),
            _ if is_whole => sink.leave_out(NO_JSON),
            _ => {
                sink.leave_out("incomplete lines");
                sink.remark(format!("{name} is incomplete: its last line is cut"));
            }
        }
    }
}

/// What was read of a transcript so far.
#[derive(Default)]
struct Transcript {
    session: Option<String>,
    title: Option<String>,
    at_ms: Option<i64>,
    /// Turns, each with its session, where that is said of each.
    turns: Vec<(Option<String>, ReadTurn)>,
    /// What they take, in bytes.
    held: usize,
    /// The names of the tools that were asked, by the call.
    asked: HashMap<String, String>,
}

impl Transcript {
    fn conversations(self, kind: SourceKind, stem: &str) -> Vec<ReadConversation> {
        let Self { session, title, at_ms, turns, .. } = self;
        if kind != SourceKind::ClaudeCode {
            let session = session.or_else(|| (kind == SourceKind::Codex).then(|| stem.to_owned()));
            let turns = turns.into_iter().map(|(_, turn)| turn).collect();
            return vec![ReadConversation { session, title, at_ms, turns }];
        }
        // One that goes on with another has the turns of that, each under its own session.
        let mut sessions: BTreeMap<String, ReadConversation> = BTreeMap::new();
        for (session, turn) in turns {
            let session = session.unwrap_or_else(|| stem.to_owned());
            let (own, title) = (Some(session.clone()), title.clone());
            let new = || ReadConversation { session: own, title, ..ReadConversation::default() };
            sessions.entry(session).or_insert_with(new).turns.push(turn);
        }
        sessions.into_values().collect()
    }

    /// Adds a turn, where there is room for it.
    fn add(&mut self, session: Option<&str>, turn: ReadTurn, sink: &mut ImportSink<'_>) {
        self.held = self.held.saturating_add(turn.text.len() + TURN_BYTES);
        match self.held > MAX_TURNS_BYTES {
            true => sink.leave_out(BEHIND),
            false => self.turns.push((session.map(str::to_owned), turn)),
        }
    }

    /// Remembers which tool a call asks.
    fn ask(&mut self, call: &Value, name: &Value) {
        if let (Some(call), Some(name)) = (call.as_str(), name.as_str())
            && self.asked.len() < MAX_ASKED
        {
            self.asked.insert(call.to_owned(), name.to_owned());
        }
    }

    fn tool_of(&self, call: &Value) -> Option<String> {
        call.as_str().and_then(|call| self.asked.get(call).cloned())
    }

    fn claude_code(&mut self, line: &Value, sink: &mut ImportSink<'_>) {
        match line["type"].as_str() {
            Some("user" | "assistant") => {}
            Some("summary") => {
                self.title = line["summary"].as_str().map(str::to_owned).or_else(|| self.title.take());
                return;
            }
            Some(_) => return sink.leave_out(OWN_RECORDS),
            None => return sink.leave_out(UNKNOWN),
        }
        if line["isSidechain"] == true {
            return sink.leave_out("messages between agents of a session");
        }
        if line["isMeta"] == true || line["isCompactSummary"] == true {
            return sink.leave_out(HOUSEKEEPING);
        }
        let (session, id, at_ms) =
            (line["sessionId"].as_str(), line["uuid"].as_str(), first_moment(line, &["timestamp"]));
        let content = &line["message"]["content"];
        sink.leave_out_times(FILES, media_of(content));
        let mut answers = 0;
        for part in content.as_array().into_iter().flatten() {
            match part["type"].as_str() {
                Some("tool_use") => self.ask(&part["id"], &part["name"]),
                Some("tool_result") => {
                    answers += 1;
                    let (id, tool) =
                        (id.map(|id| format!("{id}#answer-{answers}")), self.tool_of(&part["tool_use_id"]));
                    let text = answer(&part["content"]);
                    self.add(session, ReadTurn { id, role: SPEAKER.into(), tool, at_ms, text }, sink);
                }
                _ => {}
            }
        }
        let text = text_of(content, &["text"]);
        if text.trim().is_empty() {
            return if answers == 0 {
                sink.leave_out(THOUGHTS)
            };
        }
        let role = line["message"]["role"].as_str().or_else(|| line["type"].as_str()).unwrap_or_default().to_owned();
        self.add(session, ReadTurn { id: id.map(str::to_owned), role, tool: None, at_ms, text }, sink);
    }

    /// A record of Codex, of the version with envelopes or of the one before.
    fn codex(&mut self, line: &Value, sink: &mut ImportSink<'_>) {
        let at_ms = first_moment(line, &["timestamp"]);
        let item = if line["payload"].is_object() { &line["payload"] } else { line };
        let kind = line["type"].as_str().unwrap_or_default();
        if kind == "session_meta" || (kind.is_empty() && line["id"].is_string() && line["timestamp"].is_string()) {
            // Of one that goes on with another the first is its own.
            if let Some(id) = item["id"].as_str().filter(|_| self.session.is_none()) {
                self.session = Some(id.to_owned());
                self.at_ms = first_moment(item, &["timestamp"]).or(at_ms);
            }
            return;
        }
        // What is shown stands in events besides.
        if matches!(kind, "event_msg" | "turn_context" | "compacted") || line["record_type"].is_string() {
            return sink.leave_out(OWN_RECORDS);
        }
        match item["type"].as_str() {
            Some("message") => {
                sink.leave_out_times(FILES, media_of(&item["content"]));
                let (id, role) = (item["id"].as_str().map(str::to_owned), item["role"].as_str().unwrap_or_default());
                let text = text_of(&item["content"], &["input_text", "output_text", "text"]);
                self.add(None, ReadTurn { id, role: role.to_owned(), tool: None, at_ms, text }, sink);
            }
            Some(kind) if kind.ends_with("_call_output") => {
                let id = item["id"].as_str().or_else(|| item["call_id"].as_str()).map(|id| format!("{id}#answer"));
                let (tool, text) = (self.tool_of(&item["call_id"]), answer(&item["output"]));
                self.add(None, ReadTurn { id, role: SPEAKER.into(), tool, at_ms, text }, sink);
            }
            Some(kind) => {
                if kind.ends_with("_call") {
                    self.ask(&item["call_id"], &item["name"]);
                }
                sink.leave_out(THOUGHTS);
            }
            None => sink.leave_out(UNKNOWN),
        }
    }

    /// A record of OpenClaw or Moltis. The session is called as the first says, if that does.
    fn claw(&mut self, line: &Value, sink: &mut ImportSink<'_>) {
        match line["type"].as_str() {
            Some("session") => {
                self.session = line["id"].as_str().map(str::to_owned);
                self.at_ms = first_moment(line, &["timestamp"]);
            }
            Some("message") if line["message"].is_object() => {
                let at_ms = first_moment(line, &["timestamp"]);
                self.claw_message(&line["message"], line["id"].as_str(), at_ms, sink);
            }
            None if line["role"].is_string() => {
                let id = ["id", "message_id", "run_id"].iter().find_map(|field| line[*field].as_str());
                self.claw_message(line, id.filter(|_| line["run_id"].is_null()), None, sink);
            }
            Some(_) => sink.leave_out(OWN_RECORDS),
            None => sink.leave_out(UNKNOWN),
        }
    }

    fn claw_message(&mut self, message: &Value, id: Option<&str>, at_ms: Option<i64>, sink: &mut ImportSink<'_>) {
        let content = &message["content"];
        sink.leave_out_times(FILES, media_of(content));
        let role = message["role"].as_str().unwrap_or_default().to_owned();
        let (mut text, mut tool) = (text_of(content, &["text"]), None);
        if is_tool(&role) {
            // OpenClaw has the answer where texts are, Moltis apart.
            let fields = ["content", "result", "error"].into_iter().map(|field| answer(&message[field]));
            text = fields.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default();
            tool = ["toolName", "tool_name", "name"].iter().find_map(|field| message[*field].as_str());
        } else if text.trim().is_empty() && content.is_array() {
            return sink.leave_out(THOUGHTS);
        }
        let at_ms = at_ms.or_else(|| first_moment(message, &TIMES));
        let (id, tool) = (id.map(str::to_owned), tool.map(str::to_owned));
        self.add(None, ReadTurn { id, role, tool, at_ms, text }, sink);
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::ops::ControlFlow;

    use super::*;

    #[test]
    fn what_is_behind_very_many_turns_is_counted() {
        let mut take = |_| ControlFlow::Continue(());
        let (mut sink, mut read) = (ImportSink::new(&mut take), Transcript::default());
        for _ in 0..4 {
            read.add(None, ReadTurn { text: "x".repeat(100 << 20), ..ReadTurn::default() }, &mut sink);
        }
        assert_eq!((read.turns.len(), sink.tally.left_out[BEHIND]), (2, 2));
    }

    /// More than a gigabyte of it was once called cut short.
    #[test]
    fn a_long_file_is_read_to_its_end() {
        let long = io::repeat(0).take(1200 << 20).chain(&b"\n{\"a\":1}\n"[..]);
        let mut take = |_| ControlFlow::Continue(());
        let (mut sink, mut found) = (ImportSink::new(&mut take), Vec::new());
        objects(long, "long.jsonl", &mut sink, &mut |value, _| found.push(value.to_string()));
        assert_eq!(found, ["{\"a\":1}"]);
        assert_eq!((sink.tally.left_out[TOO_LONG], sink.tally.remarks.len()), (1, 0));
    }
}
