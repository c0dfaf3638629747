//! Embeddings for programs that compare texts themselves.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::error::ServiceError;
use super::save::text;
use super::start::Service;
use super::views::Model;
use crate::models::{Document, ModelError};

/// What a text is embedded as: models that tell them apart compare a query with documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum EmbeddedAs {
    /// What is looked for.
    Query,
    /// What is found.
    #[default]
    Document,
}

/// The embedding of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Embedding {
    /// The vector, of length 1: the dot product of two is their cosine.
    pub embedding: Vec<f32>,
    /// How many numbers it has.
    pub dimension: usize,
    /// The model that made it.
    pub model: String,
    /// What the text was embedded as.
    pub kind: EmbeddedAs,
}

impl Service {
    /// Embeds a text of at most 50 KB. Of a longer one than the model reads, the rest does not count.
    ///
    /// # Errors
    /// When the text is empty or too long, or no model is ready.
    pub fn embed(&self, content: &str, kind: EmbeddedAs) -> Result<Embedding, ServiceError> {
        let content = text("text", content)?;
        let model = self.shared.embedder().ok_or_else(|| {
            let Model { state, detail, .. } = Model::of(self.shared.progress().model);
            let why = detail.filter(|_| state == "failed").unwrap_or_else(|| format!("the model is {state}"));
            ServiceError::unavailable(format!("there is no embedding: {why}"), "`vault status` says how the model is")
        })?;
        let embedded = match kind {
            EmbeddedAs::Query => model.embed_query(&content, None),
            EmbeddedAs::Document => {
                let document = Document { context: String::new(), text: content };
                let one = |mut vectors: Vec<Vec<f32>>| vectors.pop().ok_or(ModelError::Stopped);
                model.embed_documents(&[document], None).and_then(one)
            }
        };
        let embedding = embedded.map_err(|error| {
            ServiceError::unavailable(format!("there is no embedding: {error}"), "try again, or with another text")
        })?;
        Ok(Embedding { dimension: embedding.len(), embedding, model: model.name().to_owned(), kind })
    }
}
