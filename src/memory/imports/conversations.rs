//! Conversations as programs keep them: transcripts with a record a line (Claude Code, Codex, OpenClaw, Moltis), and exports that are trees of
//! messages, of which the branch counts that was shown last (ChatGPT, Claude). Of what a tool answered a line comes, by which somebody knows
//! again what was looked at; the rest is machinery.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader, Read};

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use serde_json::Value;

use super::clean::HOUSEKEEPING;
use super::json::parse;
use super::kinds::{FILES, SourceKind};
use super::sink::{ImportSink, ReadConversation, ReadTurn};

/// The texts of a message: a text by itself, or the parts of a list that are texts of one of these types.
pub(super) fn text_of(content: &Value, types: &[&str]) -> String {
    if let Some(text) = content.as_str() {
        return text.to_owned();
    }
    let parts = content.as_array().into_iter().flatten();
    let texts = parts.filter_map(|part| match part {
        Value::String(text) => Some(text.as_str()),
        part => part["text"].as_str().filter(|_| part["type"].as_str().is_none_or(|kind| types.contains(&kind))),
    });
    texts.filter(|text| !text.trim().is_empty()).collect::<Vec<_>>().join("\n\n")
}

/// How many parts of a message are images or files.
pub(super) fn media_of(content: &Value) -> usize {
    let kinds = ["image", "image_url", "input_image", "document", "audio", "file", "media"];
    let parts = content.as_array().into_iter().flatten();
    parts.filter(|part| part["type"].as_str().is_some_and(|kind| kinds.contains(&kind))).count()
}

/// Why what a model thought is left out, and asked.
pub(super) const THOUGHTS: &str = "reasoning and tool calls of a model";
/// Why the rest of an answer, or one that says nothing, does not come.
pub(super) const TOOLS: &str = "tool output after its first line";
/// Maximum length of the line, in characters.
const MAX_LINE_CHARS: usize = 200;
/// Maximum length of the name of the tool before the line, in characters.
const MAX_NAME_CHARS: usize = 60;
/// Maximum length of what is held of an answer until its line is taken, in bytes: a transcript may have a thousand
/// answers of a megabyte.
const MAX_ANSWER_BYTES: usize = 16 << 10;
/// Who speaks in a turn that is the answer of a tool, as other programs call it; and what it is called here.
const SPEAKERS: [&str; 7] = ["tool", "tools", "function", "ipython", "toolresult", "tool_result", "bashexecution"];
pub(super) const SPEAKER: &str = "tool";
/// Where an answer that is an object has its text, the first that says something.
const FIELDS: [&str; 9] = ["output", "stdout", "text", "content", "result", "message", "error", "stderr", "title"];
/// Maximum depth of objects within one another in which a text is looked for.
const MAX_DEPTH: usize = 4;

/// Whether a turn of this speaker is the answer of a tool.
pub(super) fn is_tool(role: &str) -> bool {
    SPEAKERS.iter().any(|known| role.trim().eq_ignore_ascii_case(known))
}

/// The text of an answer, whatever shape it has, as far as its first line is looked for; empty where it has none.
pub(super) fn answer(value: &Value) -> String {
    let mut text = within(value, 0);
    text.truncate(text.floor_char_boundary(MAX_ANSWER_BYTES));
    text.shrink_to_fit();
    text
}

fn within(value: &Value, depth: usize) -> String {
    match value {
        // Codex has an object written as a text.
        Value::String(text) if depth == 0 && text.trim_start().starts_with('{') => {
            let inner = serde_json::from_str::<Value>(text).map(|value| within(&value, 1)).unwrap_or_default();
            if inner.trim().is_empty() { text.clone() } else { inner }
        }
        Value::String(text) => text.clone(),
        Value::Array(_) => text_of(value, &["text", "output_text", "input_text"]),
        Value::Object(fields) if depth < MAX_DEPTH => {
            let texts = FIELDS.iter().filter_map(|field| Some(within(fields.get(*field)?, depth + 1)));
            texts.into_iter().find(|text| !text.trim().is_empty()).unwrap_or_default()
        }
        _ => String::new(),
    }
}

