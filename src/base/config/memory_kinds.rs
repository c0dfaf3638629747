//! The memory: kinds of entries, its layers, and whose memory it is; and what `memory.toml` names outside of the vault: `[[collections]]`, and
//! `[[sessions]]` of other programs.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_with::skip_serializing_none;

use crate::base::path::{ROOT_COLLECTION, folded};

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
        ["fact", "preference", "decision", "correction", "commitment", "relationship", "skill"][self as usize]
    }

    /// After how many months it is asked whether an entry of it is still true.
    pub fn months(self) -> i64 {
        match self {
            Self::Commitment => 3,
            Self::Fact | Self::Decision => 12,
            Self::Preference | Self::Correction | Self::Relationship | Self::Skill => 24,
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

/// `[[collections]]`: a folder elsewhere whose notes are a collection of the vault. It is only ever read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CollectionConfig {
    /// The collection's name, and the first part of its notes' paths.
    pub name: String,
    /// The folder: absolute, below the home folder (`~/…`), or relative to the vault.
    pub path: PathBuf,
    /// Which of its Markdown files count, as a glob over their paths in that folder.
    #[serde(default = "everything")]
    pub pattern: String,
    /// Which of those do not count, as globs; what names a folder means all that is in it. An index that is asked as `qmd` has this key.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The memory scope of its notes, if it is another than the person's: `project:mech`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whether its folder may lie within that of another collection which says so too, or around it. A note of both is found under both
    /// names. An index that is asked as `qmd` has this key.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlap: bool,
}

fn everything() -> String {
    "**".into()
}

/// Finds the first collection that cannot be one, as a sentence that names it.
pub(super) fn collections_violation(collections: &[CollectionConfig]) -> Option<String> {
    let mut names = HashSet::new();
    collections.iter().find_map(|CollectionConfig { name, path, scope, .. }| {
        let wrong = if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\']) || has_control(name) {
            "; a name must not be empty, contain a slash or start with a dot"
        } else if name == ROOT_COLLECTION {
            ", which is the name for notes outside any folder"
        } else if folded(name) == "agents" {
            ", which is the folder of agents"
        } else if !names.insert(name) {
            " twice; each name must be unique"
        } else if path.as_os_str().is_empty() {
            ", without a `path`"
        } else if scope.as_ref().is_some_and(|scope| MemoryScope::parse(scope).is_err()) {
            ", with an invalid `scope`; it takes `project:mech`, `agent-type:coding`, `system` and the like"
        } else {
            return None;
        };
        Some(format!("`collections` has `{name}`{wrong}"))
    })
}

fn has_control(name: &str) -> bool {
    name.chars().any(char::is_control)
}

/// From where the turns of a session come, which says who may read them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelScope {
    /// A talk of one person with the agent.
    Direct,
    /// A group of several persons.
    Group,
    /// A channel or a room, that anybody in it reads.
    Channel,
}

impl ChannelScope {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::Direct, Self::Group, Self::Channel];

    /// What it is called in frontmatter, on agents' pages and in `memory.toml`.
    pub(crate) fn name(self) -> &'static str {
        ["direct", "group", "channel"][self as usize]
    }

    /// The scope of a name, whatever its case.
    pub(crate) fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scope| scope.name().eq_ignore_ascii_case(name.trim()))
    }
}

impl fmt::Display for ChannelScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Which program's sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionProgram {
    /// OpenClaw.
    #[serde(rename = "openclaw")]
    OpenClaw,
    /// Moltis.
    Moltis,
    /// Claude Code.
    ClaudeCode,
    /// Codex.
    Codex,
}

/// `[[sessions]]`: files of sessions elsewhere, which are kept as Markdown for as long as the vault is served.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionsConfig {
    /// The files, as a glob: absolute, below the home folder (`~/…`), or relative to the vault.
    pub path: String,
    /// The program that writes them; told from each file where it is left out.
    pub kind: Option<SessionProgram>,
    /// The agent of this vault that they are sessions of, by its folder's name.
    pub agent: Option<String>,
    /// The scope of sessions of which the program does not say one.
    #[serde(default = "direct")]
    pub scope: ChannelScope,
    /// The collection that they come to: `conversations`, or `sessions` for `sessions-<agent>`.
    #[serde(default = "conversations")]
    pub into: String,
    /// After so many days without a change they go to the trash; 0 means never.
    #[serde(default)]
    pub keep_days: u64,
    /// So many of them stay, those that changed last; 0 means all.
    #[serde(default)]
    pub keep_count: u64,
}

fn direct() -> ChannelScope {
    ChannelScope::Direct
}

fn conversations() -> String {
    CONVERSATIONS.into()
}

/// The collection of what was said.
const CONVERSATIONS: &str = "conversations";
/// What collections of an agent's sessions are called by, without one and with one.
const SESSIONS: &str = "sessions";

