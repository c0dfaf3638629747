//! What an agent's traces say, in parts that a model reads one at a time: what was asked and answered, thought and failed, and never what
//! tools gave or a prompt held.

use std::ops::Range;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::Value;

use crate::derive::token_estimate;
use crate::note::turn_block;

/// Maximum tokens of a part, by our own estimate: what is sent of a question.
const MOST_TOKENS: usize = 5_000;
/// Maximum number of events of a part.
pub(super) const MOST_EVENTS: u64 = 500;

/// A part of the events of a file.
#[derive(Debug, Default)]
pub(super) struct TracePart {
    /// What was said, as turns of a conversation.
    pub(super) text: String,
    /// Which event each of its lines is of: its lines, from 1, and its id.
    lines: Vec<(Range<usize>, String)>,
    /// So many events, with those that say nothing.
    pub(super) events: u64,
    /// The day of the first.
    pub(super) date: Option<String>,
    /// Whether no event follows.
    pub(super) is_last: bool,
}

impl TracePart {
    /// The first of these events, as many as one question holds, and so many at most.
    pub(super) fn next<E>(events: impl Iterator<Item = Result<Value, E>>, most: u64) -> Result<Self, E> {
        let (mut part, mut next_line, mut tokens) = (Self::default(), 1, 0);
        for event in events {
            let event = event?;
            let at = event["created_at"].as_f64().and_then(|at| Timestamp::from_millisecond((at * 1e3) as i64).ok());
            let at = at.unwrap_or(Timestamp::UNIX_EPOCH).to_zoned(TimeZone::system());
            let block = said(&event).map(|(who, text)| turn_block(who, text, &at, at.date()) + "\n");
            tokens += block.as_deref().map_or(0, token_estimate);
            if part.events > 0 && (tokens > MOST_TOKENS || part.events >= most) {
                return Ok(part);
            }
            part.events += 1;
            part.date.get_or_insert_with(|| at.date().to_string());
            if let (Some(block), Some(id)) = (block, event["id"].as_str()) {
                let lines = next_line..next_line + block.lines().count();
                next_line = lines.end;
                part.lines.push((lines, id.to_owned()));
                part.text.push_str(&block);
            }
        }
        Ok(Self { is_last: true, ..part })
    }

    /// The events that some of its lines are of.
    pub(super) fn evidence(&self, (first, last): (usize, usize)) -> Vec<String> {
        let meets = |lines: &Range<usize>| lines.start <= last && first < lines.end;
        self.lines.iter().filter(|(lines, _)| meets(lines)).map(|(_, id)| id.clone()).collect()
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
    use crate::derive::extraction::read_turns;

    fn event(id: &str, kind: &str, payload: Value) -> Value {
        json!({ "id": id, "kind": kind, "created_at": 1_772_447_400.0, "payload": payload })
    }

    fn next(events: &[Value]) -> TracePart {
        TracePart::next(events.iter().cloned().map(Ok::<_, ()>), MOST_EVENTS).unwrap()
    }

    #[test]
    fn what_was_said_is_told_with_its_events() {
        let part = next(&[
            event("a", "message_in", json!({ "text": "I like tea.\nAnd soup." })),
            event("b", "tool_result", json!({ "tool": "x", "result": "I like poison." })),
            event("c", "llm_call", json!({ "messages": [{ "content": "recalled" }] })),
            event("d", "message_out", json!({ "content": "Noted." })),
        ]);
        let turns = read_turns(&part.text, &[]);
        let lines: Vec<(usize, &str)> =
            turns.iter().flat_map(|turn| &turn.lines).map(|line| (line.number, line.text.as_str())).collect();
        assert_eq!(lines, [(2, "I like tea."), (3, "And soup."), (4, "Noted.")]);
        assert_eq!((part.evidence((2, 2)), part.evidence((3, 4))), (vec!["a".into()], vec!["a".into(), "d".into()]));
        assert_eq!((part.events, part.is_last, part.evidence((9, 9)).len()), (4, true, 0));
    }

    #[test]
    fn one_part_follows_the_other_until_all_was_read() {
        let said =
            |at: usize| json!({ "text": format!("This is what I said as number {at}, and some more words of it.") });
        let mut events: Vec<Value> = (0..1200).map(|at| event(&format!("e{at}"), "message_in", said(at))).collect();
        let mut parts = 0;
        while !events.is_empty() {
            let part = next(&events);
            assert!(part.events <= MOST_EVENTS && token_estimate(&part.text) <= MOST_TOKENS + 100);
            events.drain(..part.events as usize);
            assert_eq!(part.is_last, events.is_empty());
            parts += 1;
        }
        assert!(parts > 2, "{parts}");
    }
}
