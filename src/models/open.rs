//! The one door to every model: what the configuration names, opened.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::{Embedder, EndpointEmbedder, EndpointOptions, ModelError};
use crate::config::EmbedConfig;

/// Loads an embedder; called on a thread of its own, as it takes its time, and again when it failed in a way that may pass.
pub(crate) type LoadEmbedder = Box<dyn FnMut() -> Result<Arc<dyn Embedder>, ModelError> + Send>;

/// How to load the embedder of `[embed]`; `None` where it is "none". `root` is the vault's folder, from which paths count, and
/// `index` the folder of its index.
pub(crate) fn open(config: &EmbedConfig, root: &Path, index: &Path) -> Option<LoadEmbedder> {
    match (config.model.as_str(), config.endpoint.as_str()) {
        ("none", _) => None,
        (_, "") => Some(gguf(config, root)),
        _ => Some(endpoint(config, root, index)),
    }
}

fn endpoint(config: &EmbedConfig, root: &Path, index: &Path) -> LoadEmbedder {
    let options = EndpointOptions {
        endpoint: config.endpoint.clone(),
        model: config.model.clone(),
        api_key_env: config.api_key_env.clone(),
        query_prefix: config.query_prefix.clone(),
        document_prefix: config.document_prefix.clone(),
        batch_size: config.batch_size,
        timeout: Duration::from_millis(config.timeout_ms),
        query_timeout: Duration::from_millis(config.query_timeout_ms),
        send_private: config.send_private,
    };
    let (root, index) = (root.to_owned(), index.to_owned());
    Box::new(move || Ok(Arc::new(EndpointEmbedder::open(options.clone(), &index, &root)?) as Arc<dyn Embedder>))
}

#[cfg(feature = "gguf")]
fn gguf(config: &EmbedConfig, root: &Path) -> LoadEmbedder {
    use super::folders::{cache_folder, model_file};
    use super::{GgufEmbedder, GgufOptions, ModelSource};
    use crate::config::PoolingChoice;

    let source = match config.model.as_str() {
        "bundled" => ModelSource::Bundled,
        path => ModelSource::File(model_file(path, root)),
    };
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
        ..GgufOptions::new(cache_folder())
    };
    Box::new(move || Ok(Arc::new(GgufEmbedder::open(&source, &options)?) as Arc<dyn Embedder>))
}

#[cfg(not(feature = "gguf"))]
fn gguf(_: &EmbedConfig, _: &Path) -> LoadEmbedder {
    Box::new(|| Err(ModelError::NoModels))
}

/// Fails: this build runs no models.
///
/// # Errors
/// Always.
#[cfg(not(feature = "gguf"))]
pub(crate) fn read_model_file(_: &Path) -> Result<super::ModelFile, ModelError> {
    Err(ModelError::NoModels)
}