impl SessionsConfig {
    /// The collection that they come to.
    pub(crate) fn collection(&self) -> String {
        match self.into.as_str() {
            SESSIONS => format!("{SESSIONS}-{}", made_safe(self.agent.as_deref().unwrap_or_default())),
            other => other.to_owned(),
        }
    }
}

/// A name as OpenClaw makes those of collections: small letters, digits and dashes.
fn made_safe(name: &str) -> String {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let lower = name.to_lowercase();
    let parts: Vec<&str> = lower.split(|c| !is_plain(c)).filter(|part| !part.is_empty()).collect();
    let safe = parts.join("-");
    let safe = safe.trim_matches('-');
    if safe.is_empty() { "agent".into() } else { safe.to_owned() }
}

/// Finds the first that makes no sense, as a sentence.
pub(super) fn sessions_violation(sessions: &[SessionsConfig]) -> Option<String> {
    let mut paths = HashSet::new();
    sessions.iter().find_map(|entry| {
        let SessionsConfig { path, agent, into, keep_days, keep_count, .. } = entry;
        let own = into.strip_prefix("sessions-").is_some_and(|rest| made_safe(rest) == rest);
        let wrong = if path.trim().is_empty() || path.chars().any(char::is_control) {
            "a `path` that is empty or has control characters".to_owned()
        } else if !paths.insert(path) {
            format!("the path `{path}` twice; each path must be unique")
        } else if agent.as_ref().is_some_and(|agent| agent.trim().is_empty() || agent.contains(['/', '\\'])) {
            "an `agent` that is not a folder name".to_owned()
        } else if into != CONVERSATIONS && into != SESSIONS && !own {
            format!("`into = \"{into}\"`; it takes \"conversations\", \"sessions\", or a name like \"sessions-ada\"")
        } else if *keep_days > 36_500 {
            format!("`keep_days = {keep_days}`; it takes 0 to 36500")
        } else if *keep_count > 1_000_000 {
            format!("`keep_count = {keep_count}`; it takes 0 to 1000000")
        } else {
            return None;
        };
        Some(format!("`sessions` has {wrong}"))
    })
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

#[cfg(test)]
mod tests_of_outside {
    use super::*;
    use crate::base::config::Config;

    #[test]
    fn a_name_is_the_first_part_of_a_path() {
        let named = |names: &[&str]| {
            let of = |name: &&str| CollectionConfig {
                name: (*name).into(),
                path: "x".into(),
                pattern: everything(),
                exclude: Vec::new(),
                scope: None,
                overlap: false,
            };
            collections_violation(&names.iter().map(of).collect::<Vec<_>>())
        };
        assert_eq!(named(&["papers", "my books"]), None);
        for bad in ["Agents", "", ".git", "a/b", "..", "a\nb", "vault"] {
            assert!(named(&[bad]).unwrap().starts_with(&format!("`collections` has `{bad}`")), "{bad:?}");
        }
        assert_eq!(named(&["a", "a"]).unwrap(), "`collections` has `a` twice; each name must be unique");
    }

    fn read(text: &str) -> Result<Vec<SessionsConfig>, String> {
        let parsed = Config::parse(text, std::path::Path::new("memory.toml"));
        parsed.map(|config| config.sessions).map_err(|error| error.to_string())
    }

    #[test]
    fn a_path_alone_is_enough() {
        let sessions = read("[[sessions]]\npath = \"~/.openclaw/agents/main/sessions/*.jsonl\"\n").unwrap();
        assert_eq!((sessions[0].kind, sessions[0].scope), (None, ChannelScope::Direct));
        assert_eq!(sessions[0].collection(), "conversations");
        let into = |agent: &str| {
            read(&format!("[[sessions]]\npath = \"a\"\nkind = \"claude-code\"\ninto = \"sessions\"\n{agent}")).unwrap()
        };
        assert_eq!(into("agent = \"Ada the 1st\"")[0].collection(), "sessions-ada-the-1st");
        assert_eq!(into("")[0].collection(), "sessions-agent");
        assert_eq!(into("agent = \"мия\"")[0].collection(), "sessions-agent");
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (wrong, said) in [
            ("path = \"\"", "empty"),
            ("path = \"a\"\ninto = \"notes\"", "it takes \"conversations\""),
            ("path = \"a\"\ninto = \"sessions-../x\"", "it takes \"conversations\""),
            ("path = \"a\"\nagent = \"../ada\"", "`agent`"),
            ("path = \"a\"\nkeep_days = 40000", "it takes 0 to 36500"),
            ("path = \"a\"\nkind = \"chatgpt\"", "openclaw"),
            ("path = \"a\"\nscope = \"secret\"", "direct"),
            ("path = \"a\"\n[[sessions]]\npath = \"a\"", "twice"),
        ] {
            let error = read(&format!("[[sessions]]\n{wrong}\n")).unwrap_err();
            assert!(error.contains(said), "{wrong}: {error}");
        }
    }
}
