//! What every provider of embeddings offers, and how it fails.

use std::io;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use super::{Document, Fingerprint, TokenVectors};

/// Turns text into vectors of length 1, whose dot product is their cosine.
pub trait Embedder: Send + Sync {
    /// Identifies everything that shapes a vector: model file, pooling, prefixes, limits.
    fn fingerprint(&self) -> &Fingerprint;

    /// Names the model for people.
    fn name(&self) -> &str;

    /// Returns the length of every vector.
    fn dimension(&self) -> usize;

    /// Embeds what a person or an agent searches for. A query goes before any documents that are waiting. With a deadline, the
    /// answer is given up then.
    ///
    /// # Errors
    /// When the model fails on it, is stopped, or the time is over.
    fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError>;

    /// Embeds chunks and returns their vectors in the same order.
    ///
    /// An empty document has a vector too: that of an empty text.
    ///
    /// # Errors
    /// As [`Embedder::embed_query`].
    fn embed_documents(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError>;

    /// Whether the model learned a word as one piece, so that it is one, and no slip of the finger. `false` where that is not known.
    fn has_word(&self, _word: &str) -> bool {
        false
    }

    /// The vectors of single tokens, for late interaction; `None` of a model that has none to offer.
    fn tokens(&self) -> Option<&dyn TokenEmbedder> {
        None
    }

    /// Makes calls under way, and all later ones, return [`ModelError::Stopped`] soon, so that a program can end in the
    /// middle of a bulk import.
    fn stop(&self) {}

    /// Whether it may be given private notes: not where they would leave this machine.
    fn takes_private(&self) -> bool {
        true
    }

    /// How many texts it wants to be given at a time; `None` where whoever asks knows better.
    fn batch_size(&self) -> Option<usize> {
        None
    }

    /// Why it does not answer, be it texts or queries, as far as it knows without being asked.
    fn trouble(&self) -> Option<ModelTrouble> {
        None
    }
}

/// Why a model does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ModelTrouble {
    /// It failed the last time, in a way that may pass.
    Passing(String),
    /// It refused, and is not asked any more.
    Refused(String),
}

/// A model that gives a vector for each token, besides the one of a whole text.
///
/// Such vectors are never kept beyond this process, so that they have no fingerprint of their own.
pub trait TokenEmbedder: Send + Sync {
    /// The tokens of what is searched for.
    ///
    /// # Errors
    /// As [`Embedder::embed_query`].
    fn query_tokens(&self, text: &str, deadline: Instant) -> Result<TokenVectors, ModelError>;

    /// The tokens of chunks, in their order and begun in it; `None` for those that were not ready by the deadline. They go before
    /// documents that are waiting, and what was computed lately is not computed again.
    ///
    /// # Errors
    /// When the model fails on one, or is stopped; not when the time is over.
    fn document_tokens(
        &self,
        documents: &[Document],
        deadline: Instant,
    ) -> Result<Vec<Option<TokenVectors>>, ModelError>;
}

/// Why there is no embedding.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file or folder could not be used.
    #[error("could not {action} {}: {source}", path.display())]
    Io {
        /// What was tried, as a verb: `read`, `write`.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// The model file is not a whole GGUF file.
    #[error("{} is not a usable GGUF model: {reason}", path.display())]
    BadModelFile {
        /// The model file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The file is a model, but not one that gives embeddings.
    #[error("the model {} cannot be used for embedding: {reason}", path.display())]
    UnsuitableModel {
        /// The model file.
        path: PathBuf,
        /// What is missing, and what to do about it.
        reason: String,
    },
    /// An option has a value that this model cannot take.
    #[error("embedding option {option}: {reason}")]
    BadOption {
        /// The option's name.
        option: &'static str,
        /// What it may be.
        reason: String,
    },
    /// The program was built without the `bundled-model` feature.
    #[error(
        "this build carries no model; name a GGUF file in the configuration, or build with the feature bundled-model"
    )]
    NoBundledModel,
    /// The program was built without the `gguf` feature.
    #[error("this build runs no models; build with the feature gguf")]
    NoModels,
    /// llama.cpp refused to start or to compute.
    #[error("llama.cpp could not {action}: {reason}")]
    Llama {
        /// What was tried, as a verb.
        action: &'static str,
        /// What it said.
        reason: String,
        /// Whether it may work another time: it was short of memory or threads, and not at odds with a text.
        may_pass: bool,
    },
    /// The endpoint did not answer as it should.
    #[error("the embedding endpoint {endpoint} {problem}")]
    Endpoint {
        /// Its host.
        endpoint: String,
        /// What it did, as the end of a sentence.
        problem: String,
        /// What is to be done about it.
        kind: ModelErrorKind,
        /// Before that long it is not to be asked again.
        retry_after: Option<Duration>,
    },
    /// A worker panicked; the text that did it gets no vector, later ones do.
    #[error("embedding failed unexpectedly: {0}; please report this")]
    Panicked(String),
    /// It failed on a text again and again in a way that may pass, and not on others.
    #[error("the model fails on this text again and again, and not on others")]
    GivenUp,
    /// The answer was not there in time.
    #[error("the model took too long")]
    TimedOut,
    /// The embedder was stopped before the answer was there.
    #[error("embedding was stopped")]
    Stopped,
}

/// What is to be done about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelErrorKind {
    /// It may work later: a disk was full, memory short, the time over.
    Transient,
    /// It will not work again for the same model and text.
    Permanent,
    /// It will not work for any text until somebody changes something.
    Refused,
    /// Somebody ended it.
    Stopped,
}

impl ModelError {
    /// What is to be done about it.
    pub fn kind(&self) -> ModelErrorKind {
        match self {
            Self::Io { .. } | Self::TimedOut => ModelErrorKind::Transient,
            Self::Stopped => ModelErrorKind::Stopped,
            Self::Llama { may_pass: true, .. } => ModelErrorKind::Transient,
            Self::Endpoint { kind, .. } => *kind,
            Self::BadModelFile { .. }
            | Self::UnsuitableModel { .. }
            | Self::BadOption { .. }
            | Self::NoBundledModel
            | Self::NoModels
            | Self::Llama { .. }
            | Self::GivenUp
            | Self::Panicked(_) => ModelErrorKind::Permanent,
        }
    }

    /// For how long the model is not to be asked again, where it said so.
    pub(crate) fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Endpoint { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}

#[cfg(feature = "gguf")]
impl ModelError {
    pub(super) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}
