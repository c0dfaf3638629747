//! Every model behind one door, `open`: text to unit-length embeddings, and messages to an answer.
//!
//! An [`Embedder`] turns queries and [`Document`]s into vectors whose dot product is their cosine. [`GgufEmbedder`] does
//! it with a local GGUF model through llama.cpp: the bundled all-MiniLM-L6-v2 or any other embedding model on disk.
//! [`EndpointEmbedder`] asks an OpenAI-compatible service, if the configuration names one. [`HashEmbedder`] needs no model and is for
//! tests.
//!
//! Some models give a vector for each token, too: [`TokenEmbedder`]. A [`ChatModel`] answers messages; searches have chunks judged by it,
//! and queries said in other words.
//!
//! Every vector belongs to a [`Fingerprint`], which says what made it; vectors of different fingerprints are never
//! compared. A [`ContentHash`] names the text that was embedded; with the fingerprint it names a vector, so that what was
//! embedded once is never embedded again.
//!
//! Everything here blocks. Async callers call it from a blocking thread.

mod asker;
mod breaker;
mod calibration;
mod chat;
mod choice;
mod claim;
mod document;
mod download;
mod embedder;
mod endpoint;
mod fingerprint;
mod folders;
#[cfg(feature = "gguf")]
mod gguf;
mod hashed;
mod in_use;
mod known;
mod model_file;
mod open;
mod packed_tokens;
mod query_cache;
mod space;
#[cfg(test)]
pub(crate) mod tests;
mod token_vectors;
mod unit;

pub use asker::ModelAsker;
pub(crate) use calibration::{Calibration, Sameness};
pub(crate) use chat::{ChatExpander, ChatReranker, MOST_RERANKED, QueryVariants, Reranker};
pub use chat::{ChatModel, ChatOptions, ChatReply, ChatRequest, ChatUsage, EndpointChat};
pub(crate) use choice::{ChosenModel, FormerModel, ModelChoice};
pub(crate) use claim::ModelClaim;
pub use document::Document;
pub(crate) use download::download;
pub use embedder::{EmbeddedText, Embedder, ModelError, ModelErrorKind, ModelTrouble, TokenEmbedder};
pub use endpoint::{BatchClient, EndpointEmbedder, EndpointOptions};
pub(crate) use endpoint::{
    BatchFile, BatchLook, BatchOrigin, MOST_TEXTS, UpstreamAnswer, UpstreamClient, UpstreamError, is_id,
};
pub(crate) use fingerprint::ContentHash;
pub use fingerprint::Fingerprint;
pub(crate) use folders::{model_file, models_folder};
#[cfg(feature = "gguf")]
pub(crate) use gguf::GgufReranker;
#[cfg(all(test, feature = "bundled-model"))]
pub(crate) use gguf::reranker_tests;
#[cfg(feature = "gguf")]
pub use gguf::{GgufEmbedder, GgufOptions, ModelSource, Pooling};
#[cfg(feature = "gguf")]
pub(crate) use gguf::{model_loads, read_model_file};
pub use hashed::HashEmbedder;
pub(crate) use in_use::ModelInUse;
pub(crate) use known::{KNOWN_MODELS, KnownModel, reads_english_alone};
pub(crate) use model_file::ModelFile;
pub(crate) use open::{LoadEmbedder, ModelConfig, open, open_chat, open_memory_chat, open_reranker};
#[cfg(not(feature = "gguf"))]
pub(crate) use open::{model_loads, read_model_file};
pub use packed_tokens::{PackedTokens, TokenQuery};
pub use space::EmbeddingSpace;
pub use token_vectors::TokenVectors;
