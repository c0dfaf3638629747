//! What of the person's memory an agent was given, why a note is not, and what a principal may read.

use std::fmt;
use std::sync::Arc;

use super::globs::Globs;
use super::principal::{SessionMark, session_mark};
use crate::base::config::{ChannelScope, CollectionConfig, MemoryScope, VaultPart};
use crate::base::path::{ROOT_COLLECTION, composed, folded};

/// The folder of the agents. It is nobody's memory but theirs.
pub(crate) const AGENTS: &str = "agents";

/// Rules over notes. A note is given when all of them let it through.
#[derive(Debug, Clone)]
pub struct Grant {
    /// The collections that were given; `*` stands for all, those to come as well.
    pub collections: Vec<String>,
    /// [`folded`]; a tag stands for those below it.
    pub exclude_tags: Vec<String>,
    /// Where the note has to be, if that is said.
    pub allowed: Option<Globs>,
    /// Where it must not be.
    pub denied: Globs,
    /// The memory scopes that it is bound to, if it is.
    pub(crate) scopes: Option<Vec<MemoryScope>>,
    /// Where those are.
    pub(crate) parts: Vec<VaultPart>,
    /// Of which channels it reads the sessions of others.
    pub(crate) sessions: Vec<ChannelScope>,
    /// Its own name, [`folded`]: sessions of its own it reads in any case.
    pub(crate) own: String,
}

/// What the rules look at in a note.
#[derive(Debug, Clone, Copy)]
pub struct Subject<'a> {
    /// Its path in the vault.
    pub path: &'a str,
    /// Its tags.
    pub tags: &'a [String],
    /// What may be meant as tags where none counts.
    pub doubtful: &'a [String],
    /// Whether only the owner sees it.
    pub private: bool,
}

/// The rule that hides a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// It is private.
    Private,
    /// It is in the folder of the agents.
    Agents,
    /// Its collection was not given.
    Collection(String),
    /// It has an excluded tag.
    Tag(String),
    /// `paths` has a rule against it.
    Denied,
    /// No rule of `paths` allows it.
    NotAllowed,
    /// It is in none of the scopes that the agent is bound to.
    OtherScope,
    /// It is a session of somebody else, from a channel of which it reads none.
    Session(ChannelScope),
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Private => write!(f, "the note is private; no agent sees it"),
            Self::Agents => write!(f, "the folder `{AGENTS}` is not part of the owner's memory"),
            Self::Collection(name) => write!(f, "`collections` does not name `{name}`"),
            Self::Tag(tag) => write!(f, "`exclude_tags` hides its tag `{tag}`"),
            Self::Denied => write!(f, "a rule of `paths` that starts with `!` hides it"),
            Self::NotAllowed => write!(f, "no rule of `paths` names it"),
            Self::OtherScope => write!(f, "it is in none of the agent's `scopes`"),
            Self::Session(scope) => {
                write!(f, "it is a {scope} session of somebody else, and `sessions` does not name `{scope}`")
            }
        }
    }
}

impl Grant {
    /// Why a note is not given; `None` when it is. The whole check, and nothing but it: sets of files are made of the parts.
    pub fn refusal(&self, subject: &Subject<'_>) -> Option<Refusal> {
        let collection = collection(subject.path);
        if subject.private {
            Some(Refusal::Private)
        } else if is_agents(subject.path) {
            Some(Refusal::Agents)
        } else if !self.has_collection(collection) {
            Some(Refusal::Collection(collection.to_owned()))
        } else if let Some(tag) = subject.tags.iter().chain(subject.doubtful).find(|tag| self.excludes(&folded(tag))) {
            Some(match SessionMark::read(tag) {
                Some(mark) => Refusal::Session(mark.scope),
                None => Refusal::Tag(tag.clone()),
            })
        } else if self.denied.is_match(subject.path) {
            Some(Refusal::Denied)
        } else if self.allowed.as_ref().is_some_and(|allowed| !allowed.is_match(subject.path)) {
            Some(Refusal::NotAllowed)
        } else if !self.has_path(subject.path) {
            Some(Refusal::OtherScope)
        } else {
            None
        }
    }

    /// The same where these are the folders elsewhere.
    #[must_use]
    pub(crate) fn with_folders(mut self, collections: &[CollectionConfig]) -> Self {
        let scopes = self.scopes.iter().flatten();
        self.parts = scopes.map(|scope| scope.part(collections)).collect();
        self
    }

    /// Whether a collection was given.
    pub fn has_collection(&self, name: &str) -> bool {
        self.collections.iter().any(|given| given == "*" || composed(given) == composed(name))
    }

    /// The same for the agent of this name.
    #[must_use]
    pub(crate) fn of_agent(self, slug: &str) -> Self {
        Self { own: folded(slug), ..self }
    }

