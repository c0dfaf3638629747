//! What a principal may read. The only thing that read paths accept.

use std::sync::Arc;

use super::grant::{AGENTS, Grant};
use crate::path::folded;

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
        /// The folders' names.
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