/// What is kept of an answer, with the tool's name before it and `…` behind it where there was more, and whether there was. The first line
/// that has a letter or a digit; `None` where none has.
pub(super) fn first_line(tool: Option<&str>, answer: &str) -> Option<(String, bool)> {
    let says = |line: &&str| line.contains(char::is_alphanumeric);
    let mut lines = answer.lines().filter(says);
    let line = lines.next()?.trim();
    let kept: String = line.chars().take(MAX_LINE_CHARS).collect();
    let more = kept.len() < line.len() || lines.next().is_some();
    let name = tool.map(|tool| tool.split_whitespace().collect::<Vec<_>>().join(" "));
    let name = name.map(|name| name.chars().take(MAX_NAME_CHARS).collect::<String>()).filter(|name| !name.is_empty());
    let name = name.map(|name| format!("{name}: ")).unwrap_or_default();
    Some((format!("{name}{}{}", kept.trim_end(), if more { " …" } else { "" }), more))
}

/// The latest time that is taken, in seconds: the year 9999.
const LAST_SECOND: i64 = 253_000_000_000;

/// A time in milliseconds since 1970: of a number of seconds, milliseconds, microseconds or nanoseconds, which their size tells, or of a
/// text. None where it is no time, or one before 1970.
pub(super) fn moment(value: &Value) -> Option<i64> {
    match value {
        Value::Number(number) => of_number(number.as_f64()?),
        Value::String(text) => of_text(text.trim()),
        _ => None,
    }
}

/// The first of some fields that has a time.
pub(super) fn first_moment(value: &Value, fields: &[&str]) -> Option<i64> {
    fields.iter().find_map(|field| moment(value.get(*field)?))
}

fn of_number(number: f64) -> Option<i64> {
    let ms = match number.abs() {
        size if size < 1e11 => number * 1e3,
        size if size < 1e14 => number,
        size if size < 1e17 => number / 1e3,
        _ => number / 1e6,
    };
    let ms = ms.round();
    (ms > 0.0 && ms < LAST_SECOND as f64 * 1e3).then_some(ms as i64)
}

fn of_text(text: &str) -> Option<i64> {
    if let Ok(number) = text.parse::<f64>() {
        return of_number(number);
    }
    let utc = text.strip_suffix(" UTC").or_else(|| text.strip_suffix(" +0000")).unwrap_or(text);
    let civil = || Some(utc.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp());
    let at = text.parse::<Timestamp>().ok().or_else(civil)?;
    (at.as_millisecond() > 0).then_some(at.as_millisecond())
}

/// A time as events have it.
pub(super) fn written(at_ms: i64) -> Option<String> {
    Some(Timestamp::from_millisecond(at_ms).ok()?.to_string())
}

