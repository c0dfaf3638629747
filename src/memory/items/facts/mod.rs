//! Facts: each `facts.md` with its history, and what changed in it noted.

#[cfg(test)]
mod tests;
mod write;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use blake3::Hash;
use jiff::Timestamp;
pub(crate) use write::FactWriter;

use super::ItemError;
use super::store::{ItemStore, if_there, names_in, source, stamp_of};
use crate::base::config::{AGENT_TYPES, MemoryScope, PROJECTS};
use crate::base::path::VaultPath;
use crate::base::state::{SeenTable, State};
use crate::text::derive::facts::{Fact, FactChange, FactState, FactsFile, FactsHistory, NoticedBy};
use crate::vault::disk::{Stamp, conflict_copy, git_is_busy, read_lines};

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
    pub(crate) keeps_history: bool,
    /// Files that any process on this machine has seen: when one of them is not there any more, its facts are gone.
    seen: Option<SeenTable>,
}

impl FactStore {
    /// The facts of the vault at `root`, which remembers in its state, where it is given, which files it has seen.
    pub(crate) fn new(root: PathBuf, keeps_history: bool, max_file_bytes: u64, state: Option<&Arc<State>>) -> Self {
        Self {
            store: ItemStore::new(root, max_file_bytes),
            keeps_history,
            seen: state.map(SeenTable::new),
        }
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
        let name = path.as_str().rsplit('/').nth(1).unwrap_or_default();
        let named = [MemoryScope::Project, MemoryScope::AgentType, MemoryScope::Agent];
        let mut scopes = vec![MemoryScope::User, MemoryScope::System, MemoryScope::Orchestrator];
        scopes.extend(named.map(|scope| scope(name.to_owned())));
        scopes.into_iter().find(|scope| self.path(scope).is_ok_and(|facts| facts == *path))
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
        let read = |known: Option<&FactsSnapshot>| FactsSnapshot::read(root, &path, *max_file_bytes, known);
        let book = self.store.get(&path, &[history_of(&path)], read)?;
        if !book.history.ahead.is_empty() {
            // Lines that are ahead of the clock count once their time has come.
            self.store.forget(&path);
        }
        Ok(book)
    }

    /// Whether a file was seen here before that is not there now. What iCloud keeps elsewhere until it is opened is there.
    fn is_taken_away(&self, path: &VaultPath) -> bool {
        let away = path.on_disk(self.root()).with_file_name(format!(".{FACTS_FILE}.icloud"));
        self.was_seen(path) && away.symlink_metadata().is_err()
    }

    fn was_seen(&self, path: &VaultPath) -> bool {
        self.seen.as_ref().is_some_and(|seen| seen.has(path.as_str()).unwrap_or(false))
    }

    /// Whether that a file was seen is written down, where there is a state to write it in.
    fn saw(&self, path: &VaultPath) -> bool {
        let added = self.seen.as_ref().filter(|_| !self.was_seen(path)).map_or(Ok(()), |seen| seen.add(path.as_str()));
        if let Err(error) = &added {
            tracing::warn!("should `{path}` be taken away, it is not noted: {error}");
        }
        added.is_ok()
    }

    /// What was taken away has been noted, or is to be named no more.
    fn saw_it_go(&self, path: &VaultPath) {
        if let Some(seen) = &self.seen
            && let Err(error) = seen.remove(path.as_str())
        {
            tracing::warn!("`{path}` is still known to have been there: {error}");
        }
    }

