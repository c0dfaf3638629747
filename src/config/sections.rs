//! The sections of `memory.toml`.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::agents::{AgentsConfig, ScopeConfig};
use super::backup::BackupConfig;
use super::capture::{CaptureConfig, RetentionConfig};
use super::collections::CollectionConfig;
use crate::fs::{Context, FsError};

/// The file that makes a folder a vault.
pub const FILE_NAME: &str = "memory.toml";

/// No configuration that a person writes is longer.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// The documented default configuration, as shipped and as `vault init` writes it.
pub const SHIPPED: &str = include_str!("../../memory.toml");

/// The whole configuration. Parts of the program are handed the section they need, not this.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// The HTTP API.
    pub server: ServerConfig,
    /// What is indexed, and when.
    pub index: IndexConfig,
    /// The embedding model.
    pub embed: EmbedConfig,
    /// The defaults of a search.
    pub search: SearchConfig,
    /// What no agent sees.
    pub access: AccessConfig,
    /// In which sessions agents read.
    pub scope: ScopeConfig,
    /// How much agents get.
    pub agents: AgentsConfig,
    /// Which events are kept.
    pub capture: CaptureConfig,
    /// How long they are kept.
    pub retention: RetentionConfig,
    /// Commits by themselves.
    pub backup: BackupConfig,
    /// Folders elsewhere that are collections too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub collections: Vec<CollectionConfig>,
}

/// `[server]`: the HTTP API.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ServerConfig {
    /// The address to listen on.
    pub host: String,
    /// The port; 0 takes any free one.
    pub port: u16,
    /// Names that a request's `Host` may carry besides the loopback ones and `host`.
    pub allowed_hosts: Vec<String>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self { host: "127.0.0.1".into(), port: 7833, allowed_hosts: Vec::new() }
    }
}

/// `[index]`: what is indexed, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct IndexConfig {
    /// Where the derived stores are kept; empty means the default place.
    pub dir: PathBuf,
    /// Globs of what is left out.
    pub exclude: Vec<String>,
    /// Files over this size are not indexed.
    pub max_file_bytes: u64,
    /// How long a file must be quiet before it is read.
    pub debounce_ms: u64,
    /// How often the whole vault is compared with the index.
    pub reconcile_seconds: u64,
    /// Events or polling.
    pub watch: WatchMode,
    /// The pause between two polls.
    pub poll_seconds: u64,
    /// Embedded chunks above which the HNSW graph is used.
    pub graph_threshold: usize,
    /// How often all stores are compared with their checksums; 0 means never.
    pub verify_hours: u64,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self {
            dir: PathBuf::new(),
            exclude: Vec::new(),
            max_file_bytes: 20_000_000,
            debounce_ms: 50,
            reconcile_seconds: 300,
            watch: WatchMode::Auto,
            poll_seconds: 5,
            graph_threshold: 200_000,
            verify_hours: 24,
        }
    }
}

/// How changes are noticed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WatchMode {
    /// The file system's events, with polling as the fallback.
    Auto,
    /// Polling alone.
    Poll,
}

/// `[embed]`: the embedding model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EmbedConfig {
    /// `bundled`, `none`, or the path of a GGUF file.
    pub model: String,
    /// What is put before a query.
    pub query_prefix: String,
    /// What is put before a document.
    pub document_prefix: String,
    /// How token vectors become one.
    pub pooling: Pooling,
    /// Threads, each with a context of its own; 0 means one a core.
    pub threads: usize,
    /// Tokens of a text that the model is given; 0 means the model's own number.
    pub max_tokens: usize,
}

impl Default for EmbedConfig {
    fn default() -> Self {
        Self {
            model: "bundled".into(),
            query_prefix: String::new(),
            document_prefix: String::new(),
            pooling: Pooling::Auto,
            threads: 0,
            max_tokens: 0,
        }
    }
}

/// How token vectors become one vector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pooling {
    /// As the model file says.
    Auto,
    /// Their mean.
    Mean,
    /// The first token's.
    Cls,
    /// The last token's.
    Last,
}

/// `[search]`: the defaults of a search.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// Which sides are asked.
    pub mode: Mode,
    /// Hits when the caller does not say.
    pub limit: usize,
    /// Hits of one file at most; 0 means no limit.
    pub per_file: usize,
    /// How the sides' scores become one.
    pub fusion: Fusion,
    /// The weight of the semantic side in min-max fusion.
    pub semantic_weight: f64,
    /// The constant of reciprocal rank fusion.
    pub rrf_k: u32,
    /// The weight of the semantic side in reciprocal rank fusion.
    pub rrf_semantic_weight: f64,
    /// Candidates taken from each side.
    pub candidates: usize,
    /// The language whose word forms are taken for one another.
    pub stemmer: StemmerLanguage,
    /// Characters of a snippet at most.
    pub max_snippet_chars: usize,
}

