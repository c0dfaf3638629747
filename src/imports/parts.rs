//! The parts of a message, as all programs write them that talk to a model: a text, or a list of texts, images and calls of tools.

use serde_json::Value;

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