    /// No longer waits for files that went together with their histories: where they come back one after the other, nothing was taken away.
    /// Gives whether some have not been away for long enough at `now`, in milliseconds since 1970.
    pub(crate) fn let_go(&self, now: i64) -> bool {
        let _one = self.store.one_change();
        let seen = self.seen.as_ref().and_then(|seen| seen.all().ok()).unwrap_or_default();
        let seen = seen.into_iter().filter_map(|path| VaultPath::new(path).ok());
        let is_all_away = |path: &VaultPath| {
            let is_there = self.is_there(path) || self.is_there(&history_of(path));
            !is_there && copies_of_history(self.root(), path).is_empty()
        };
        let mut waits = false;
        for path in seen.filter(is_all_away) {
            if is_settled(self.root(), &path, now) {
                self.saw_it_go(&path);
            } else {
                waits = true;
            }
        }
        waits
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

/// Maximum size of a history, which only ever grows.
const MAX_HISTORY_BYTES: u64 = 1 << 30;
/// Maximum time by which a line of a history may be ahead of the clock, in milliseconds: clocks of two machines differ.
const AHEAD_MS: i64 = 3_600_000;

/// The facts of one memory scope and their history.
#[derive(Debug, Clone)]
pub(crate) struct FactsSnapshot {
    /// The file of the facts.
    pub(crate) path: VaultPath,
    /// What it says.
    pub(crate) facts: Arc<FactsFile>,
    /// What the history beside it says.
    pub(crate) history: Arc<FactsHistory>,
    /// The stamp of the file that was read; `None` where there is none.
    pub(crate) stamp: Option<Stamp>,
    /// BLAKE3 of the file.
    pub(super) hash: Option<Hash>,
    /// BLAKE3 of the history.
    pub(super) history_hash: Option<Hash>,
    /// Lines of the history that are no text.
    no_text: Vec<usize>,
    /// Whether the history has all that the file says.
    pub(super) is_noticed: Arc<AtomicBool>,
}

impl FactsSnapshot {
    /// Reads the files; what has not changed since `known` is taken from there.
    pub(super) fn read(root: &Path, path: &VaultPath, max: u64, known: Option<&Self>) -> Result<Self, ItemError> {
        let found = source(root, path, max)?;
        let (stamp, hash) = (found.as_ref().map(|source| source.stamp), found.as_ref().map(|source| source.hash));
        let history = history_of(path);
        let read = if_there(&history, read_lines(root, &history, MAX_HISTORY_BYTES))?;
        let history_hash = read.as_ref().map(|(source, _)| source.hash);
        let same_facts = known.filter(|known| known.hash == hash);
        let same_history = known.filter(|known| known.history_hash == history_hash);
        let is_noticed = same_facts.and(same_history).is_some_and(|known| known.is_noticed.load(Ordering::SeqCst));
        let read_facts = || Arc::new(found.map(|source| FactsFile::read(&source.text)).unwrap_or_default());
        let facts = same_facts.map_or_else(read_facts, |known| Arc::clone(&known.facts));
        let (text, no_text) = read.map(|(source, no_text)| (source.text, no_text)).unwrap_or_default();
        let latest = Timestamp::now().as_millisecond() + AHEAD_MS;
        let read_history = || Arc::new(FactsHistory::read_until(&text, latest));
        let history = same_history.map_or_else(read_history, |known| Arc::clone(&known.history));
        let (path, is_noticed) = (path.clone(), Arc::new(is_noticed.into()));
        Ok(Self { path, facts, history, stamp, hash, history_hash, no_text, is_noticed })
    }

    /// What is true of a fact of the file at a moment that is now, as it was written: what the file says, or what stood there before where that
    /// is still to begin.
    pub(crate) fn value_at<'b>(&'b self, fact: &'b Fact, at: i64) -> Option<&'b str> {
        match fact.phase(at) {
            Some(FactState::Current) => Some(&fact.text),
            _ => self.history.standing(fact, at).map(|window| window.text),
        }
    }

    /// The facts of the file that are true at a moment that is now, with their values as written.
    pub(crate) fn true_at(&self, at: i64) -> impl Iterator<Item = (&Fact, &str)> {
        self.facts.facts().filter_map(move |fact| Some((fact, self.value_at(fact, at)?)))
    }

    /// What the file says and a history does not.
    pub(super) fn unnoticed(&self, history: &FactsHistory, learned: i64, by: &str) -> Vec<FactChange> {
        history.unnoticed(&self.facts, &NoticedBy { learned, by, source: None })
    }

    /// What is wrong with the files: path, line, message.
    pub(crate) fn problems(&self) -> impl Iterator<Item = (String, Option<usize>, String)> {
        let of_facts = self.facts.problems.iter();
        let of_facts = of_facts.map(|problem| (self.path.to_string(), problem.line, problem.message.clone()));
        let no_text = self.no_text.iter().map(|line| (*line, "this line is not UTF-8 text, and is ignored"));
        let ahead = self.history.ahead.iter();
        let ahead = ahead.map(|line| (*line, "this line has a time in the future, and is ignored; correct it"));
        let history = self.history_path().to_string();
        let of_history = no_text.chain(ahead);
        of_facts.chain(of_history.map(move |(line, message)| (history.clone(), Some(line), message.to_owned())))
    }

    /// The same for who sees the file and not its history.
    pub(crate) fn without_history(&self) -> Self {
        Self { history: Arc::default(), ..self.clone() }
    }

    /// The history beside it; it may not be there.
    pub(crate) fn history_path(&self) -> VaultPath {
        history_of(&self.path)
    }
}
