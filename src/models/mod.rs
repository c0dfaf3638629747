//! Every model behind one door, `open`: text to unit-length embeddings, and messages to an answer.
//!
//! An [`Embedder`] turns queries and [`Document`]s into vectors whose dot product is their cosine. [`GgufEmbedder`] does
//! it with a local GGUF model through llama.cpp: the bundled all-MiniLM-L6-v2 or any other embedding model on disk.
//! [`EndpointEmbedder`] asks an OpenAI-compatible service, if the configuration names one. [`HashEmbedder`] needs no model and is for
//! tests.
//!
//! A [`ChatModel`] answers messages; searches have chunks judged by it, and queries said in other words.
//!
//! Every vector belongs to a [`Fingerprint`], which says what made it; vectors of different fingerprints are never
//! compared. A [`ContentHash`] names the text that was embedded; with the fingerprint it names a vector, so that what was
//! embedded once is never embedded again.
//!
//! Everything here blocks. Async callers call it from a blocking thread.

mod asker;
mod chat;
mod embedder;
mod endpoint;
mod files;
mod fingerprint;
#[cfg(feature = "gguf")]
mod gguf;
mod hashed;
mod known;
mod open;
#[cfg(test)]
pub(crate) mod tests;
mod token_vectors;

pub use asker::ModelAsker;
pub use chat::{ChatModel, ChatOptions, ChatReply, ChatRequest, ChatUsage, EndpointChat};
pub(crate) use chat::{ChatReranker, MOST_RERANKED, Reranker};
pub use embedder::{Document, EmbeddedText, Embedder, EmbeddingSpace, ModelError, ModelErrorKind, ModelTrouble};
pub use endpoint::EndpointEmbedder;
pub(crate) use endpoint::{UpstreamAnswer, UpstreamClient, UpstreamError};
pub(crate) use files::{download, model_file, models_folder};
pub(crate) use fingerprint::ContentHash;
pub use fingerprint::Fingerprint;
#[cfg(feature = "gguf")]
pub(crate) use gguf::read_model_file;
#[cfg(feature = "gguf")]
pub use gguf::{GgufEmbedder, ModelSource};
pub use hashed::HashEmbedder;
pub(crate) use known::{Calibration, KNOWN_MODELS, KnownModel, ModelFile, reads_english_alone, sameness};
#[cfg(not(feature = "gguf"))]
pub(crate) use open::read_model_file;
pub(crate) use open::{ChosenModel, LoadEmbedder, ModelChoice, ModelInUse, open, open_chat, open_memory_chat};
pub use token_vectors::{PackedTokens, TokenQuery, TokenVectors};
