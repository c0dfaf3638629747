//! Whose memory, or of what: the part of a vault in which a fact or a note belongs.

use std::fmt;

/// A part of a vault that has facts and notes of its own. (`[scope]` of the configuration is about in which sessions agents may read.)
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum MemoryScope {
    /// Of one project.
    Project(String),
    /// Of one agent.
    Agent(String),
    /// Of all agents of a type.
    AgentType(String),
    /// Of the agent that leads others.
    Orchestrator,
    /// Of all of them.
    System,
    /// Of the person: all else.
    User,
}

/// Not the name of a memory scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not a memory scope; use `user`, `system`, `orchestrator`, `project:<id>`, `agent-type:<type>` or `agent:<name>`"
)]
pub(crate) struct MemoryScopeError(String);

/// The folder with a folder for each type of agent.
pub(crate) const AGENT_TYPES: &str = "agent-types";
/// The folder with a folder for each project.
pub(crate) const PROJECTS: &str = "projects";

impl MemoryScope {
    /// Reads its name: `project:mech`, or as a collection of other programs is called, `aq_project_mech`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(text: &str) -> Result<Self, MemoryScopeError> {
        let none = || MemoryScopeError(text.to_owned());
        let text = text.trim();
        match text {
            "user" => return Ok(Self::User),
            "system" | "aq_system" => return Ok(Self::System),
            "orchestrator" | "aq_orchestrator" => return Ok(Self::Orchestrator),
            _ => {}
        }
        let named = |prefixes: &[&str]| {
            let name = prefixes.iter().find_map(|prefix| text.strip_prefix(prefix));
            name.filter(|name| is_name(name)).map(str::to_owned)
        };
        let project = named(&["project:", "aq_project_"]).map(Self::Project);
        let agent_type = || named(&["agent-type:", "aq_agenttype_"]).map(Self::AgentType);
        project.or_else(agent_type).or_else(|| named(&["agent:"]).map(Self::Agent)).ok_or_else(none)
    }

    /// Its folder, with a `/` at its end; empty for the person's, which is the whole vault less the others.
    pub(crate) fn folder(&self) -> String {
        match self {
            Self::User => String::new(),
            Self::System => "system/".to_owned(),
            Self::Orchestrator => "orchestrator/".to_owned(),
            Self::AgentType(name) => format!("{AGENT_TYPES}/{name}/"),
            Self::Project(name) => format!("{PROJECTS}/{name}/"),
            Self::Agent(name) => format!("agents/{name}/"),
        }
    }
}

/// Whether a text can be a folder's name, on every system.
fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.len() <= 200
        && !text.starts_with('.')
        && text.trim() == text
        && !text.contains(|c: char| c.is_control() || "/\\:*?\"<>|,=".contains(c))
}

impl fmt::Display for MemoryScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User => f.write_str("user"),
            Self::System => f.write_str("system"),
            Self::Orchestrator => f.write_str("orchestrator"),
            Self::AgentType(name) => write!(f, "agent-type:{name}"),
            Self::Project(name) => write!(f, "project:{name}"),
            Self::Agent(name) => write!(f, "agent:{name}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_is_a_name_and_a_folder() {
        for (name, folder) in [
            ("user", ""),
            ("system", "system/"),
            ("orchestrator", "orchestrator/"),
            ("project:mech", "projects/mech/"),
            ("agent-type:coding", "agent-types/coding/"),
            ("agent:ada", "agents/ada/"),
        ] {
            let scope = MemoryScope::parse(name).unwrap();
            assert_eq!((scope.to_string().as_str(), scope.folder().as_str()), (name, folder));
        }
        assert_eq!(MemoryScope::parse("aq_project_mech").unwrap().to_string(), "project:mech");
        assert_eq!(MemoryScope::parse("aq_agenttype_coding").unwrap().to_string(), "agent-type:coding");
        for bad in ["", "me", "project:", "project:../x", "project:a/b", "agent:.x", "project: a"] {
            assert!(MemoryScope::parse(bad).is_err(), "{bad}");
        }
    }
}
