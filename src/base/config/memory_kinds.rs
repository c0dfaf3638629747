//! The memory: kinds of entries, its layers, and whose memory it is.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::outside::CollectionConfig;

/// Tokens of the profile: of its page, and in a full context.
pub(crate) const PROFILE_TOKENS: usize = 2_000;

/// The kind of a memory entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// Something that is true.
    Fact,
    /// A like, a dislike, or a wish.
    Preference,
    /// A decision.
    Decision,
    /// A mistake, and the right version.
    Correction,
    /// A promise.
    Commitment,
    /// How people are related.
    Relationship,
    /// An ability, or how to do something.
    Skill,
}

impl MemoryKind {
    /// All, in the order in which they are shown.
    pub const ALL: [Self; 7] = [
        Self::Fact,
        Self::Preference,
        Self::Decision,
        Self::Correction,
        Self::Commitment,
        Self::Relationship,
        Self::Skill,
    ];

    /// Its word in files and answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fact => "fact",
            Self::Preference => "preference",
            Self::Decision => "decision",
            Self::Correction => "correction",
            Self::Commitment => "commitment",
            Self::Relationship => "relationship",
            Self::Skill => "skill",
        }
    }

    /// The kind of a word.
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| word.eq_ignore_ascii_case(kind.word()))
    }
}

/// A layer of the memory. Each note is in exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, utoipa::ToSchema, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum MemoryLayer {
    /// Memory entries: `memories/`, and each agent's `entries.md`.
    Entries,
    /// Conversations.
    Conversations,
    /// Summaries, not older than `[memory] summary_retention_days`.
    Summaries,
    /// Notes about persons, companies, places, projects, tools, concepts and events, and notes with named relations.
    Graph,
    /// All other notes.
    Notes,
}

impl MemoryLayer {
    /// The layer with a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        clap::ValueEnum::from_str(name, true).ok()
    }
}

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

/// The folder with a folder for each type of agent.
pub(crate) const AGENT_TYPES: &str = "agent-types";
/// The folder with a folder for each project.
pub(crate) const PROJECTS: &str = "projects";

impl MemoryScope {
    /// Reads its name: `project:mech`, or as a collection of other programs is called, `aq_project_mech`.
    ///
    /// # Errors
    /// When it is none.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let takes = "use `user`, `system`, `orchestrator`, `project:<id>`, `agent-type:<type>` or `agent:<name>`";
        let none = || format!("`{text}` is not a memory scope; {takes}");
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

impl MemoryScope {
    /// The notes of the scope: those in its folder, and in the folders elsewhere that the configuration says are of it. The person's are all
    /// that are in none of the others.
    pub(crate) fn part(&self, collections: &[CollectionConfig]) -> VaultPart {
        let is_of = |collection: &&CollectionConfig| {
            let scope = collection.scope.as_deref().and_then(|scope| Self::parse(scope).ok());
            if *self == Self::User {
                scope.is_some_and(|scope| scope != Self::User)
            } else {
                scope.as_ref() == Some(self)
            }
        };
        let mounts = collections.iter().filter(is_of).map(|collection| format!("{}/", collection.name));
        if *self != Self::User {
            let within = mounts.chain([self.folder()]).collect();
            return VaultPart { within, without: Vec::new(), without_below: Vec::new() };
        }
        let folder = |name: &str| format!("{name}/");
        VaultPart {
            within: vec![String::new()],
            without: mounts.chain([Self::System.folder(), Self::Orchestrator.folder()]).collect(),
            without_below: vec![folder(PROJECTS), folder(AGENT_TYPES), folder("agents")],
        }
    }
}

/// A part of a vault, as the folders that it is in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VaultPart {
    /// What a path begins with: one of these.
    pub(crate) within: Vec<String>,
    /// What it does not begin with.
    pub(crate) without: Vec<String>,
    /// Folders in whose own folders it is not.
    pub(crate) without_below: Vec<String>,
}

impl VaultPart {
    /// Whether a path is in it.
    pub(crate) fn holds(&self, path: &str) -> bool {
        let begins = |folder: &String| path.starts_with(folder.as_str());
        let below = |folder: &String| path.strip_prefix(folder.as_str()).is_some_and(|rest| rest.contains('/'));
        self.within.iter().any(begins) && !self.without.iter().any(begins) && !self.without_below.iter().any(below)
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

    #[test]
    fn a_note_is_of_one_scope() {
        for name in ["user", "system", "orchestrator", "project:mech", "agent-type:coding", "agent:ada"] {
            let scope = MemoryScope::parse(name).unwrap();
            let facts = format!("{}facts.md", scope.folder());
            assert!(scope.part(&[]).holds(&facts));
            assert_eq!(MemoryScope::User.part(&[]).holds(&facts), scope == MemoryScope::User);
        }
        let user = MemoryScope::User.part(&[]);
        assert!(user.holds("notes/system/a.md") && user.holds("projects/a.md") && !user.holds("projects/a/b.md"));
        let docs = CollectionConfig {
            name: "docs".into(),
            path: "x".into(),
            pattern: "**".into(),
            exclude: Vec::new(),
            scope: Some("project:mech".into()),
            overlap: false,
        };
        let collections = [docs];
        assert!(MemoryScope::parse("project:mech").unwrap().part(&collections).holds("docs/a.md"));
        assert!(!MemoryScope::User.part(&collections).holds("docs/a.md"));
    }
}
