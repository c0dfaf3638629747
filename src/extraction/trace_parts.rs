//! What an agent's traces say, in parts that a model reads one at a time: what was asked and answered, thought and failed, and never what
//! tools gave or a prompt held.

use std::ops::Range;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::derive::extraction::{SpokenTurn, read_turns};
use crate::derive::token_estimate;
use crate::note::turn_block;
use crate::state::Digest;

/// Maximum tokens of a part, by our own estimate: what is sent of a question.
const MOST_TOKENS: usize = 5_000;
/// Maximum number of events of a part.
const MOST_EVENTS: usize = 500;

/// A part of the events of a file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TracePart {
    /// What was said, as turns of a conversation.
    text: String,
    /// Which event each of its lines is of: its lines, from 1, and its id.
    lines: Vec<(Range<usize>, String)>,
    /// So many events, with those that say nothing.
    pub(super) events: u64,
    /// The day of the first.
    pub(super) date: Option<String>,
    next_line: usize,
    tokens: usize,
}

impl TracePart {
    /// Tells the same again.
    pub(super) fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.events.to_le_bytes()).update(self.text.as_bytes());
        self.lines.iter().for_each(|(_, id)| _ = hasher.update(id.as_bytes()).update(b"\n"));
        hasher.finalize_xof().fill(&mut digest);
        digest
    }

    /// Its turns; `names` are the person's.
    pub(super) fn turns(&self, names: &[String]) -> Vec<SpokenTurn> {
        read_turns(&self.text, names)
    }

    /// The events that some of its lines are of.
    pub(super) fn evidence(&self, (first, last): (usize, usize)) -> Vec<String> {
        let meets = |lines: &Range<usize>| lines.start <= last && first < lines.end;
        self.lines.iter().filter(|(lines, _)| meets(lines)).map(|(_, id)| id.clone()).collect()
    }

    fn is_full(&self, tokens: usize) -> bool {
        self.events > 0 && (self.tokens + tokens > MOST_TOKENS || self.events as usize >= MOST_EVENTS)
    }
}

/// Puts events into parts, one after the other: what comes later changes the last part alone.
#[derive(Debug, Default)]
pub(super) struct TraceParts(pub(super) Vec<TracePart>);

impl TraceParts {
    pub(super) fn add(&mut self, event: &Value) {
        let said = said(event);
        let at = event["created_at"].as_f64().and_then(|at| Timestamp::from_millisecond((at * 1e3) as i64).ok());
        let at = at.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::system());
        let block = said.map(|(who, text)| turn_block(who, text, &at, at.date()) + "\n");
        let tokens = block.as_deref().map_or(0, token_estimate);
        if self.0.last().is_none_or(|part| part.is_full(tokens)) {
            self.0.push(TracePart { date: Some(at.date().to_string()), next_line: 1, ..TracePart::default() });
        }
        let Some(part) = self.0.last_mut() else { return };
        part.events += 1;
        let (Some(block), Some(id)) = (block, event["id"].as_str()) else { return };
        let lines = block.lines().count();
        part.lines.push((part.next_line..part.next_line + lines, id.to_owned()));
        part.next_line += lines;
        part.tokens += tokens;
        part.text.push_str(&block);
    }
}

/// Who says what in an event. What tools gave is anybody's, and what was sent to a model holds what was recalled.
fn said(event: &Value) -> Option<(&'static str, &str)> {
    let payload = &event["payload"];
    let (who, field) = match event["kind"].as_str()? {
        "message_in" => ("user", "text"),
        "message_out" => ("assistant", "content"),
        "reasoning" => ("assistant", "text"),
        "error" => ("assistant", "message"),
        _ => return None,
    };
    payload[field].as_str().filter(|text| !text.trim().is_empty()).map(|text| (who, text))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn event(id: &str, kind: &str, payload: Value) -> Value {
        json!({ "id": id, "kind": kind, "created_at": 1_772_447_400.0, "payload": payload })
    }

    #[test]
    fn what_was_said_is_told_with_its_events() {
        let mut parts = TraceParts::default();
        for event in [
            event("a", "message_in", json!({ "text": "I like tea.\nAnd soup." })),
            event("b", "tool_result", json!({ "tool": "x", "result": "I like poison." })),
            event("c", "llm_call", json!({ "messages": [{ "content": "recalled" }] })),
            event("d", "message_out", json!({ "content": "Noted." })),
        ] {
            parts.add(&event);
        }
        let [part] = &parts.0[..] else { panic!("{parts:?}") };
        let turns = part.turns(&[]);
        let lines: Vec<(usize, &str)> =
            turns.iter().flat_map(|turn| &turn.lines).map(|line| (line.number, line.text.as_str())).collect();
        assert_eq!(lines, [(2, "I like tea."), (3, "And soup."), (4, "Noted.")]);
        assert_eq!((part.evidence((2, 2)), part.evidence((3, 4))), (vec!["a".into()], vec!["a".into(), "d".into()]));
        assert_eq!((part.events, part.evidence((9, 9)).len()), (4, 0));
    }

    #[test]
    fn what_comes_later_changes_the_last_part_alone() {
        let parts = |count: usize| {
            let mut parts = TraceParts::default();
            for at in 0..count {
                let text = format!("This is what I said as number {at}, and some more words of it.");
                parts.add(&event(&format!("e{at}"), "message_in", json!({ "text": text })));
            }
            parts.0
        };
        let (some, more) = (parts(1200), parts(1201));
        assert!(some.len() > 2 && more.len() == some.len(), "{}", some.len());
        let last = some.len() - 1;
        assert_eq!(some[..last], more[..last]);
        assert_ne!(some[last].digest(), more[last].digest());
        assert!(some.iter().all(|part| part.tokens <= MOST_TOKENS && part.events <= MOST_EVENTS as u64));
    }
}
