//! Chat models: messages to an answer, and what searches have of it.
//!
//! `model` is what every provider offers, `endpoint` asks an OpenAI-compatible service. Over any of them `rerank` has chunks judged.
//! Texts go to the model as data, within a [fence](crate::base::fence), and nothing of what it answers is believed that
//! has not the form that was asked for. What was taken is remembered for whoever asked (`models/asker.rs`).

mod endpoint;
mod model;
mod rerank;

pub use endpoint::{ChatOptions, EndpointChat};
pub use model::{ChatModel, ChatReply, ChatRequest, ChatUsage};
pub(crate) use rerank::{ChatReranker, MOST_RERANKED, Reranker};
