//! The files of the facts of a memory scope.

use crate::path::VaultPath;
use crate::vault::conflict_copy;

/// The file with the facts of a memory scope.
pub(crate) const FACTS_FILE: &str = "facts.md";
/// The file beside it with what became of them.
const HISTORY_FILE: &str = "facts.history.md";

/// The file of facts beside which a file is the history, or a sync service's copy of that.
pub(super) fn facts_beside(path: &VaultPath) -> Option<VaultPath> {
    let of = conflict_copy(path, |_| false).map(|(of, _)| of);
    let folder = of.as_deref().unwrap_or(path.as_str()).strip_suffix(HISTORY_FILE)?;
    let is_folder = folder.is_empty() || folder.ends_with('/');
    is_folder.then(|| VaultPath::new(format!("{folder}{FACTS_FILE}")).ok()).flatten()
}

/// The history beside a file of facts.
pub(super) fn history_of(facts: &VaultPath) -> VaultPath {
    let folder = facts.as_str().strip_suffix(FACTS_FILE).unwrap_or_default();
    VaultPath::new(format!("{folder}{HISTORY_FILE}")).unwrap_or_else(|_| facts.clone())
}
