//! The vault's configuration, `memory.toml`: sections, defaults and ranges.
//!
//! The shipped file documents every key; a test holds it equal to [`Config::default`].

mod agents;
mod backup;
mod capture;
mod collections;
mod edit;
mod load;
mod ranges;
mod sections;
mod switches;

pub use agents::{AGENT_RANGES, AgentsConfig, ScopeConfig, ScopeDecision, ScopeRule};
pub use backup::BackupConfig;
pub use capture::{CaptureConfig, RetentionConfig};
pub use collections::CollectionConfig;
pub use load::ConfigError;
pub use sections::{
    AccessConfig, Config, EmbedConfig, FILE_NAME, Fusion, IndexConfig, Mode, PoolingChoice, SHIPPED, SearchConfig,
    ServerConfig, StemmerLanguage, WatchMode,
};
pub use switches::Switches;
