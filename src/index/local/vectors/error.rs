//! What can go wrong with vectors and with a saved graph.

use std::path::PathBuf;

use crate::index::engine::EngineError;

/// A vector that cannot be compared with the others.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum VectorError {
    /// A vector of another length: it comes from another model.
    #[error("{what} has {got} dimensions and the index has {expected}; vectors of different models cannot be compared")]
    Dimensions {
        /// Which vector: "the query" or "chunk 17".
        what: String,
        /// The dimensions of the set.
        expected: usize,
        /// The dimensions of the vector.
        got: usize,
    },
    /// A vector that holds an infinity or a NaN.
    #[error("{what} has a vector with a component that is not a finite number; embed it again")]
    NotFinite {
        /// Which vector: "the query" or "chunk 17".
        what: String,
    },
    /// A query of zeros, to which everything would be equally near.
    #[error("the vector of the query has length zero, so distances mean nothing")]
    NoDirection,
}

/// A saved graph that cannot be written or used. A graph is a cache: the answer to any of these is to build it again.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    /// The file could not be read or written.
    #[error("cannot {operation} the saved vector graph {path}: {source}")]
    Io {
        /// What was being done.
        operation: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The file is not what was written.
    #[error("the saved vector graph {path} is damaged ({reason}); it will be built again")]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The file is whole, but made for other vectors, or for vectors most of which are gone.
    #[error("the saved vector graph {path} covers {covered} of {rows} rows as they are now; it will be built again")]
    Stale {
        /// The file.
        path: PathBuf,
        /// How many of its rows are in the set, unchanged.
        covered: usize,
        /// How many rows it was built over.
        rows: usize,
    },
}

impl GraphError {
    /// Whether there is a file and it is not one that was written here.
    pub fn is_damage(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() != std::io::ErrorKind::NotFound,
            Self::Damaged { .. } => true,
            Self::Stale { .. } => false,
        }
    }
}

impl From<VectorError> for EngineError {
    fn from(error: VectorError) -> Self {
        Self::other(error)
    }
}
