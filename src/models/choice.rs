//! The model that a vault is to have, and the one whose vectors serve until that one's are there.

use std::path::Path;
use std::sync::Arc;

use super::endpoint::is_loopback;
use super::{Embedder, Fingerprint, LoadEmbedder, ModelConfig, ModelInUse, open};
use crate::base::config::EmbedConfig;

/// A model that was loaded.
#[derive(Clone)]
pub(crate) struct ChosenModel {
    /// The model.
    pub(crate) embedder: Arc<dyn Embedder>,
    /// How it is opened; `None` of one that no configuration names.
    pub(crate) config: Option<ModelConfig>,
}

impl ChosenModel {
    /// Whether it may be asked while the one that the configuration names makes its vectors.
    pub(crate) fn may_serve_until(&self, named: Option<&ModelConfig>) -> bool {
        self.config.as_ref().is_none_or(|config| may_serve_until(config, named))
    }
}

/// The model that a vault's texts are to be embedded by.
pub(crate) struct ModelChoice {
    /// Loads it.
    pub(crate) load: LoadEmbedder,
    /// How it is opened; `None` of one that no configuration names.
    pub(crate) config: Option<ModelConfig>,
    /// The one whose vectors served last, where that is another.
    pub(crate) former: Option<FormerModel>,
}

/// The model whose vectors served last.
pub(crate) struct FormerModel {
    /// What made them.
    pub(crate) fingerprint: Fingerprint,
    /// Loads it.
    pub(crate) load: LoadEmbedder,
    /// How it is opened.
    pub(crate) config: ModelConfig,
}

impl ModelChoice {
    /// A model, with the one that served last; `None` where it is "none". `root` is the vault's folder, from which paths
    /// count, and `index` the folder of its index.
    pub(crate) fn of(config: &ModelConfig, root: &Path, index: &Path) -> Option<Self> {
        let load = open(config, root, index)?;
        let former = ModelInUse::of(index)
            .read()
            .filter(|(_, former)| is_other(former, config) && may_serve_until(former, Some(config)));
        let former = former.and_then(|(fingerprint, config)| {
            Some(FormerModel { fingerprint, load: open(&config, root, index)?, config })
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
fn may_serve_until(config: &ModelConfig, named: Option<&ModelConfig>) -> bool {
    let endpoint = &config.embed.endpoint;
    let is_named = named.is_some_and(|named| named.embed.endpoint == *endpoint);
    endpoint.is_empty() || is_named || is_loopback(endpoint)
}

/// Whether two make other vectors, as far as it can be known without opening them.
fn is_other(one: &ModelConfig, other: &ModelConfig) -> bool {
    let shape = |config: &ModelConfig| {
        let EmbedConfig { model, query_prefix, document_prefix, pooling, max_tokens, endpoint, .. } = &config.embed;
        let texts = [model, query_prefix, document_prefix, endpoint].map(String::clone);
        (texts, *pooling, *max_tokens)
    };
    shape(one) != shape(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_elsewhere_is_not_asked_any_more_once_another_model_is_named() {
        let index = tempfile::tempdir().unwrap();
        let former = |endpoint: &str| {
            let former = EmbedConfig { endpoint: endpoint.into(), model: "m".into(), ..EmbedConfig::default() };
            ModelInUse::of(index.path()).write(&Fingerprint::of(&[b"m"]), &former.into()).unwrap();
            let choice = ModelChoice::of(&EmbedConfig::default().into(), index.path(), index.path()).unwrap();
            choice.former.map(|former| former.config.embed.endpoint)
        };
        assert_eq!(former("https://api.example.com/v1"), None);
        assert_eq!(former("no address at all /"), None);
        assert_eq!(former("127.0.0.1:9"), Some("127.0.0.1:9".into()));
        assert_eq!(former(""), Some(String::new()), "a file on this machine");
    }

    #[test]
    fn the_same_model_is_no_former_one() {
        let index = tempfile::tempdir().unwrap();
        let config = ModelConfig::from(EmbedConfig::default());
        ModelInUse::of(index.path()).write(&Fingerprint::of(&[b"m"]), &config).unwrap();
        assert!(ModelChoice::of(&config, index.path(), index.path()).unwrap().former.is_none());
        let none = EmbedConfig { model: "none".into(), ..EmbedConfig::default() };
        assert!(ModelChoice::of(&none.into(), index.path(), index.path()).is_none());
    }
}
