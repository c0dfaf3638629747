//! Embeddings from an OpenAI-compatible endpoint: OpenAI, Ollama, llama-server, LM Studio and others.
//!
//! What happens to texts: `embedder` puts the prefixes before them, `calls` sees to time limits and to the breaker, `client` sends one
//! request and says what its failure means, and `answer` believes nothing of what comes back. `canary` tells whether the model behind
//! the name is still the one that made the vectors that are kept. Chat models are asked by the same `calls`.
//!
//! Nothing is sent anywhere but to the address that the person wrote: no redirect is followed, and no proxy of the environment is used.

mod address;
mod answer;
mod calls;
mod canary;
mod client;
mod embedder;
mod upstream;

pub(super) use address::{CHAT, EndpointService, MEMORY, is_loopback};
pub(super) use answer::{BadAnswer, read_answer};
pub(super) use calls::{EndpointCalls, Patience};
pub(super) use client::EndpointClient;
pub use embedder::{EndpointEmbedder, EndpointOptions};
pub(crate) use upstream::{UpstreamAnswer, UpstreamClient, UpstreamError};
