//! Embeddings for programs that compare texts themselves.

use crate::models::{Document, ModelError};
use crate::request::{RequestError, Viewer, text};
use crate::wire::{EmbeddedAs, Embedding, Model};

/// Embeds a text of at most 50 KB. Of a longer one than the model reads, the rest does not count.
///
/// # Errors
/// When the text is empty or too long, or no model is ready.
pub(crate) fn embed(viewer: &Viewer, content: &str, kind: EmbeddedAs) -> Result<Embedding, RequestError> {
    let content = text("text", content)?;
    let model = viewer.workspace().shared().embedder().ok_or_else(|| {
        let Model { state, detail, .. } = Model::of(viewer.workspace().shared().progress().model);
        let why = detail.filter(|_| state == "failed").unwrap_or_else(|| format!("the model is {state}"));
        RequestError::unavailable(format!("there is no embedding: {why}"), "`vault status` says how the model is")
    })?;
    let embedded = match kind {
        EmbeddedAs::Query => model.embed_query(&content, viewer.turn().until_when()),
        EmbeddedAs::Document => {
            let document = Document { context: String::new(), text: content, ..Document::default() };
            let one = |mut vectors: Vec<Vec<f32>>| vectors.pop().ok_or(ModelError::Stopped);
            model.embed_documents(&[document], viewer.turn().until_when()).and_then(one)
        }
    };
    let embedding = embedded.map_err(|error| {
        RequestError::unavailable(format!("there is no embedding: {error}"), "try again, or with another text")
    })?;
    Ok(Embedding { dimension: embedding.len(), embedding, model: model.name().to_owned(), kind })
}
