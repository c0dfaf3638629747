//! Embeddings for programs that compare texts themselves.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What a text is embedded as: models that tell them apart compare a query with documents.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum EmbeddedAs {
    /// What is looked for.
    Query,
    /// What is found.
    #[default]
    Document,
}

/// The embedding of a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
pub(crate) struct Embedding {
    /// The vector, of length 1: the dot product of two is their cosine.
    pub embedding: Vec<f32>,
    /// How many numbers it has.
    pub dimension: usize,
    /// The model that made it.
    pub model: String,
    /// What the text was embedded as.
    pub kind: EmbeddedAs,
}
