//! `[facts]` and `[memory_scopes]`.

use serde::{Deserialize, Serialize};

/// `[facts]`: exact answers out of `facts.md`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct FactsConfig {
    /// Whether each change of a fact is noted in `facts.history.md` beside it.
    pub history: bool,
    /// Whether the properties of all notes can be asked for as facts are.
    pub properties: bool,
}

impl Default for FactsConfig {
    fn default() -> Self {
        Self { history: true, properties: false }
    }
}

/// `[memory_scopes]`: in which folders the memory of projects and of programs is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MemoryScopesConfig {
    /// The folder of what all agents share.
    pub system: String,
    /// The folder of the agent that leads others.
    pub orchestrator: String,
    /// The folder with a folder for each type of agent.
    pub agent_types: String,
    /// The folder with a folder for each project.
    pub projects: String,
}

impl Default for MemoryScopesConfig {
    fn default() -> Self {
        let folder = |name: &str| name.to_owned();
        Self {
            system: folder("system"),
            orchestrator: folder("orchestrator"),
            agent_types: folder("agent-types"),
            projects: folder("projects"),
        }
    }
}
