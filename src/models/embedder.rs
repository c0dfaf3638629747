//! What every provider of embeddings offers and is given, and how it fails.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use half::f16;

use super::{Fingerprint, ModelAsker, PackedTokens, TokenQuery};
use crate::base::fs::FsError;

/// What is kept of a chunk's text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EmbeddedText {
    /// Its vector, of length 1 but for the rounding.
    pub vector: Vec<f16>,
    /// Its tokens; none where the model does not keep those.
    pub tokens: PackedTokens,
}

impl EmbeddedText {
    /// That of a vector alone.
    pub fn of(vector: &[f32]) -> Self {
        Self { vector: vector.iter().copied().map(f16::from_f32).collect(), tokens: PackedTokens::default() }
    }
}

/// Turns text into vectors of length 1, whose dot product is their cosine.
pub trait Embedder: Send + Sync {
    /// Identifies everything that shapes a vector: model file, pooling, prefixes, limits.
    fn fingerprint(&self) -> &Fingerprint;

    /// Names the model for people.
    fn name(&self) -> &str;

    /// Returns the length of every vector.
    fn dimension(&self) -> usize;

    /// Which of the processor's instructions it computes with, where it does so in this process and can choose.
    fn instructions(&self) -> Option<&'static str> {
        None
    }

    /// Embeds what a person or an agent searches for. A query goes before any documents that are waiting. With a deadline, the
    /// answer is given up then. Nothing of it is remembered.
    ///
    /// # Errors
    /// When the model fails on it, is stopped, or the time is over.
    fn embed_query(&self, text: &str, deadline: Option<Instant>) -> Result<Vec<f32>, ModelError>;

    /// The same for a search, which is often made again: what comes of it may be remembered for whoever asked, and for nobody else.
    ///
    /// # Errors
    /// As [`Embedder::embed_query`].
    fn embed_query_of(
        &self,
        _asker: Option<&ModelAsker>,
        text: &str,
        deadline: Option<Instant>,
    ) -> Result<Vec<f32>, ModelError> {
        self.embed_query(text, deadline)
    }

    /// Embeds chunks and returns their vectors in the same order.
    ///
    /// An empty document has a vector too: that of an empty text.
    ///
    /// # Errors
    /// As [`Embedder::embed_query`].
    fn embed_documents(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<Vec<f32>>, ModelError>;

    /// Embeds chunks as [`Embedder::embed_documents`] does, with what is kept of their tokens.
    ///
    /// # Errors
    /// As [`Embedder::embed_query`].
    fn embed(&self, documents: &[Document], deadline: Option<Instant>) -> Result<Vec<EmbeddedText>, ModelError> {
        let vectors = self.embed_documents(documents, deadline)?;
        Ok(vectors.iter().map(|vector| EmbeddedText::of(vector)).collect())
    }

    /// A query's tokens, to be held against those that are kept of chunks; `None` of a model that keeps none. Remembered as by
    /// [`Embedder::embed_query_of`].
    ///
    /// # Errors
    /// As [`Embedder::embed_query`].
    fn token_query(
        &self,
        _asker: Option<&ModelAsker>,
        _text: &str,
        _deadline: Option<Instant>,
    ) -> Result<Option<TokenQuery>, ModelError> {
        Ok(None)
    }

    /// Whether the model learned a word as one piece, so that it is one, and no slip of the finger. `false` where that is not known.
    fn has_word(&self, _word: &str) -> bool {
        false
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

/// Why there is no embedding.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// A file or folder could not be used.
    #[error("could not {} {}: {}", .0.operation, .0.path.display(), .0.source)]
    Fs(#[from] FsError),
    /// The file is no whole GGUF file, or not of a model that gives embeddings.
    #[error("the model {} cannot be used here: {reason}", path.display())]
    UnsuitableModel {
        /// The model file.
        path: PathBuf,
        /// What is missing, and what to do about it.
        reason: String,
    },
    /// An option has a value that this model cannot take.
    #[error("`{section}.{option}`: {reason}")]
    BadOption {
        /// The section of the configuration.
        section: &'static str,
        /// The option's name.
        option: &'static str,
        /// What it may be.
        reason: String,
    },
    /// The program was built without the `bundled-model` feature.
    #[error(
        "this build has no bundled model; name a GGUF file in the configuration, or build with the feature bundled-model"
    )]
    NoBundledModel,
    /// The program was built without the `gguf` feature.
    #[error("this build cannot run models; build with the feature gguf")]
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
    #[error("{service} {endpoint} {problem}")]
    Endpoint {
        /// What it is: `the embedding endpoint`, `the chat endpoint`.
        service: &'static str,
        /// Its host.
        endpoint: String,
        /// What it did, as the end of a sentence.
        problem: String,
        /// What is to be done about it.
        kind: ModelErrorKind,
        /// Before that long it is not to be asked again.
        retry_after: Option<Duration>,
    },
    /// A chat model answered something else than it was asked for.
    #[error("{model} {problem}")]
    NotAsAsked {
        /// The model, for people.
        model: String,
        /// What it did, as the end of a sentence, without its words.
        problem: &'static str,
    },
    /// A worker panicked; the text that did it gets no vector, later ones do.
    #[error("embedding failed unexpectedly: {0}; please report this")]
    Panicked(String),
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
            Self::Fs(_) | Self::TimedOut => ModelErrorKind::Transient,
            Self::Stopped => ModelErrorKind::Stopped,
            Self::Llama { may_pass: true, .. } => ModelErrorKind::Transient,
            Self::Endpoint { kind, .. } => *kind,
            Self::UnsuitableModel { .. }
            | Self::BadOption { .. }
            | Self::NoBundledModel
            | Self::NoModels
            | Self::Llama { .. }
            | Self::NotAsAsked { .. }
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

/// What one chunk gives to the model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Document {
    /// Where the text stands: `title > heading > heading`. May be empty; a model sees at most its first 48 tokens.
    pub context: String,
    /// The chunk's own text.
    pub text: String,
    /// Whether the vectors of its tokens are kept beside its own, by a model that has them.
    pub keeps_tokens: bool,
}

impl Document {
    /// Returns what a model reads: the context, a newline and the text, or the text alone where there is no context.
    pub fn input(&self) -> String {
        if self.context.is_empty() {
            return self.text.clone();
        }
        format!("{}\n{}", self.context, self.text)
    }
}

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
