//! What a principal may read. The only thing that read paths accept.

use std::sync::Arc;

use super::grant::{Grant, Subject};

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

    /// Whether every note is in the scope, so that nothing needs to be looked up.
    pub fn is_everything(&self) -> bool {
        matches!(self, Self::Everything)
    }

    /// Whether the scope has a note, as far as the note alone tells. What was made of other notes also needs those to be
    /// seen.
    pub fn has(&self, subject: &Subject<'_>) -> bool {
        match self {
            Self::Everything => true,
            Self::Public => !subject.private,
            Self::Nothing => false,
            Self::Given(grant) => grant.refusal(subject).is_none(),
            Self::Own { slugs, .. } => {
                !subject.private && slugs.iter().any(|slug| own_file(slug, subject.path).is_some())
            }
        }
    }
}

/// The name of a file of an agent's own memory within its folder: `MEMORY.md`, `memory.md`, `facts.md` or `memory/<name>.md`.
/// `None` for what is none, above all for `agent.md`.
pub fn own_file<'a>(slug: &str, path: &'a str) -> Option<&'a str> {
    let rest = path.strip_prefix("agents/")?.strip_prefix(slug)?.strip_prefix('/')?;
    let is_own = match rest.split_once('/') {
        None => matches!(rest, "MEMORY.md" | "memory.md" | "facts.md"),
        Some(("memory", name)) => !name.contains('/') && !name.starts_with('.') && name.ends_with(".md"),
        Some(_) => false,
    };
    is_own.then_some(rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_notes_are_the_owners() {
        let subject = |private| Subject { path: "notes/a.md", tags: &[], private };
        assert!(Scope::Everything.has(&subject(true)) && Scope::Everything.is_everything());
        assert!(!Scope::Public.has(&subject(true)) && Scope::Public.has(&subject(false)));
        assert!(!Scope::Nothing.has(&subject(false)) && !Scope::Nothing.is_everything());
        let own = Scope::Own { slugs: vec!["a".into()], given: None };
        assert!(own.has(&Subject { path: "agents/a/MEMORY.md", tags: &[], private: false }));
        assert!(!own.has(&Subject { path: "agents/a/MEMORY.md", tags: &[], private: true }));
        assert!(!own.has(&subject(false)));
    }

    #[test]
    fn an_agents_own_files_are_few() {
        for own in ["MEMORY.md", "memory.md", "facts.md", "memory/a.md"] {
            assert_eq!(own_file("a", &format!("agents/a/{own}")), Some(own));
        }
        for other in ["agent.md", "AGENT.md", "memory/x/a.md", "memory/.a.md", "memory/a.txt", "b.md", "memory/"] {
            assert_eq!(own_file("a", &format!("agents/a/{other}")), None, "{other}");
        }
        assert_eq!(own_file("a", "agents/ab/MEMORY.md"), None);
        assert_eq!(own_file("a", "agents/a"), None);
    }
}