impl Default for SearchConfig {
    fn default() -> Self {
        Self {
            mode: Mode::Hybrid,
            limit: 10,
            per_file: 3,
            fusion: Fusion::MinMax,
            semantic_weight: 0.45,
            rrf_k: 10,
            rrf_semantic_weight: 0.3,
            candidates: 100,
            stemmer: StemmerLanguage::English,
            max_snippet_chars: 700,
        }
    }
}

/// Which sides a search asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The words.
    Keyword,
    /// The meaning.
    Semantic,
    /// Both, fused.
    Hybrid,
}

/// How keyword and semantic scores become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fusion {
    /// Each side scaled to 0..1 over the candidates, then weighted.
    MinMax,
    /// Reciprocal rank fusion.
    Rrf,
}

/// Languages with a stemmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[expect(missing_docs, reason = "the names say it")]
pub enum StemmerLanguage {
    None,
    Arabic,
    Danish,
    Dutch,
    English,
    Finnish,
    French,
    German,
    Greek,
    Hungarian,
    Italian,
    Norwegian,
    Portuguese,
    Romanian,
    Russian,
    Spanish,
    Swedish,
    Tamil,
    Turkish,
}

/// `[access]`: what no agent sees.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AccessConfig {
    /// Globs of private notes.
    pub private: Vec<String>,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file could not be read.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// The file is not TOML, or has a key or a value that is not known.
    #[error("{}: {source}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        #[source]
        source: Box<toml::de::Error>,
    },
    /// A value is out of its range.
    #[error("{}: {message}", path.display())]
    Range {
        /// The file.
        path: PathBuf,
        /// The key, its value and what it takes.
        message: String,
    },
}

impl Config {
    /// Reads and checks the `memory.toml` of the vault at `root`.
    ///
    /// # Errors
    /// When the file cannot be read, is not TOML, has an unknown key or a value out of its range.
    pub fn load(root: &Path) -> Result<Self, ConfigError> {
        let path = root.join(FILE_NAME);
        let size = fs::metadata(&path).on("read", &path)?.len();
        if size > MAX_FILE_BYTES {
            let message = format!("it has {size} bytes, and takes up to {MAX_FILE_BYTES}");
            return Err(ConfigError::Range { path, message });
        }
        let text = fs::read_to_string(&path).on("read", &path)?;
        Self::parse(&text, &path)
    }

    /// Checks a text that the errors call `path`.
    ///
    /// # Errors
    /// When it is not TOML, has an unknown key or a value out of its range.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ConfigError> {
        let path = || path.to_owned();
        let config: Self =
            toml::from_str(text).map_err(|source| ConfigError::Syntax { path: path(), source: source.into() })?;
        match super::ranges::first_violation(&config) {
            Some(message) => Err(ConfigError::Range { path: path(), message }),
            None => Ok(config),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Config, ConfigError> {
        Config::parse(text, Path::new("memory.toml"))
    }

    #[test]
    fn the_shipped_file_is_the_default_and_names_every_key() {
        assert_eq!(parse(SHIPPED).unwrap(), Config::default());
        let shipped: toml::Table = toml::from_str(SHIPPED).unwrap();
        let default = toml::Table::try_from(Config::default()).unwrap();
        let keys = |table: &toml::Table| -> Vec<String> {
            let mut keys: Vec<String> = table
                .iter()
                .flat_map(|(name, section)| section.as_table().unwrap().keys().map(move |key| format!("{name}.{key}")))
                .collect();
            keys.sort();
            keys
        };
        assert_eq!(keys(&shipped), keys(&default));
    }

    #[test]
    fn errors_name_the_key() {
        let unknown = parse("[search]\nlimti = 3").unwrap_err().to_string();
        assert!(unknown.contains("limti") && unknown.contains("line 2"), "{unknown}");
        let range = parse("[search]\nlimit = 0").unwrap_err().to_string();
        assert_eq!(range, "memory.toml: `search.limit` is 0; it takes 1 to 1000");
        let fraction = parse("[search]\nsemantic_weight = 1.5").unwrap_err().to_string();
        assert!(fraction.contains("`search.semantic_weight` is 1.5"), "{fraction}");
    }

    #[test]
    fn a_file_that_would_take_all_room_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(FILE_NAME);
        let load = |text: &str| {
            fs::write(&path, text).unwrap();
            Config::load(folder.path()).unwrap_err().to_string()
        };
        let sparse = fs::File::create(&path).and_then(|file| file.set_len(1 << 40));
        sparse.unwrap();
        let said = Config::load(folder.path()).unwrap_err().to_string();
        assert!(said.contains("it has 1099511627776 bytes"), "{said}");
        for deep in ["x = ".to_owned() + &"[".repeat(500_000), "x = ".to_owned() + &"{x=".repeat(100_000)] {
            assert!(load(&deep).contains("line 1"));
        }
        let dotted = load(&format!("{}x = 1", "x.".repeat(400_000)));
        assert!(dotted.contains(FILE_NAME), "{dotted:.200}");
    }

    #[test]
    fn a_missing_key_has_its_default() {
        let config = parse("[server]\nport = 1").unwrap();
        assert_eq!((config.server.port, config.search), (1, SearchConfig::default()));
    }
}