/// Maximum length of a line: what tools answer may be long.
pub(super) const MAX_LINE_BYTES: u64 = 64 << 20;
/// Maximum number of calls of tools whose names are remembered until they are answered.
const MAX_ASKED: usize = 10_000;
/// Why a line is left out that is too long, and one that is broken.
pub(super) const TOO_LONG: &str = "lines of more than 64 MB";
pub(super) const NO_JSON: &str = "lines that are not JSON";
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
        match parse(&line) {
            Some(value) if value.is_object() => each(&value, sink),
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
        // One that goes on with another has the turns of that, each under its own session, in the order of the transcript.
        let mut sessions: Vec<ReadConversation> = Vec::new();
        for (session, turn) in turns {
            let session = session.or_else(|| Some(stem.to_owned()));
            let at = sessions.iter().position(|known| known.session == session).unwrap_or(sessions.len());
            if at == sessions.len() {
                sessions.push(ReadConversation { session, title: title.clone(), ..ReadConversation::default() });
            }
            sessions[at].turns.push(turn);
        }
        sessions
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
                    self.turns
                        .push((session.map(str::to_owned), ReadTurn { id, role: SPEAKER.into(), tool, at_ms, text }));
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
        self.turns
            .push((session.map(str::to_owned), ReadTurn { id: id.map(str::to_owned), role, tool: None, at_ms, text }));
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
                self.turns.push((None, ReadTurn { id, role: role.to_owned(), tool: None, at_ms, text }));
            }
            Some(kind) if kind.ends_with("_call_output") => {
                let id = item["id"].as_str().or_else(|| item["call_id"].as_str()).map(|id| format!("{id}#answer"));
                let (tool, text) = (self.tool_of(&item["call_id"]), answer(&item["output"]));
                self.turns.push((None, ReadTurn { id, role: SPEAKER.into(), tool, at_ms, text }));
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
        self.turns.push((None, ReadTurn { id, role, tool, at_ms, text }));
    }
}

/// Kinds of content that are answers of tools, whoever they are of.
const ANSWERS: [&str; 4] = ["execution_output", "tether_browsing_display", "tether_quote", "system_error"];
/// Why turns are left out that are of another branch.
const BRANCHES: &str = "turns of other branches";

/// Reads a conversation of ChatGPT's export; `None` where it is none.
pub(super) fn of_chatgpt(value: &Value, sink: &mut ImportSink<'_>) -> Option<ReadConversation> {
    let mapping = value["mapping"].as_object()?;
    let title = value["title"].as_str().map(str::to_owned);
    let session = ["conversation_id", "id"].iter().find_map(|field| value[*field].as_str()).map(str::to_owned);
    let at_ms = first_moment(value, &["create_time", "update_time"]);
    let shown = value["current_node"].as_str().filter(|node| mapping.contains_key(*node)).or_else(|| {
        // The last leaf, where it is not said.
        let leaves = mapping.iter().filter(|(_, node)| node["children"].as_array().is_none_or(Vec::is_empty));
        let timed = leaves.map(|(id, node)| (first_moment(&node["message"], &["create_time"]).unwrap_or_default(), id));
        timed.max_by_key(|(at, _)| *at).map(|(_, id)| id.as_str())
    });
    let find = |id: &str| mapping.get_key_value(id).map(|(id, node)| (id.as_str(), node));
    let mut shown = branch(shown, find, "parent");
    shown.retain(|(_, node)| node["message"].is_object());
    let beside = mapping.values().filter(|node| node["message"].is_object()).count().saturating_sub(shown.len());
    sink.leave_out_times(BRANCHES, beside);
    let turns = shown.into_iter().filter_map(|(id, node)| turn(id, &node["message"], sink)).collect();
    Some(ReadConversation { session, title, at_ms, turns })
}

/// Reads a conversation of Claude's export; `None` where it is none. All messages are shown, or those up from the one that is said to have been
/// shown last.
pub(super) fn of_claude(value: &Value, sink: &mut ImportSink<'_>) -> Option<ReadConversation> {
    let messages = value["chat_messages"].as_array()?;
    let session = value["uuid"].as_str().or_else(|| value["id"].as_str()).map(str::to_owned);
    let at_ms = first_moment(value, &["created_at", "updated_at"]);
    let title = value["name"].as_str().map(str::to_owned);
    let named: HashMap<&str, &Value> =
        messages.iter().filter_map(|message| Some((message["uuid"].as_str()?, message))).collect();
    let find = |id: &str| named.get_key_value(id).map(|(id, message)| (*id, *message));
    let shown = branch(value["current_leaf_message_uuid"].as_str(), find, "parent_message_uuid");
    let shown: Vec<&Value> = match shown.is_empty() {
        true => messages.iter().collect(),
        false => shown.into_iter().map(|(_, message)| message).collect(),
    };
    sink.leave_out_times(BRANCHES, messages.len().saturating_sub(shown.len()));
    let turns = shown.into_iter().flat_map(|message| turns(message, sink)).collect();
    Some(ReadConversation { session, title, at_ms, turns })
}

