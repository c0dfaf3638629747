//! The files of the facts of a memory scope.

use crate::path::VaultPath;

/// The file with the facts of a memory scope.
pub(crate) const FACTS_FILE: &str = "facts.md";
/// The file beside it with what became of them.
const HISTORY_FILE: &str = "facts.history.md";

/// The history beside a file of facts.
pub(super) fn history_of(facts: &VaultPath) -> VaultPath {
    let folder = facts.as_str().strip_suffix(FACTS_FILE).unwrap_or_default();
    VaultPath::new(format!("{folder}{HISTORY_FILE}")).unwrap_or_else(|_| facts.clone())
}
