//! A conversation of Claude's export: a list of messages.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::lines::text_of;
use super::moments::first_moment;
use super::sink::{ImportSink, ReadConversation, ReadTurn};

/// Reads a conversation; `None` where it is none.
pub(super) fn conversation(value: &Value, sink: &mut ImportSink<'_>) -> Option<ReadConversation> {
    let messages = value["chat_messages"].as_array()?;
    let session = value["uuid"].as_str().or_else(|| value["id"].as_str());
    let at_ms = first_moment(value, &["created_at", "updated_at"]);
    // Without a name it is told by its first message.
    let first = || messages.first().and_then(|message| message["uuid"].as_str()).unwrap_or_default();
    let session = session.unwrap_or_else(first).to_owned();
    let title = value["name"].as_str().map(str::to_owned);
    let shown = branch(messages, value["current_leaf_message_uuid"].as_str());
    for _ in shown.len()..messages.len() {
        sink.leave_out("turns of other branches, which were answered anew");
    }
    let turns = shown.into_iter().map(|message| turn(message, sink)).collect();
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

fn turn(message: &Value, sink: &mut ImportSink<'_>) -> ReadTurn {
    let content = &message["content"];
    for part in content.as_array().into_iter().flatten() {
        if part["type"].as_str().is_some_and(|kind| kind != "text") {
            sink.leave_out("what a model thought, asked of tools and was answered by them");
        }
    }
    let mut text = text_of(content, &["text"]);
    if text.trim().is_empty()
        && !content.as_array().is_some_and(|parts| parts.iter().any(|part| part["type"] != "text"))
    {
        text = message["text"].as_str().unwrap_or_default().to_owned();
    }
    for list in ["attachments", "files", "files_v2"] {
        for _ in message[list].as_array().into_iter().flatten() {
            sink.leave_out("images, sounds and other files");
        }
    }
    let role = match message["sender"].as_str().or_else(|| message["role"].as_str()).unwrap_or_default() {
        "human" => "user",
        role => role,
    };
    let at_ms = first_moment(message, &["created_at", "updated_at"]);
    ReadTurn { id: message["uuid"].as_str().map(str::to_owned), role: role.to_owned(), at_ms, text }
}
