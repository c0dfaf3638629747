//! What can be wrong with the stores of an engine.

use std::fmt;

use crate::models::ContentHash;

/// What is wrong with a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Damage {
    /// The catalog, of which all else is made, for the reason given.
    Catalog(String),
    /// The words, for the reason given.
    Words(String),
    /// The saved graph of the vectors, for the reason given.
    Graph(String),
    /// Embeddings.
    Embeddings(Vec<EmbeddingId>),
}

/// Names a stored embedding, in whatever engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct EmbeddingId {
    /// The [number](crate::models::Fingerprint::number) of the model that made it.
    pub(crate) model: i64,
    /// The text that it was made of.
    pub(crate) content: ContentHash,
}

impl Damage {
    /// Whether the stores have to be closed to be mended.
    pub(crate) fn closes(&self) -> bool {
        matches!(self, Self::Catalog(_) | Self::Words(_))
    }
}

impl fmt::Display for Damage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Catalog(reason) => write!(f, "{reason}. It is built anew from the notes"),
            Self::Words(reason) => write!(f, "{reason}. It is built anew from the catalog"),
            Self::Graph(reason) => f.write_str(reason),
            Self::Embeddings(ids) => write!(f, "{} stored embeddings are damaged, and are made anew", ids.len()),
        }
    }
}