    /// Whether a tag, or a mark of sessions, [`folded`], hides a note.
    pub fn excludes(&self, tag: &str) -> bool {
        if let Some(mark) = SessionMark::read(tag) {
            let is_own = !self.own.is_empty() && mark.agent == self.own;
            return !is_own && !self.sessions.contains(&mark.scope);
        }
        let below = |excluded: &String| tag.strip_prefix(excluded.as_str()).is_some_and(|rest| rest.starts_with('/'));
        self.exclude_tags.iter().any(|excluded| tag == excluded || below(excluded))
    }

    /// The beginnings of the marks of sessions that are hidden, each with the mark of its own sessions, which are not.
    pub(crate) fn hidden_sessions(&self) -> impl Iterator<Item = (String, Option<String>)> {
        let hidden = ChannelScope::ALL.into_iter().filter(|scope| !self.sessions.contains(scope));
        hidden.map(|scope| {
            let own = (!self.own.is_empty()).then(|| session_mark(scope, &self.own));
            (session_mark(scope, "").trim_end_matches('/').to_owned(), own)
        })
    }

    /// Whether there are rules for paths at all.
    pub fn has_path_rules(&self) -> bool {
        self.allowed.is_some() || !self.denied.is_empty() || self.scopes.is_some()
    }

    /// Whether the rules for paths let one through.
    pub fn has_path(&self, path: &str) -> bool {
        !self.denied.is_match(path)
            && self.allowed.as_ref().is_none_or(|allowed| allowed.is_match(path))
            && (self.scopes.is_none() || self.parts.iter().any(|part| part.holds(path)))
    }
}

fn collection(path: &str) -> &str {
    path.split_once('/').map_or(ROOT_COLLECTION, |(top, _)| top)
}

/// Whether a path is in the agents' folder, or a collection is that folder, in whatever case a disk may spell it.
pub(crate) fn is_agents(path: &str) -> bool {
    let top = path.split_once('/').map_or(path, |(top, _)| top);
    folded(top) == AGENTS
}

/// What a principal may read. The only thing that read paths accept.
#[derive(Debug, Clone)]
pub enum Scope {
    /// Every note.
    Everything,
    /// Notes that are not private.
    Public,
    /// No note.
    Nothing,
    /// Of the person's memory, what an agent was given.
    Given(Arc<Grant>),
    /// The agents' own memory in these folders of `agents/`; what was made of the person's memory only as far as that was
    /// given.
    Own {
        /// The folders' names, that of the agent itself first.
        slugs: Vec<String>,
        /// What of the person's memory the agent was given, if anything.
        given: Option<Arc<Grant>>,
    },
}

impl Scope {
    /// Everything that is not private: what nobody has a reason to hide.
    pub fn public() -> Self {
        Self::Public
    }
}

/// The name of a file of an agent's own memory within its folder: `MEMORY.md`, `memory.md`, `facts.md`, `entries.md` or `memory/<name>.md`.
/// `None` for what is none, above all for `agent.md`.
pub(crate) fn own_file<'a>(slug: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix("agents/")?.strip_prefix(slug)?.strip_prefix('/')?;
    let is_own = match rest.split_once('/') {
        None => matches!(rest, "MEMORY.md" | "memory.md" | "facts.md" | "entries.md"),
        Some(("memory", name)) => !name.contains('/') && !name.starts_with('.') && name.ends_with(".md"),
        Some(_) => false,
    };
    is_own.then_some(rest)
}

/// Whether a file of a folder that lies elsewhere, and may be a vault or have one in it, is an agent's: its page, its memory, what waits.
pub(crate) fn is_agents_elsewhere(path: &str) -> bool {
    let path = folded(path);
    let starts = std::iter::once(0).chain(path.match_indices('/').map(|(at, _)| at + 1));
    starts.filter_map(|at| path.get(at..)).any(|path| {
        let of_agent = path.strip_prefix(AGENTS).and_then(|path| path.strip_prefix('/')?.split_once('/'));
        of_agent.is_some_and(|(slug, name)| {
            matches!(name, "agent.md" | "pending.md" | "archive.md") || own_file(slug, path).is_some()
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_agents_own_files_are_few() {
        for own in ["MEMORY.md", "memory.md", "facts.md", "entries.md", "memory/a.md"] {
            assert_eq!(own_file("a", &format!("agents/a/{own}")), Some(own));
        }
        for other in [
            "agent.md", "AGENT.md", "pending.md", "archive.md", "memory/x/a.md", "memory/.a.md", "memory/a.txt",
            "b.md", "memory/",
        ] {
            assert_eq!(own_file("a", &format!("agents/a/{other}")), None, "{other}");
        }
        assert_eq!(own_file("a", "agents/ab/MEMORY.md"), None);
        for theirs in ["agents/a/agent.md", "Agents/a/MEMORY.md", "vault/agents/a/memory/x.md", "agents/a/pending.md"] {
            assert!(is_agents_elsewhere(theirs), "{theirs}");
        }
        for other in ["agents/a/readme.md", "agents/agent.md", "agents/a/b/agent.md", "my-agents/a/agent.md"] {
            assert!(!is_agents_elsewhere(other), "{other}");
        }
        assert_eq!(own_file("a", "agents/a"), None);
    }
}
