//! The model that the configuration names.

use std::path::Path;

use crate::config::EmbedConfig;
use crate::sync::LoadModel;

/// How to load the model of `[embed]`; `None` where it is "none".
pub(super) fn loader(config: &EmbedConfig, root: &Path) -> Option<LoadModel> {
    (config.model != "none").then(|| gguf(config, root))
}

#[cfg(feature = "gguf")]
fn gguf(config: &EmbedConfig, root: &Path) -> LoadModel {
    use std::sync::Arc;

    use crate::config::Pooling;
    use crate::models::{self, Embedder, GgufEmbedder, GgufOptions, ModelSource};

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
            Pooling::Auto => None,
            Pooling::Mean => Some(models::Pooling::Mean),
            Pooling::Cls => Some(models::Pooling::Cls),
            Pooling::Last => Some(models::Pooling::Last),
        },
        max_tokens: config.max_tokens,
        ..GgufOptions::new(cache)
    };
    Box::new(move || Ok(Arc::new(GgufEmbedder::open(&source, &options)?) as Arc<dyn Embedder>))
}

#[cfg(not(feature = "gguf"))]
fn gguf(_: &EmbedConfig, _: &Path) -> LoadModel {
    Box::new(|| Err(crate::models::EmbedError::NoModels))
}
