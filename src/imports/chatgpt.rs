//! A conversation of ChatGPT's export: a tree of messages, of which the branch counts that was shown last.

use std::collections::HashSet;

use serde_json::{Map, Value};

use super::moments::first_moment;
use super::sink::{ImportSink, ReadConversation, ReadTurn};
use super::tools::{SPEAKER, answer, is_tool};

/// Kinds of content that are answers of tools, whoever they are of.
const ANSWERS: [&str; 4] = ["execution_output", "tether_browsing_display", "tether_quote", "system_error"];

/// Reads a conversation; `None` where it is none.
pub(super) fn conversation(value: &Value, sink: &mut ImportSink<'_>) -> Option<ReadConversation> {
    let mapping = value["mapping"].as_object()?;
    let title = value["title"].as_str().map(str::to_owned);
    let named = ["conversation_id", "id"].iter().find_map(|field| value[*field].as_str());
    let began = first_moment(value, &["create_time", "update_time"]);
    let session = named.map(str::to_owned);
    let branch = branch(mapping, value["current_node"].as_str());
    let beside = mapping.values().filter(|node| node["message"].is_object()).count().saturating_sub(branch.len());
    sink.leave_out_times("turns of other branches, which were answered anew", beside);
    let turns = branch.into_iter().filter_map(|(id, message)| turn(id, message, sink)).collect();
    Some(ReadConversation { session, title, at_ms: began, turns })
}

/// The messages from the first to the one that was shown last.
fn branch<'m>(mapping: &'m Map<String, Value>, current: Option<&str>) -> Vec<(&'m str, &'m Value)> {
    let current = current.filter(|node| mapping.contains_key(*node)).map(str::to_owned).or_else(|| {
        // The last leaf, where it is not said.
        let leaves = mapping.iter().filter(|(_, node)| node["children"].as_array().is_none_or(Vec::is_empty));
        let timed = leaves.map(|(id, node)| (first_moment(&node["message"], &["create_time"]).unwrap_or_default(), id));
        timed.max_by_key(|(at, _)| *at).map(|(_, id)| id.clone())
    });
    let (mut branch, mut seen) = (Vec::new(), HashSet::new());
    let mut next = current.as_deref().and_then(|current| mapping.get_key_value(current));
    while let Some((id, node)) = next.filter(|(id, _)| seen.insert(id.as_str())) {
        if node["message"].is_object() {
            branch.push((id.as_str(), &node["message"]));
        }
        next = node["parent"].as_str().and_then(|parent| mapping.get_key_value(parent));
    }
    branch.reverse();
    branch
}

fn turn(node: &str, message: &Value, sink: &mut ImportSink<'_>) -> Option<ReadTurn> {
    let content = &message["content"];
    let kind = content["content_type"].as_str().unwrap_or("text");
    let role = message["author"]["role"].as_str().or_else(|| message["author"].as_str()).unwrap_or_default();
    if message["metadata"]["is_visually_hidden_from_conversation"] == true || kind.ends_with("editable_context") {
        sink.leave_out("what the program told the model and did not show");
        return None;
    }
    let to_tool = message["recipient"].as_str().is_some_and(|recipient| recipient != "all");
    let id = message["id"].as_str().unwrap_or(node).to_owned();
    let at_ms = first_moment(message, &["create_time", "update_time"]);
    let is_answer = ANSWERS.contains(&kind) || is_tool(role);
    if matches!(kind, "thoughts" | "reasoning_recap") || (to_tool && !is_answer) {
        sink.leave_out("what a model thought, and asked of tools");
        return None;
    }
    if is_answer {
        let parts = content["parts"].as_array().map(Vec::as_slice).unwrap_or_default();
        let texts: Vec<&str> =
            parts.iter().filter_map(|part| part.as_str().or_else(|| part["text"].as_str())).collect();
        sink.leave_out_times("images, sounds and other files", parts.len() - texts.len());
        let text = if texts.is_empty() { answer(content) } else { texts.join("\n") };
        let tool = message["author"]["name"].as_str().map(str::to_owned);
        return Some(ReadTurn { id: Some(id), role: SPEAKER.into(), tool, at_ms, text });
    }
    let mut texts: Vec<&str> = content["text"].as_str().into_iter().collect();
    for part in content["parts"].as_array().into_iter().flatten() {
        match part.as_str().or_else(|| part["text"].as_str()) {
            Some(text) => texts.push(text),
            None => sink.leave_out("images, sounds and other files"),
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