/// The messages from the first to the one that was shown last, each with its name.
fn branch<'m>(
    shown: Option<&str>,
    find: impl Fn(&str) -> Option<(&'m str, &'m Value)>,
    parent: &str,
) -> Vec<(&'m str, &'m Value)> {
    let (mut branch, mut seen) = (Vec::new(), HashSet::new());
    let mut next = shown.and_then(&find);
    while let Some((id, node)) = next.filter(|(id, _)| seen.insert(*id)) {
        branch.push((id, node));
        next = node[parent].as_str().and_then(&find);
    }
    branch.reverse();
    branch
}

fn turn(node: &str, message: &Value, sink: &mut ImportSink<'_>) -> Option<ReadTurn> {
    let content = &message["content"];
    let kind = content["content_type"].as_str().unwrap_or("text");
    let role = message["author"]["role"].as_str().or_else(|| message["author"].as_str()).unwrap_or_default();
    if message["metadata"]["is_visually_hidden_from_conversation"] == true || kind.ends_with("editable_context") {
        sink.leave_out("hidden messages of the program to the model");
        return None;
    }
    let to_tool = message["recipient"].as_str().is_some_and(|recipient| recipient != "all");
    let id = message["id"].as_str().unwrap_or(node).to_owned();
    let at_ms = first_moment(message, &["create_time", "update_time"]);
    let is_answer = ANSWERS.contains(&kind) || is_tool(role);
    if matches!(kind, "thoughts" | "reasoning_recap") || (to_tool && !is_answer) {
        sink.leave_out(THOUGHTS);
        return None;
    }
    if is_answer {
        let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> =
            parts.iter().filter_map(|part| part.as_str().or_else(|| part["text"].as_str())).collect();
        sink.leave_out_times(FILES, parts.len() - texts.len());
        let text = if texts.is_empty() { answer(content) } else { texts.join("\n") };
        let tool = message["author"]["name"].as_str().map(str::to_owned);
        return Some(ReadTurn { id: Some(id), role: SPEAKER.into(), tool, at_ms, text });
    }
    let mut texts: Vec<&str> = content["text"].as_str().into_iter().collect();
    for part in content["parts"].as_array().into_iter().flatten() {
        match part.as_str().or_else(|| part["text"].as_str()) {
            Some(text) => texts.push(text),
            None => sink.leave_out(FILES),
        }
    }
    texts.retain(|text| !text.trim().is_empty());
    let text = match (kind, texts.is_empty()) {
        // A conversation of pictures.
        (_, true) if role == "user" || role == "assistant" => {
            sink.leave_out("turns without a text");
            return None;
        }
        ("code", _) => format!("```\n{}\n```", texts.join("\n")),
        _ => texts.join("\n\n"),
    };
    Some(ReadTurn { id: Some(id), role: role.to_owned(), tool: None, at_ms, text })
}

