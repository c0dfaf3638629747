//! A conversation of Claude's export: a list of messages.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::moments::first_moment;
use super::parts::text_of;
use super::sink::{ImportSink, ReadConversation, ReadTurn};
use super::tools::{SPEAKER, answer};

/// Reads a conversation; `None` where it is none.
pub(super) fn conversation(value: &Value, sink: &mut ImportSink<'_>) -> Option<ReadConversation> {
    let messages = value["chat_messages"].as_array()?;
    let session = value["uuid"].as_str().or_else(|| value["id"].as_str());
    let at_ms = first_moment(value, &["created_at", "updated_at"]);
    let session = session.map(str::to_owned);
    let title = value["name"].as_str().map(str::to_owned);
    let shown = branch(messages, value["current_leaf_message_uuid"].as_str());
    let beside = messages.len().saturating_sub(shown.len());
    sink.leave_out_times("turns of other branches, which were answered anew", beside);
    let turns = shown.into_iter().flat_map(|message| turns(message, sink)).collect();
    Some(ReadConversation { session, title, at_ms, turns })
}

/// All messages, or those up from the one that was shown last, where that is said.
fn branch<'m>(messages: &'m [Value], current: Option<&str>) -> Vec<&'m Value> {
    let named: HashMap<&str, &Value> =
        messages.iter().filter_map(|message| Some((message["uuid"].as_str()?, message))).collect();
    let (mut branch, mut seen) = (Vec::new(), HashSet::new());
    let mut next = current;
    while let Some((id, message)) = next.and_then(|id| named.get_key_value(id)).filter(|(id, _)| seen.insert(**id)) {
        let _ = id;
        branch.push(*message);
        next = message["parent_message_uuid"].as_str();
    }
    branch.reverse();
    if branch.is_empty() { messages.iter().collect() } else { branch }
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
            Some(_) => sink.leave_out("what a model thought, and asked of tools"),
        }
    }
    let mut text = text_of(content, &["text"]);
    let has_other_parts = content.as_array().is_some_and(|parts| parts.iter().any(|part| part["type"] != "text"));
    if text.trim().is_empty() && !has_other_parts {
        text = message["text"].as_str().unwrap_or_default().to_owned();
    }
    for list in ["attachments", "files", "files_v2"] {
        sink.leave_out_times("images, sounds and other files", message[list].as_array().map_or(0, Vec::len));
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
