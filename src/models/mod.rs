//! Every model behind one door, `open`: today text to unit-length embeddings.
//!
//! An [`Embedder`] turns queries and [`Document`]s into vectors whose dot product is their cosine. [`GgufEmbedder`] does
//! it with a local GGUF model through llama.cpp: the bundled all-MiniLM-L6-v2 or any other embedding model on disk.
//! [`HashEmbedder`] needs no model and is for tests.
//!
//! Some models give a vector for each token, too: [`TokenEmbedder`].
//!
//! Every vector belongs to a [`Fingerprint`], which says what made it; vectors of different fingerprints are never
//! compared. A [`ContentHash`] names the text that was embedded; with the fingerprint it names a vector, so that what was
//! embedded once is never embedded again.
//!
//! Everything here blocks. Async callers call it from a blocking thread.

mod calibration;
mod document;
mod embedder;
mod fingerprint;
#[cfg(feature = "gguf")]
mod gguf;
mod hashed;
mod open;
mod token_vectors;

pub(crate) use calibration::Calibration;
pub use document::Document;
pub(crate) use embedder::ModelErrorKind;
pub use embedder::{Embedder, ModelError};
pub(crate) use fingerprint::ContentHash;
pub use fingerprint::Fingerprint;
#[cfg(feature = "gguf")]
pub use gguf::{GgufEmbedder, GgufOptions, ModelSource, Pooling};
pub use hashed::HashEmbedder;
pub(crate) use open::{LoadEmbedder, open};
pub use token_vectors::{TokenEmbedder, TokenVectors};
