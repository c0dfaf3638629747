//! Every model behind one door, `open`: today text to unit-length embeddings.
//!
//! An [`Embedder`] turns queries and [`Document`]s into vectors whose dot product is their cosine. [`GgufEmbedder`] does
//! it with a local GGUF model through llama.cpp: the bundled all-MiniLM-L6-v2 or any other embedding model on disk.
//! [`EndpointEmbedder`] asks an OpenAI-compatible service, if the configuration names one. [`HashEmbedder`] needs no model and is for
//! tests.
//!
//! Some models give a vector for each token, too: [`TokenEmbedder`].
//!
//! Every vector belongs to a [`Fingerprint`], which says what made it; vectors of different fingerprints are never
//! compared. A [`ContentHash`] names the text that was embedded; with the fingerprint it names a vector, so that what was
//! embedded once is never embedded again.
//!
//! Everything here blocks. Async callers call it from a blocking thread.

mod breaker;
mod calibration;
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
mod known;
mod model_file;
mod open;
mod query_cache;
mod token_vectors;
mod unit;

pub(crate) use calibration::Calibration;
pub(crate) use claim::ModelClaim;
pub use document::Document;
pub(crate) use download::download;
pub use embedder::{Embedder, ModelError, ModelErrorKind, ModelTrouble, TokenEmbedder};
pub use endpoint::{EndpointEmbedder, EndpointOptions};
pub(crate) use fingerprint::ContentHash;
pub use fingerprint::Fingerprint;
pub(crate) use folders::{model_file, models_folder};
#[cfg(feature = "gguf")]
pub(crate) use gguf::read_model_file;
#[cfg(feature = "gguf")]
pub use gguf::{GgufEmbedder, GgufOptions, ModelSource, Pooling};
pub use hashed::HashEmbedder;
pub(crate) use known::{KNOWN_MODELS, KnownModel};
pub(crate) use model_file::ModelFile;
#[cfg(not(feature = "gguf"))]
pub(crate) use open::read_model_file;
pub(crate) use open::{LoadEmbedder, open};
pub use token_vectors::TokenVectors;
