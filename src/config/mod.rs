//! The vault's configuration, `memory.toml`: sections, defaults and ranges.
//!
//! The shipped file documents every key; a test holds it equal to [`Config::default`].

mod agents;
mod backup;
mod capture;
mod chat;
mod collections;
mod edit;
mod facts;
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
mod traces;
mod upstream;
mod variable;

pub(crate) use agents::{AGENT_RANGES, AgentsConfig, ScopeRule};
pub use agents::{ScopeConfig, ScopeDecision};
pub(crate) use capture::{CaptureConfig, RetentionConfig};
pub(crate) use chat::{ChatConfig, Rerank};
pub use collections::CollectionConfig;
pub(crate) use edit::NewValue;
pub use facts::{FactsConfig, MemoryScopesConfig};
pub use layer::MemoryLayer;
pub(crate) use load::{ConfigError, MAX_FILE_BYTES};
pub use memory::{MemoryConfig, MemoryKind, ProfileWriteMode};
pub(crate) use memory_scope::MemoryScope;
pub use part::VaultPart;
pub use sections::{Citations, Config, Mode, SHIPPED, StemmerLanguage, WatchMode};
pub(crate) use sections::{EmbedConfig, FILE_NAME, Fusion, IndexConfig, PoolingChoice, SearchConfig};
pub use sessions::{ChannelScope, SessionProgram, SessionsConfig};
pub(crate) use switches::Switches;
