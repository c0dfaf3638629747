//! The one door to every model: what the configuration names, opened.

use std::path::Path;
use std::sync::Arc;

use super::{Embedder, ModelError};
use crate::config::EmbedConfig;

/// Loads an embedder; called once, on a thread of its own, as it takes its time.
pub(crate) type LoadEmbedder = Box<dyn FnOnce() -> Result<Arc<dyn Embedder>, ModelError> + Send>;

/// How to load the embedder of `[embed]`; `None` where it is "none". `root` is the vault's folder, from which paths count.
pub(crate) fn open(config: &EmbedConfig, root: &Path) -> Option<LoadEmbedder> {
    (config.model != "none").then(|| gguf(config, root))
}

#[cfg(feature = "gguf")]
fn gguf(config: &EmbedConfig, root: &Path) -> LoadEmbedder {
    use super::{GgufEmbedder, GgufOptions, ModelSource};
    use crate::config::PoolingChoice;

    let source = match config.model.as_str() {
        "bundled" => ModelSource::Bundled,
        path => ModelSource::File(root.join(path)),
    };
    let cache = directories::ProjectDirs::from("", "", "memory-vault")
        .map_or_else(std::env::temp_dir, |dirs| dirs.cache_dir().to_owned());
    let options = GgufOptions {
        threads: config.threads,
        query_prefix: config.query_prefix.clone(),
        document_prefix: config.document_prefix.clone(),
        pooling: match config.pooling {
            PoolingChoice::Auto => None,
            PoolingChoice::Mean => Some(super::Pooling::Mean),
            PoolingChoice::Cls => Some(super::Pooling::Cls),
            PoolingChoice::Last => Some(super::Pooling::Last),
        },
        max_tokens: config.max_tokens,
        ..GgufOptions::new(cache)
    };
    Box::new(move || Ok(Arc::new(GgufEmbedder::open(&source, &options)?) as Arc<dyn Embedder>))
}

#[cfg(not(feature = "gguf"))]
fn gguf(_: &EmbedConfig, _: &Path) -> LoadEmbedder {
    Box::new(|| Err(ModelError::NoModels))
}
