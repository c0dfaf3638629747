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
mod set;
mod switches;

pub(crate) use agents::{AGENT_RANGES, AgentsConfig, ScopeRule};
pub use agents::{ScopeConfig, ScopeDecision};
pub(crate) use capture::{CaptureConfig, RetentionConfig};
pub(crate) use collections::CollectionConfig;
pub(crate) use edit::NewValue;
pub(crate) use load::ConfigError;
pub use sections::{Config, Mode, SHIPPED, StemmerLanguage, WatchMode};
pub(crate) use sections::{EmbedConfig, FILE_NAME, Fusion, IndexConfig, PoolingChoice, SearchConfig};
pub(crate) use switches::Switches;
