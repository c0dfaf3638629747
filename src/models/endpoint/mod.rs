//! Embeddings from an OpenAI-compatible endpoint: OpenAI, Ollama, llama-server, LM Studio and others.
//!
//! What happens to texts: `embedder` puts the prefixes before them, `calls` sees to time limits and to the breaker, `client` sends one
//! request and says what its failure means, and `answer` believes nothing of what comes back. Chat models are asked by the same `calls`.
//!
//! Nothing is sent anywhere but to the address that the person wrote: no redirect is followed, and no proxy of the environment is used.

mod address;
mod answer;
mod calls;
mod client;
mod embedder;
mod upstream;

pub(super) use address::{CHAT, EndpointService, MEMORY, is_loopback};
pub(super) use answer::{BadAnswer, read_answer};
pub(super) use calls::{EndpointCalls, Patience};
pub(super) use client::EndpointClient;
pub use embedder::EndpointEmbedder;
pub(crate) use upstream::{UpstreamAnswer, UpstreamClient, UpstreamError};
