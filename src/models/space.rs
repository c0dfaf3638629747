//! What vectors have in common that may be compared.

use super::{Embedder, Fingerprint};

/// The embedding space of a model, as whoever keeps its vectors needs to know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingSpace {
    /// What makes its vectors.
    pub fingerprint: Fingerprint,
    /// The length of each.
    pub dimension: usize,
    /// Whether the model is given private notes.
    pub takes_private: bool,
}

impl EmbeddingSpace {
    /// The space of a model.
    pub fn of(embedder: &dyn Embedder) -> Self {
        let (fingerprint, dimension) = (embedder.fingerprint().clone(), embedder.dimension());
        Self { fingerprint, dimension, takes_private: embedder.takes_private() }
    }
}
