//! The vault's configuration, `memory.toml`: sections, defaults and ranges.
//!
//! The file `memory.toml` in the program's source documents every key; a test holds it equal to [`Config::default`].

mod file;
mod memory_kinds;
mod sections;

pub(crate) use file::{ConfigError, MAX_FILE_BYTES, Switches};
pub(crate) use memory_kinds::{AGENT_TYPES, MemoryScope, PROFILE_TOKENS, PROJECTS};
pub use memory_kinds::{
    ChannelScope, CollectionConfig, MemoryKind, MemoryLayer, SessionProgram, SessionsConfig, VaultPart,
};
pub(crate) use sections::{
    AgentLimits, AgentsConfig, CaptureConfig, ChatConfig, FILE_NAME, IndexConfig, Rerank, RetentionConfig, STARTER,
    ScopeRule, SearchConfig, ServerConfig,
};
pub use sections::{
    Citations, Config, EmbedConfig, FactsConfig, MemoryConfig, Mode, PoolingChoice, ProfileWriteMode, REFERENCE,
    ScopeConfig, ScopeDecision, StemmerLanguage, WatchMode,
};
