//! `[[collections]]`: folders elsewhere that are collections too.

use std::collections::HashSet;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::memory_scope::MemoryScope;
use crate::base::path::{ROOT_COLLECTION, folded};

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
    /// Which of those do not count, as globs; what names a folder means all that is in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// The memory scope of its notes, if it is another than the person's: `project:mech`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// Whether its folder may lie within that of another collection which says so too, or around it. A note of both is found under both
    /// names.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overlap: bool,
}

fn everything() -> String {
    "**".into()
}

/// Finds the first collection that cannot be one, as a sentence that names it.
pub(super) fn violation(collections: &[CollectionConfig]) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
            violation(&names.iter().map(of).collect::<Vec<_>>())
        };
        assert_eq!(named(&["papers", "my books"]), None);
        for bad in ["Agents", "", ".git", "a/b", "..", "a\nb", "vault"] {
            assert!(named(&[bad]).unwrap().starts_with(&format!("`collections` has `{bad}`")), "{bad:?}");
        }
        assert_eq!(named(&["a", "a"]).unwrap(), "`collections` has `a` twice; each name must be unique");
    }
}
