//! The help that other models give to a request's searches.

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use super::ReadScope;
use crate::access::rules::Scope;
use crate::base::config::{ChatConfig, Rerank, SearchConfig};
use crate::index::engine::FileEntry;
use crate::index::search::{AskedOnce, Assistant, MaySend, Unassisted, Visible};
use crate::models::{ChatExpander, ChatModel, ChatReranker, ModelError, Reranker, open_chat, open_reranker};

/// What an answer says that another model should have helped with, and did not.
pub(crate) const ORDER_KEPT: &str = "not reranked";
pub(crate) const AS_TYPED: &str = "searched without query expansion";

/// What one request is helped with.
pub(super) struct AssistedRequest {
    until: Instant,
    /// What may be sent to a model on another machine; `None` where all may that is seen.
    open: Option<Visible>,
    asked: AskedOnce,
}

impl ReadScope {
    /// What this request is helped with; `None` where the settings ask for no help. Its time begins now, however often is searched, and is
    /// no more than `most`.
    pub(super) fn assisted(&self, config: &SearchConfig, most: Option<Duration>) -> Option<AssistedRequest> {
        if config.rerank == Rerank::Off && !config.expand {
            return None;
        }
        let help = &self.workspace.chat;
        // What is waited for wants time for the rest, too.
        let left = self.turn.left().map_or(help.timeout, |left| help.timeout.min(left * 3 / 4));
        // A cross-encoder is in this process.
        let leaves = config.rerank == Rerank::Chat && !help.takes_private();
        let open = leaves.then(|| Visible::of(&Scope::Public, self.reader.files()));
        let left = most.map_or(left, |most| left.min(most));
        Some(AssistedRequest { until: Instant::now() + left, open, asked: AskedOnce::default() })
    }

    /// Whether chunks of a file may be sent: of a private note, and of what was made of one or is one by another name, to this machine
    /// alone. What has changed since it was indexed may be private by now; an agent's search is then begun anew without it.
    pub(super) fn may_send(&self, assisted: &AssistedRequest, file: &FileEntry) -> MaySend {
        let is_open = assisted.open.as_ref().is_none_or(|open| open.has(file));
        match self.is_agents() || assisted.open.is_some() {
            true if !self.is_as_indexed(file) && self.is_agents() => MaySend::Hidden,
            true if !self.is_as_indexed(file) => MaySend::No,
            _ if is_open => MaySend::Yes,
            _ => MaySend::No,
        }
    }

    /// Who helps a search.
    pub(super) fn assistant<'a>(
        &'a self,
        assisted: &'a AssistedRequest,
        config: &SearchConfig,
        may_send: &'a dyn Fn(&FileEntry) -> MaySend,
    ) -> Assistant<'a> {
        let parts = || self.workspace.chat.parts();
        let reranker = match config.rerank {
            Rerank::Off => None,
            Rerank::Chat => Some(parts().map(|parts| &parts.reranker as &dyn Reranker)),
            Rerank::Model => Some(self.workspace.reranker.get()),
        };
        Assistant {
            reranker,
            expander: config.expand.then(|| parts().map(|parts| &parts.expander)),
            may_send,
            asker: self.model_asker.clone(),
            asked: &assisted.asked,
            until: assisted.until,
        }
    }

    /// Says what was to be done and was not, to an agent without the names of models and what it is not to know.
    pub(super) fn unassisted(&self, not_done: &Unassisted) -> Option<String> {
        match not_done {
            Unassisted::OrderKept(_) | Unassisted::Hidden(_) if self.is_agents() => Some(ORDER_KEPT.into()),
            Unassisted::AsTyped(_) if self.is_agents() => Some(AS_TYPED.into()),
            Unassisted::Withheld(_) if self.is_agents() => None,
            Unassisted::OrderKept(reason) => Some(format!("{ORDER_KEPT}: {reason}")),
            Unassisted::Hidden(_) => Some(ORDER_KEPT.into()),
            Unassisted::AsTyped(reason) => Some(format!("{AS_TYPED}: {reason}")),
            Unassisted::Withheld(count) => {
                let (is, keep) =
                    if *count == 1 { ("passage was", "keeps its") } else { ("passages were", "keep their") };
                Some(format!("{count} {is} private or just changed, so not sent to the chat model, and {keep} place"))
            }
        }
    }
}

type OpenedReranker = Result<Arc<dyn Reranker>, ModelError>;

/// The cross-encoder, once it is loaded.
pub(super) struct RerankHelp {
    /// `None` where the configuration names none.
    loaded: Option<Arc<OnceLock<OpenedReranker>>>,
}

impl RerankHelp {
    /// Loads what the configuration names, on a thread of its own.
    pub(super) fn of(config: &SearchConfig, root: &Path) -> Self {
        let (file, root) = (config.rerank_model.clone(), root.to_owned());
        if file.is_empty() {
            return Self { loaded: None };
        }
        let loaded = Arc::<OnceLock<OpenedReranker>>::default();
        let place = Arc::clone(&loaded);
        std::thread::spawn(move || {
            let opened = open_reranker(&file, &root);
            if let Err(error) = &opened {
                tracing::warn!("searches keep their order: {error}");
            }
            // Nobody else puts anything there.
            let _ = place.set(opened);
        });
        Self { loaded: Some(loaded) }
    }

    /// The cross-encoder, or why there is none.
    pub(super) fn get(&self) -> Result<&dyn Reranker, String> {
        let Some(loaded) = &self.loaded else {
            return Err("`search.rerank_model` in memory.toml names no file".into());
        };
        match loaded.get() {
            None => Err("the model is loading".into()),
            Some(Ok(reranker)) => Ok(reranker.as_ref()),
            Some(Err(error)) => Err(error.to_string()),
        }
    }
}

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
