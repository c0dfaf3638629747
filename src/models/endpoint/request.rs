//! What is sent to have texts embedded.

use serde::Serialize;

use super::super::Document;

/// As OpenAI has it.
#[derive(Serialize)]
pub(super) struct EmbeddingRequest {
    model: String,
    pub(super) input: Vec<String>,
    encoding_format: &'static str,
}

impl EmbeddingRequest {
    pub(super) fn new(model: &str, input: Vec<String>) -> Self {
        Self { model: model.to_owned(), input, encoding_format: "float" }
    }
}

/// A document as it is sent.
pub(super) fn sent(prefix: &str, document: &Document) -> String {
    sendable(format!("{prefix}{}", document.input()))
}

/// OpenAI refuses a request of many texts for one that is empty.
pub(super) fn sendable(text: String) -> String {
    if text.trim().is_empty() { "-".into() } else { text }
}
