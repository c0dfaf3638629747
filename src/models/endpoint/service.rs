//! What is asked of endpoints, as addresses and messages name it.

use super::super::ModelError;

/// One of the things that OpenAI-compatible endpoints do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::models) struct EndpointService {
    /// The section of `memory.toml` that it is set in.
    pub(super) section: &'static str,
    /// What it is called in messages.
    pub(super) name: &'static str,
    /// The end of its addresses.
    pub(super) path: &'static str,
    /// What an endpoint does not do that has no such thing.
    pub(super) verb: &'static str,
}

/// Texts to vectors.
pub(in crate::models) const EMBEDDING: EndpointService =
    EndpointService { section: "embed", name: "the embedding endpoint", path: "/embeddings", verb: "embed" };

/// Messages to an answer.
pub(in crate::models) const CHAT: EndpointService =
    EndpointService { section: "chat", name: "the chat endpoint", path: "/chat/completions", verb: "chat" };

/// The same for the memory.
pub(in crate::models) const MEMORY: EndpointService =
    EndpointService { section: "memory", name: "the endpoint of the memory", path: "/chat/completions", verb: "chat" };

/// Messages to an answer, passed on.
pub(in crate::models) const UPSTREAM: EndpointService =
    EndpointService { section: "upstream", name: "the upstream", path: "/chat/completions", verb: "chat" };

impl EndpointService {
    /// An option of its section has a value that cannot be.
    pub(in crate::models) fn bad_option(&self, option: &'static str, reason: String) -> ModelError {
        ModelError::BadOption { section: self.section, option, reason }
    }
}
