//! The help that other models give to a request's searches.

use std::time::{Duration, Instant};

use super::ReadScope;
use crate::access::Scope;
use crate::config::{Rerank, SearchConfig};
use crate::engine::FileEntry;
use crate::models::Reranker;
use crate::search::{AskedOnce, Assistant, MaySend, Unassisted, Visible};

/// What an answer says that another model should have helped with, and did not.
pub(crate) const ORDER_KEPT: &str = "not put in order anew";
pub(crate) const AS_TYPED: &str = "searched for what was typed alone";

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
        let help = self.workspace.chat();
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
        let parts = || self.workspace.chat().parts();
        let reranker = match config.rerank {
            Rerank::Off => None,
            Rerank::Chat => Some(parts().map(|parts| &parts.reranker as &dyn Reranker)),
            Rerank::Model => Some(self.workspace.reranker().get()),
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
                Some(format!(
                    "{count} {is} not sent to the chat model, being private or just changed, and {keep} place"
                ))
            }
        }
    }
}
