//! Facts: each `facts.md` with its history, and what changed in it noted.

mod snapshot;
mod task;
#[cfg(test)]
mod tests;
mod write;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use blake3::Hash;
pub(crate) use snapshot::FactsSnapshot;
pub(crate) use task::{FactsParts, FactsSeen};
pub(crate) use write::{FactWriter, NoticedFacts};

use super::ItemError;
use super::store::{ItemStore, names_in, stamp_of};
use crate::base::config::{AGENT_TYPES, MemoryScope, PROJECTS};
use crate::base::path::VaultPath;
use crate::base::state::{SeenTable, State};
use crate::vault::disk::{conflict_copy, git_is_busy};

/// The file with the facts of a memory scope.
const FACTS_FILE: &str = "facts.md";
/// The file beside it with what became of them.
const HISTORY_FILE: &str = "facts.history.md";
/// Minimum time that a file has to be away, or without some of its facts, before they count as taken away, in milliseconds.
const SETTLE_MS: i64 = 3_000;

/// The facts of a vault.
#[derive(Debug)]
pub(crate) struct FactStore {
    store: ItemStore<FactsSnapshot>,
    /// Whether changes are noted.
    keeps_history: bool,
    /// Files that have been seen: when one of them is not there any more, its facts are gone.
    seen: Mutex<HashSet<VaultPath>>,
    /// Those that any process on this machine has seen.
    seen_before: Option<SeenTable>,
    /// The hash of the file that a change is writing, until it is noted.
    writing: Mutex<Option<Hash>>,
}

impl FactStore {
    /// The facts of the vault at `root`.
    pub(crate) fn new(root: PathBuf, keeps_history: bool, max_file_bytes: u64) -> Self {
        Self {
            store: ItemStore::new(root, max_file_bytes),
            keeps_history,
            seen: Mutex::default(),
            seen_before: None,
            writing: Mutex::default(),
        }
    }

    /// The same, which remembers in a vault's state which files it has seen.
    #[must_use]
    pub(crate) fn remembering(self, state: &Arc<State>) -> Self {
        Self { seen_before: Some(SeenTable::new(state)), ..self }
    }

    /// The file of a scope's facts.
    ///
    /// # Errors
    /// When the configuration names a folder that cannot be one.
    pub(crate) fn path(&self, scope: &MemoryScope) -> Result<VaultPath, ItemError> {
        let path = scope.folder() + FACTS_FILE;
        VaultPath::new(path).map_err(|_| ItemError::Scope(scope.clone()))
    }

    /// The scope of which a file has the facts, if it is one.
    pub(crate) fn scope_of(&self, path: &VaultPath) -> Option<MemoryScope> {
        let folder = path.as_str().strip_suffix(FACTS_FILE)?.trim_end_matches('/');
        let (above, name) = folder.rsplit_once('/').unwrap_or(("", folder));
        let scope = match above {
            _ if folder.is_empty() => MemoryScope::User,
            _ if folder == "system" => MemoryScope::System,
            _ if folder == "orchestrator" => MemoryScope::Orchestrator,
            PROJECTS => MemoryScope::Project(name.to_owned()),
            AGENT_TYPES => MemoryScope::AgentType(name.to_owned()),
            "agents" => MemoryScope::Agent(name.to_owned()),
            _ => return None,
        };
        self.path(&scope).is_ok_and(|facts| facts == *path).then_some(scope)
    }

    /// The file of facts beside which a file is the history, or a sync service's copy of that; it need not be there.
    pub(crate) fn facts_of_history(&self, path: &VaultPath) -> Option<VaultPath> {
        facts_beside(path).filter(|facts| self.scope_of(facts).is_some())
    }

    /// The memory scopes that have facts, or had some.
    pub(crate) fn scopes(&self) -> Vec<MemoryScope> {
        let mut scopes = vec![MemoryScope::User, MemoryScope::System, MemoryScope::Orchestrator];
        let names = |folder: &str| names_in(self.root(), folder).into_iter();
        scopes.extend(names(PROJECTS).map(MemoryScope::Project));
        scopes.extend(names(AGENT_TYPES).map(MemoryScope::AgentType));
        scopes.extend(names("agents").map(MemoryScope::Agent));
        scopes.retain(|scope| {
            self.path(scope).is_ok_and(|path| self.is_there(&path) || self.is_there(&history_of(&path)))
        });
        scopes.sort();
        scopes
    }

    /// Whether changes are noted.
    pub(crate) fn keeps_history(&self) -> bool {
        self.keeps_history
    }

    fn is_there(&self, path: &VaultPath) -> bool {
        path.on_disk(self.root()).symlink_metadata().is_ok_and(|meta| meta.is_file())
    }

