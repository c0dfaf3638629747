//! The one door to every model: what the configuration names, opened.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{ChatModel, ChatOptions, Embedder, EndpointChat, EndpointEmbedder, EndpointOptions, ModelError, Reranker};
use crate::base::config::{ChatConfig, Config, EmbedConfig, MemoryConfig};

/// Loads an embedder; called on a thread of its own, as it takes its time, and again when it failed in a way that may pass.
pub(crate) type LoadEmbedder = Box<dyn FnMut() -> Result<Arc<dyn Embedder>, ModelError> + Send>;

/// How a model is opened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ModelConfig {
    /// `[embed]`.
    pub(crate) embed: EmbedConfig,
}

impl ModelConfig {
    /// What a vault's configuration says.
    pub(crate) fn of(config: &Config) -> Self {
        Self { embed: config.embed.clone() }
    }
}

impl From<EmbedConfig> for ModelConfig {
    fn from(embed: EmbedConfig) -> Self {
        Self { embed }
    }
}

/// How to load the embedder that is named; `None` where it is "none". `root` is the vault's folder, from which paths count, and
/// `index` the folder of its index.
pub(crate) fn open(config: &ModelConfig, root: &Path, index: &Path) -> Option<LoadEmbedder> {
    let ModelConfig { embed: config } = config;
    match (config.model.as_str(), config.endpoint.as_str()) {
        ("none", _) => None,
        (_, "") => Some(gguf(config, root)),
        _ => Some(endpoint(config, root, index)),
    }
}

/// The chat model of `[chat]`; `None` where it names none. It is not asked yet.
pub(crate) fn open_chat(config: &ChatConfig) -> Option<Result<Arc<dyn ChatModel>, ModelError>> {
    let options = ChatOptions {
        endpoint: config.endpoint.clone(),
        model: config.model.clone(),
        api_key_env: config.api_key_env.clone(),
        timeout: Duration::from_millis(config.search_timeout_ms),
        send_private: config.send_private,
    };
    let open = || EndpointChat::open(options).map(|chat| Arc::new(chat) as Arc<dyn ChatModel>);
    (!config.endpoint.is_empty()).then(open)
}

/// The chat model of `[memory]`, at its own endpoint or at that of `[chat]`; `None` where it names none. It is not asked yet.
pub(crate) fn open_memory_chat(
    memory: &MemoryConfig,
    chat: &ChatConfig,
) -> Option<Result<Arc<dyn ChatModel>, ModelError>> {
    if memory.model.is_empty() || !memory.enabled {
        return None;
    }
    let own = !memory.endpoint.is_empty();
    if !own && chat.endpoint.is_empty() {
        let reason = "neither it nor `chat.endpoint` is set, so there is no address for `memory.model`".into();
        return Some(Err(ModelError::BadOption { section: "memory", option: "endpoint", reason }));
    }
    let key = if own || !memory.api_key_env.is_empty() { &memory.api_key_env } else { &chat.api_key_env };
    let options = ChatOptions {
        endpoint: if own { memory.endpoint.clone() } else { chat.endpoint.clone() },
        model: memory.model.clone(),
        api_key_env: key.clone(),
        timeout: Duration::from_millis(memory.timeout_ms),
        send_private: memory.send_private,
    };
    Some(EndpointChat::open_for_memory(options).map(|chat| Arc::new(chat) as Arc<dyn ChatModel>))
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
        batch_from: config.batch_api.then_some(config.batch_api_from),
    };
    let (root, index) = (root.to_owned(), index.to_owned());
    Box::new(move || Ok(Arc::new(EndpointEmbedder::open(options.clone(), &index, &root)?) as Arc<dyn Embedder>))
}

#[cfg(feature = "gguf")]
fn gguf(config: &EmbedConfig, root: &Path) -> LoadEmbedder {
    use super::folders::{cache_folder, model_file};
    use super::{GgufEmbedder, GgufOptions, ModelSource};
    use crate::base::config::PoolingChoice;

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
    Box::new(move || Ok(Arc::new(GgufEmbedder::shared(&source, &options)?) as Arc<dyn Embedder>))
}

/// Opens the cross-encoder of a file, which is looked for as that of `embed.model` is.
///
/// # Errors
/// When it is not there, or judges no pairs of texts.
#[cfg(feature = "gguf")]
pub(crate) fn open_reranker(file: &str, root: &Path) -> Result<Arc<dyn Reranker>, ModelError> {
    use super::folders::{cache_folder, model_file};
    use super::{GgufOptions, GgufReranker};

    Ok(GgufReranker::shared(&model_file(file, root), &GgufOptions::new(cache_folder()))?)
}

/// Fails: this build runs no models.
///
/// # Errors
/// Always.
#[cfg(not(feature = "gguf"))]
pub(crate) fn open_reranker(_: &str, _: &Path) -> Result<Arc<dyn Reranker>, ModelError> {
    Err(ModelError::NoModels)
}

/// How often a model was loaded since this process began: never, in this build.
#[cfg(not(feature = "gguf"))]
pub(crate) fn model_loads() -> u64 {
    0
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
