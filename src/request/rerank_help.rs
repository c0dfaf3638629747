//! The cross-encoder of a vault, which puts the best of a search in order anew.

use std::path::Path;
use std::sync::{Arc, OnceLock};

use crate::config::SearchConfig;
use crate::models::{ModelError, Reranker, open_reranker};

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
            None => Err("the model is being loaded".into()),
            Some(Ok(reranker)) => Ok(reranker.as_ref()),
            Some(Err(error)) => Err(error.to_string()),
        }
    }
}
