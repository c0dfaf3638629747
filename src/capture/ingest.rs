//! Turns of a conversation as other programs hand them over, as events.

use std::collections::HashMap;

use serde_json::{Value, json};

use crate::clock::{Edge, moment};
use crate::derive::turns_without_machinery;
use crate::request::{RequestError, rfc3339};
use crate::wire::{IngestTurn, TurnsParams};

/// Maximum number of turns that are taken at a time: each is two events.
const MAX_TURNS: usize = super::check::MAX_EVENTS / 2;

/// The events of turns, in their order, without what programs put into them. The same turn of the same conversation has the same id, however often it is sent and with whatever
/// before it.
///
/// # Errors
/// When a date is none, or there are too many.
pub(crate) fn events(params: &TurnsParams, now: jiff::Timestamp) -> Result<Value, RequestError> {
    if params.turns.len() > MAX_TURNS {
        return Err(RequestError::invalid(format!("`turns` has {} turns; it takes {MAX_TURNS}", params.turns.len())));
    }
    let session = format!("{}/{}", params.agent_id.trim(), params.conversation_id.trim());
    let mut times: HashMap<String, usize> = HashMap::new();
    let mut events = Vec::new();
    let spoken = params.turns.iter().flat_map(|turn| [("user", turn.user.as_str()), ("assistant", &turn.assistant)]);
    let spoken = turns_without_machinery(&spoken.collect::<Vec<_>>());
    for (turn, texts) in params.turns.iter().zip(spoken.chunks(2)) {
        let time = time(turn, params, now)?;
        let said = blake3::hash(json!([turn.user, turn.assistant, turn.date]).to_string().as_bytes()).to_hex()[..32]
            .to_owned();
        let nth = times.entry(said.clone()).or_default();
        *nth += 1;
        for (role, text) in ["user", "assistant"].into_iter().zip(texts) {
            if text.trim().is_empty() {
                continue;
            }
            let mut event = json!({ "type": "message", "session": session, "role": role, "text": text, "id": format!("{said}-{nth}-{role}") });
            if params.skip_extraction == Some(true) {
                event["skip_extraction"] = true.into();
            }
            if let Some(time) = &time {
                event["time"] = time.as_str().into();
            }
            events.push(event);
        }
    }
    Ok(Value::Array(events))
}

fn time(turn: &IngestTurn, params: &TurnsParams, now: jiff::Timestamp) -> Result<Option<String>, RequestError> {
    let Some(date) = turn.date.as_ref().or(params.session_date.as_ref()).filter(|date| !date.trim().is_empty()) else {
        return Ok(None);
    };
    let invalid = || RequestError::invalid(format!("`date` is `{date}`; it takes 2026-01-05 or 2026-01-05T10:00:00Z"));
    moment(date, Edge::Start, now).map(|ms| Some(rfc3339(ms))).ok_or_else(invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_turn_has_one_name_however_often_it_is_sent() {
        let turn =
            |user: &str, assistant: &str| IngestTurn { user: user.into(), assistant: assistant.into(), date: None };
        let of = |turns: Vec<IngestTurn>| {
            let params =
                TurnsParams { agent_id: "a".into(), conversation_id: "c".into(), turns, ..TurnsParams::default() };
            let events = events(&params, jiff::Timestamp::UNIX_EPOCH).unwrap();
            events.as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
        };
        let (one, two) = (turn("hi", "hello"), turn("yes", ""));
        let all = of(vec![one.clone(), two.clone(), two.clone()]);
        assert_eq!((all.len(), &of(vec![one.clone()])[..], &of(vec![two.clone()])[..]), (4, &all[..2], &all[2..3]));
        assert_ne!(all[2], all[3], "who says yes twice has said it twice");
    }
    #[test]
    fn what_programs_put_into_turns_is_not_taken() {
        let turns = vec![
            IngestTurn {
                user: "<relevant-memories>\nLikes rum\n</relevant-memories>\nIs my wombat okay?".into(),
                assistant: "<think>secret</think>Your  wombat is fine.".into(),
                date: None,
            },
            IngestTurn { user: "As  it\n\n is ".into(), assistant: "<think>all of it".into(), date: None },
            IngestTurn { user: String::new(), assistant: "and more of it".into(), date: None },
            IngestTurn { user: String::new(), assistant: "to its end</think>Sure".into(), date: None },
        ];
        let params = TurnsParams { agent_id: "a".into(), conversation_id: "c".into(), turns, ..TurnsParams::default() };
        let events = events(&params, jiff::Timestamp::UNIX_EPOCH).unwrap();
        let texts: Vec<&str> = events.as_array().unwrap().iter().map(|event| event["text"].as_str().unwrap()).collect();
        assert_eq!(texts, ["Is my wombat okay?", "Your  wombat is fine.", "As  it\n\n is ", "Sure"]);
    }
}
