//! The exports of ChatGPT and Claude: conversations that are trees of messages, of which the branch counts that was shown last.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::kinds::FILES;
use super::messages::{SPEAKER, THOUGHTS, answer, first_moment, is_tool, text_of};
use super::sink::{ImportSink, ReadConversation, ReadTurn};

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
