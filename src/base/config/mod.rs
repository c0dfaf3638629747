//! The vault's configuration, `memory.toml`: sections, defaults and ranges.
//!
//! The shipped file documents every key; a test holds it equal to [`Config::default`].

mod agents;
mod chat;
mod collections;
mod edit;
mod layer;
mod load;
mod memory;
mod memory_scope;
mod part;
mod ranges;
mod sections;
mod sessions;
mod set;
mod switches;

pub(crate) use agents::{AGENT_RANGES, AgentsConfig, ScopeRule};
pub use agents::{ScopeConfig, ScopeDecision};
pub(crate) use chat::{ChatConfig, Rerank};
pub use collections::CollectionConfig;
pub(crate) use edit::NewValue;
pub use layer::MemoryLayer;
pub(crate) use load::{ConfigError, MAX_FILE_BYTES};
pub(crate) use memory::PROFILE_TOKENS;
pub use memory::{MemoryConfig, MemoryKind, ProfileWriteMode};
pub(crate) use memory_scope::{AGENT_TYPES, MemoryScope, PROJECTS};
pub use part::VaultPart;
pub(crate) use sections::{
    CaptureConfig, EmbedConfig, FILE_NAME, Fusion, IndexConfig, PoolingChoice, RetentionConfig, SearchConfig,
};
pub use sections::{Citations, Config, FactsConfig, Mode, SHIPPED, StemmerLanguage, WatchMode};
pub use sessions::{ChannelScope, SessionProgram, SessionsConfig};
pub(crate) use switches::Switches;
