//! The chat model of a vault, and what it does for searches.

use std::sync::Arc;
use std::time::Duration;

use crate::config::ChatConfig;
use crate::models::{ChatExpander, ChatModel, ChatReranker, open_chat};

const NO_MODEL: &str = "`chat.endpoint` in memory.toml names no model";

/// The chat model of a vault, and what it does for searches.
pub struct ChatHelp {
    parts: Option<Result<ChatParts, String>>,
    /// How long a search waits for all that it asks.
    pub(super) timeout: Duration,
}

/// What is made of it.
pub(super) struct ChatParts {
    model: Arc<dyn ChatModel>,
    pub(super) reranker: ChatReranker,
    pub(super) expander: ChatExpander,
}

impl ChatHelp {
    /// As the configuration has it. Nothing is asked yet.
    pub(super) fn of(config: &ChatConfig) -> Self {
        let parts = open_chat(config).map(|opened| match opened {
            Ok(model) => Ok(ChatParts {
                reranker: ChatReranker::new(Arc::clone(&model)),
                expander: ChatExpander::new(Arc::clone(&model)),
                model,
            }),
            Err(error) => Err(error.to_string()),
        });
        Self { parts, timeout: Duration::from_millis(config.search_timeout_ms) }
    }

    /// The model, or why it cannot be asked; `None` where the configuration names none.
    pub(crate) fn model(&self) -> Option<Result<&dyn ChatModel, &str>> {
        Some(match self.parts.as_ref()? {
            Ok(parts) => Ok(parts.model.as_ref()),
            Err(reason) => Err(reason),
        })
    }

    /// Whether it may be given private notes.
    pub(super) fn takes_private(&self) -> bool {
        self.parts().is_ok_and(|parts| parts.model.takes_private())
    }

    /// What helps a search, or why nothing does.
    pub(super) fn parts(&self) -> Result<&ChatParts, String> {
        match &self.parts {
            Some(Ok(parts)) => Ok(parts),
            Some(Err(reason)) => Err(reason.clone()),
            None => Err(NO_MODEL.into()),
        }
    }
}
