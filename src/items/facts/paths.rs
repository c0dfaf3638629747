//! The files of the facts of a memory scope.

use std::path::Path;

use crate::path::VaultPath;
use crate::vault::conflict_copy;

/// The file with the facts of a memory scope.
pub(crate) const FACTS_FILE: &str = "facts.md";
/// The file beside it with what became of them.
const HISTORY_FILE: &str = "facts.history.md";

/// The file of facts beside which a file is the history, or a sync service's copy of that.
pub(super) fn facts_beside(path: &VaultPath) -> Option<VaultPath> {
    let of = conflict_copy(path, |_| true).map(|(of, _)| of);
    let folder = of.as_deref().unwrap_or(path.as_str()).strip_suffix(HISTORY_FILE)?;
    let is_folder = folder.is_empty() || folder.ends_with('/');
    is_folder.then(|| VaultPath::new(format!("{folder}{FACTS_FILE}")).ok()).flatten()
}

/// The copies that sync services have made of the history beside a file of facts, in the order of their names.
pub(super) fn copies_of_history(root: &Path, facts: &VaultPath) -> Vec<VaultPath> {
    let history = history_of(facts);
    let folder = history.as_str().strip_suffix(HISTORY_FILE).unwrap_or_default();
    let entries = std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten();
    let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
    let begin = HISTORY_FILE.strip_suffix("md").unwrap_or_default().trim_end_matches('.');
    let paths = names.filter(|name| name.starts_with(begin)).map(|name| VaultPath::new(format!("{folder}{name}")));
    let mut copies: Vec<VaultPath> =
        paths.flatten().filter(|path| *path != history && facts_beside(path).as_ref() == Some(facts)).collect();
    copies.sort();
    copies
}

/// The history beside a file of facts.
pub(super) fn history_of(facts: &VaultPath) -> VaultPath {
    let folder = facts.as_str().strip_suffix(FACTS_FILE).unwrap_or_default();
    VaultPath::new(format!("{folder}{HISTORY_FILE}")).unwrap_or_else(|_| facts.clone())
}