    /// The facts of a scope as they are on disk now; none where there is no file.
    ///
    /// # Errors
    /// When a file cannot be read.
    pub(crate) fn book(&self, scope: &MemoryScope) -> Result<Arc<FactsSnapshot>, ItemError> {
        let path = self.path(scope)?;
        let ItemStore { root, max_file_bytes, .. } = &self.store;
        self.store.get(&path, |known, stamps| FactsSnapshot::read(root, &path, *max_file_bytes, known, stamps))
    }

    /// Whether a file was seen here before that is not there now. What iCloud keeps elsewhere until it is opened is there.
    fn is_taken_away(&self, path: &VaultPath) -> bool {
        let was_seen = || self.seen_before.as_ref().is_some_and(|seen| seen.has(path.as_str()).unwrap_or(false));
        let away = path.on_disk(self.root()).with_file_name(format!(".{FACTS_FILE}.icloud"));
        (self.seen().contains(path) || was_seen()) && away.symlink_metadata().is_err()
    }

    fn saw(&self, path: &VaultPath) {
        if self.seen().insert(path.clone())
            && let Some(seen) = &self.seen_before
            && let Err(error) = seen.add(path.as_str())
        {
            tracing::warn!("should `{path}` be taken away while no daemon runs, it is not noted: {error}");
        }
    }

    /// What was taken away has been noted, or is to be named no more.
    fn saw_it_go(&self, path: &VaultPath) {
        self.seen().remove(path);
        if let Some(seen) = &self.seen_before
            && let Err(error) = seen.remove(path.as_str())
        {
            tracing::warn!("`{path}` is still known to have been there: {error}");
        }
    }

    /// No longer waits for files that went together with their histories: where they come back one after the other, nothing was taken away.
    /// Gives whether some have not been away for long enough at `now`, in milliseconds since 1970.
    fn let_go(&self, now: i64) -> bool {
        let _one = self.store.one_change();
        let mut seen = self.seen().clone();
        let before = self.seen_before.as_ref().and_then(|seen| seen.all().ok()).unwrap_or_default();
        seen.extend(before.into_iter().filter_map(|path| VaultPath::new(path).ok()));
        let is_all_away = |path: &VaultPath| {
            let is_there = self.is_there(path) || self.is_there(&history_of(path));
            !is_there && copies_of_history(self.root(), path).is_empty()
        };
        let mut waits = false;
        for path in seen.into_iter().filter(is_all_away) {
            if is_settled(self.root(), &path, now) {
                self.saw_it_go(&path);
            } else {
                waits = true;
            }
        }
        waits
    }

    fn writing(&self) -> MutexGuard<'_, Option<Hash>> {
        self.writing.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn seen(&self) -> MutexGuard<'_, HashSet<VaultPath>> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn root(&self) -> &Path {
        &self.store.root
    }
}

/// The file of facts beside which a file is the history, or a sync service's copy of that.
fn facts_beside(path: &VaultPath) -> Option<VaultPath> {
    let of = conflict_copy(path, |_| true).map(|(of, _)| of);
    let folder = of.as_deref().unwrap_or(path.as_str()).strip_suffix(HISTORY_FILE)?;
    let is_folder = folder.is_empty() || folder.ends_with('/');
    is_folder.then(|| VaultPath::new(format!("{folder}{FACTS_FILE}")).ok()).flatten()
}

/// The copies that sync services have made of the history beside a file of facts, in the order of their names.
fn copies_of_history(root: &Path, facts: &VaultPath) -> Vec<VaultPath> {
    let history = history_of(facts);
    let folder = history.as_str().strip_suffix(HISTORY_FILE).unwrap_or_default();
    let names = names_in(root, folder).into_iter();
    let begin = HISTORY_FILE.strip_suffix("md").unwrap_or_default().trim_end_matches('.');
    let paths = names.filter(|name| name.starts_with(begin)).map(|name| VaultPath::new(format!("{folder}{name}")));
    let mut copies: Vec<VaultPath> =
        paths.flatten().filter(|path| *path != history && facts_beside(path).as_ref() == Some(facts)).collect();
    copies.sort();
    copies
}

/// The history beside a file of facts.
fn history_of(facts: &VaultPath) -> VaultPath {
    let folder = facts.as_str().strip_suffix(FACTS_FILE).unwrap_or_default();
    VaultPath::new(format!("{folder}{HISTORY_FILE}")).unwrap_or_else(|_| facts.clone())
}

/// Whether a file that is away, or lacks what it said, has been so for long enough at `now`, in milliseconds since 1970, and git is not at work.
///
/// By when the file was written, or something came or went where it was: who looks first sees that, too.
fn is_settled(root: &Path, path: &VaultPath, now: i64) -> bool {
    let stamp = path.on_disk(root).ancestors().find_map(stamp_of).unwrap_or_default();
    let is_long_ago = |at_ns: i64| now.abs_diff(at_ns / 1_000_000) >= SETTLE_MS.unsigned_abs();
    is_long_ago(stamp.mtime_ns) && is_long_ago(stamp.ctime_ns) && !git_is_busy(root)
}
