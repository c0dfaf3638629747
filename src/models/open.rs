//! The one door to every model: what the configuration names, opened; and the model whose vectors serve until that one's are there, as it is written
//! beside them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
#[cfg(feature = "gguf")]
use std::sync::{Mutex, PoisonError, Weak};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::endpoint::{MEMORY, is_loopback};
use super::{ChatModel, ChatOptions, Embedder, EndpointChat, EndpointEmbedder, Fingerprint, ModelError};
use crate::base::config::{ChatConfig, EmbedConfig, MemoryConfig};
use crate::base::fs::{FsError, write_atomically};

/// Loads an embedder; called on a thread of its own, as it takes its time, and again when it failed in a way that may pass.
pub(crate) type LoadEmbedder = Box<dyn FnMut() -> Result<Arc<dyn Embedder>, ModelError> + Send>;

/// How to load the embedder that is named; `None` where it is "none". `root` is the vault's folder, from which paths count.
pub(crate) fn open(config: &EmbedConfig, root: &Path) -> Option<LoadEmbedder> {
    match (config.model.as_str(), config.endpoint.as_str()) {
        ("none", _) => None,
        (_, "") => Some(gguf(config, root)),
        _ => Some(endpoint(config)),
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
    Some(EndpointChat::open_as(MEMORY, options).map(|chat| Arc::new(chat) as Arc<dyn ChatModel>))
}

fn endpoint(config: &EmbedConfig) -> LoadEmbedder {
    let config = config.clone();
    Box::new(move || Ok(Arc::new(EndpointEmbedder::open(config.clone())?) as Arc<dyn Embedder>))
}

#[cfg(feature = "gguf")]
fn gguf(config: &EmbedConfig, root: &Path) -> LoadEmbedder {
    use super::files::{cache_folder, model_file};
    use super::{GgufEmbedder, ModelSource};

    let source = match config.model.as_str() {
        "bundled" => ModelSource::Bundled,
        path => ModelSource::File(model_file(path, root)),
    };
    let config = config.clone();
    Box::new(move || {
        // A file that was replaced is another model.
        let changed = match &source {
            ModelSource::File(path) => std::fs::metadata(path).and_then(|file| file.modified()).ok(),
            ModelSource::Bundled => None,
        };
        let name = format!("{source:?} {changed:?} {config:?}");
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        loaded.retain(|(_, model)| model.strong_count() > 0);
        if let Some(model) = loaded.iter().find(|(known, _)| *known == name).and_then(|(_, model)| model.upgrade()) {
            return Ok(model);
        }
        let model: Arc<dyn Embedder> = Arc::new(GgufEmbedder::open(&source, &config, &cache_folder())?);
        loaded.push((name, Arc::downgrade(&model)));
        Ok(model)
    })
}

/// The models of this process that are in use, by where they are from: vaults that one server has share them.
#[cfg(feature = "gguf")]
static LOADED: Mutex<Vec<(String, Weak<dyn Embedder>)>> = Mutex::new(Vec::new());

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

/// A model that was loaded.
#[derive(Clone)]
pub(crate) struct ChosenModel {
    /// The model.
    pub(crate) embedder: Arc<dyn Embedder>,
    /// How it is opened; `None` of one that no configuration names.
    pub(crate) config: Option<EmbedConfig>,
}

impl ChosenModel {
    /// Whether it may be asked while the one that the configuration names makes its vectors.
    pub(crate) fn may_serve_until(&self, named: Option<&EmbedConfig>) -> bool {
        self.config.as_ref().is_none_or(|config| may_serve_until(config, named))
    }
}

/// The model that a vault's texts are to be embedded by.
pub(crate) struct ModelChoice {
    /// Loads it.
    pub(crate) load: LoadEmbedder,
    /// How it is opened; `None` of one that no configuration names.
    pub(crate) config: Option<EmbedConfig>,
    /// The one whose vectors served last, and what made them, where that is another.
    pub(crate) former: Option<(Fingerprint, Box<Self>)>,
}

impl ModelChoice {
    /// A model, with the one that served last; `None` where it is "none". `root` is the vault's folder, from which paths
    /// count, and `index` the folder of its index.
    pub(crate) fn of(config: &EmbedConfig, root: &Path, index: &Path) -> Option<Self> {
        let load = open(config, root)?;
        let former = ModelInUse::of(index)
            .read()
            .filter(|(_, former)| is_other(former, config) && may_serve_until(former, Some(config)));
        let former = former.and_then(|(fingerprint, config)| {
            let former = Self { load: open(&config, root)?, config: Some(config), former: None };
            Some((fingerprint, Box::new(former)))
        });
        Some(Self { load, config: Some(config.clone()), former })
    }
}

impl From<LoadEmbedder> for ModelChoice {
    fn from(load: LoadEmbedder) -> Self {
        Self { load, config: None, former: None }
    }
}

/// A service on another machine is asked only as long as the configuration names it, for whichever model.
fn may_serve_until(config: &EmbedConfig, named: Option<&EmbedConfig>) -> bool {
    let endpoint = &config.endpoint;
    let is_named = named.is_some_and(|named| named.endpoint == *endpoint);
    endpoint.is_empty() || is_named || is_loopback(endpoint)
}

/// Whether two make other vectors, as far as it can be known without opening them.
fn is_other(one: &EmbedConfig, other: &EmbedConfig) -> bool {
    let shape = |config: &EmbedConfig| {
        let EmbedConfig { model, query_prefix, document_prefix, pooling, max_tokens, endpoint, .. } = config;
        let texts = [model, query_prefix, document_prefix, endpoint].map(String::clone);
        (texts, *pooling, *max_tokens)
    };
    shape(one) != shape(other)
}

/// The record of the model in use, in the folder of the index.
#[derive(Debug, Clone)]
pub(crate) struct ModelInUse {
    path: PathBuf,
}

#[derive(Serialize, Deserialize)]
struct InUseRecord {
    fingerprint: String,
    embed: EmbedConfig,
}

impl ModelInUse {
    /// The record of the index in a folder.
    pub(crate) fn of(index: &Path) -> Self {
        Self { path: index.join("model-in-use.json") }
    }

    /// Says that the vectors of a model serve, and how it is opened.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub(crate) fn write(&self, fingerprint: &Fingerprint, config: &EmbedConfig) -> Result<(), FsError> {
        let record = InUseRecord { fingerprint: fingerprint.to_string(), embed: config.clone() };
        let json = serde_json::to_vec_pretty(&record).unwrap_or_default();
        if std::fs::read(&self.path).is_ok_and(|before| before == json) {
            return Ok(());
        }
        write_atomically(&self.path, &json, 0o600)
    }

    /// Whether nothing is written yet.
    pub(crate) fn is_absent(&self) -> bool {
        !self.path.exists()
    }

    /// What served last, and how it is opened; `None` where that is not known.
    pub(super) fn read(&self) -> Option<(Fingerprint, EmbedConfig)> {
        let record: InUseRecord = serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()?;
        Some((record.fingerprint.parse().ok()?, record.embed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_elsewhere_is_not_asked_any_more_once_another_model_is_named() {
        let index = tempfile::tempdir().unwrap();
        let former = |endpoint: &str| {
            let former = EmbedConfig { endpoint: endpoint.into(), model: "m".into(), ..EmbedConfig::default() };
            ModelInUse::of(index.path()).write(&Fingerprint::of(&[b"m"]), &former).unwrap();
            let choice = ModelChoice::of(&EmbedConfig::default(), index.path(), index.path()).unwrap();
            choice.former.and_then(|(_, former)| former.config).map(|config| config.endpoint)
        };
        assert_eq!(former("https://api.example.com/v1"), None);
        assert_eq!(former("no address at all /"), None);
        assert_eq!(former("127.0.0.1:9"), Some("127.0.0.1:9".into()));
        assert_eq!(former(""), Some(String::new()), "a file on this machine");
    }

    #[test]
    fn the_same_model_is_no_former_one() {
        let index = tempfile::tempdir().unwrap();
        let config = EmbedConfig::default();
        ModelInUse::of(index.path()).write(&Fingerprint::of(&[b"m"]), &config).unwrap();
        assert!(ModelChoice::of(&config, index.path(), index.path()).unwrap().former.is_none());
        let none = EmbedConfig { model: "none".into(), ..EmbedConfig::default() };
        assert!(ModelChoice::of(&none, index.path(), index.path()).is_none());
    }

    #[test]
    fn what_cannot_be_read_is_not_known() {
        let folder = tempfile::tempdir().unwrap();
        let record = ModelInUse::of(folder.path());
        assert_eq!(record.read(), None);
        let config = EmbedConfig { threads: 3, ..EmbedConfig::default() };
        let fingerprint = Fingerprint::of(&[b"a"]);
        record.write(&fingerprint, &config).unwrap();
        assert_eq!(record.read(), Some((fingerprint, config)));
        for bad in ["", "{", "[]", r#"{"fingerprint":"x","embed":{}}"#, r#"{"fingerprint":"0","embed":{"of_later":1}}"#]
        {
            std::fs::write(folder.path().join("model-in-use.json"), bad).unwrap();
            assert_eq!(record.read(), None, "{bad}");
        }
    }
}