/// A message: what tools answered to it, and what was said then.
fn turns(message: &Value, sink: &mut ImportSink<'_>) -> Vec<ReadTurn> {
    let content = &message["content"];
    let (id, at_ms) = (message["uuid"].as_str(), first_moment(message, &["created_at", "updated_at"]));
    let mut turns = Vec::new();
    for part in content.as_array().into_iter().flatten() {
        match part["type"].as_str() {
            None | Some("text") => {}
            Some("tool_result") => {
                let id = id.map(|id| format!("{id}#answer-{}", turns.len() + 1));
                let (tool, text) = (part["name"].as_str().map(str::to_owned), answer(&part["content"]));
                turns.push(ReadTurn { id, role: SPEAKER.into(), tool, at_ms, text });
            }
            Some(_) => sink.leave_out(THOUGHTS),
        }
    }
    let mut text = text_of(content, &["text"]);
    let has_other_parts = content.as_array().is_some_and(|parts| parts.iter().any(|part| part["type"] != "text"));
    if text.trim().is_empty() && !has_other_parts {
        text = message["text"].as_str().unwrap_or_default().to_owned();
    }
    for list in ["attachments", "files", "files_v2"] {
        sink.leave_out_times(FILES, message[list].as_array().map_or(0, Vec::len));
    }
    let role = match message["sender"].as_str().or_else(|| message["role"].as_str()).unwrap_or_default() {
        "human" => "user",
        role => role,
    };
    // One that only asked, or was answered, says nothing itself.
    if !text.trim().is_empty() || !has_other_parts {
        turns.push(ReadTurn { id: id.map(str::to_owned), role: role.to_owned(), tool: None, at_ms, text });
    }
    turns
}
#[cfg(test)]
mod tests {
    use std::io;
    use std::ops::ControlFlow;

    use serde_json::json;

    use super::*;

    #[test]
    fn of_what_a_tool_answered_the_first_line_that_says_something_is_kept() {
        let line = |text: &str| first_line(Some("Bash"), text);
        assert_eq!(line("oven.rs\nmain.rs\n"), Some(("Bash: oven.rs …".into(), true)));
        assert_eq!(line("\n{\n  \"rows\": 3\n}\n"), Some(("Bash: \"rows\": 3".into(), false)));
        assert_eq!(line("---\n\n"), None);
        let (long, more) = first_line(None, &"東".repeat(5000)).unwrap();
        assert_eq!((long, more), (format!("{} …", "東".repeat(MAX_LINE_CHARS)), true));
        assert_eq!(first_line(Some(" a\nb "), "x").unwrap().0, "a b: x");
    }

    #[test]
    fn an_answer_is_read_in_the_shapes_that_programs_write() {
        for value in [
            json!("ok"),
            json!([{"type": "text", "text": "ok"}, {"type": "image", "source": {}}]),
            json!({"output": "ok", "metadata": {"exit_code": 0}}),
            json!("{\"output\":\"ok\",\"metadata\":{\"exit_code\":0}}"),
            json!({"stdout": "", "stderr": "ok", "exit_code": 1}),
            json!({"result": {"content": [{"type": "text", "text": "ok"}]}}),
        ] {
            assert_eq!(answer(&value), "ok", "{value}");
        }
        assert_eq!((answer(&json!("{not json")), answer(&json!(null))), ("{not json".into(), String::new()));
        let deep = (0..100).fold(json!("deep"), |inner, _| json!({ "result": inner }));
        assert_eq!(answer(&deep), "");
        assert_eq!(answer(&json!("東\n".repeat(1 << 20))).len(), MAX_ANSWER_BYTES / 4 * 4);
        assert!(is_tool("toolResult") && is_tool(" TOOL ") && !is_tool("system") && !is_tool("tool_use"));
    }

    #[test]
    fn times_are_read_in_every_unit_and_as_text() {
        let at = 1_700_000_000_000;
        for value in [
            json!(1_700_000_000),
            json!(1_700_000_000.0),
            json!(1_700_000_000_000_i64),
            json!(1_700_000_000_000_000_i64),
            json!(1_700_000_000_000_000_000_i64),
            json!("1700000000"),
            json!("2023-11-14T22:13:20Z"),
            json!("2023-11-14T23:13:20+01:00"),
            json!("2023-11-14 22:13:20 UTC"),
            json!("2023-11-14T22:13:20"),
        ] {
            assert_eq!(moment(&value), Some(at), "{value}");
        }
        for value in
            [json!(null), json!(-5), json!(0), json!("soon"), json!(1e300), json!("1969-01-01T00:00:00Z"), json!([])]
        {
            assert_eq!(moment(&value), None, "{value}");
        }
        assert_eq!(written(at).as_deref(), Some("2023-11-14T22:13:20Z"));
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
