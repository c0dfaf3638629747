//! The notes of a memory scope, as the folders that they are in.

use super::collections::CollectionConfig;
use super::memory_scope::{AGENT_TYPES, MemoryScope, PROJECTS};

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
