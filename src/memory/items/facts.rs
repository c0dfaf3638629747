//! Facts: each `facts.md` with its history; what changed in it noted, by whomever; and changing them.

#[cfg(test)]
mod tests;

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use blake3::Hash;
use jiff::Timestamp;

use super::store::{ItemError, ItemStore, edit, if_there, names_in, source, stamp_of};
use crate::base::config::{AGENT_TYPES, MemoryScope, PROJECTS};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::base::state::{SeenTable, State};
use crate::text::derive::ItemEditError;
use crate::text::derive::facts::{
    Fact, FactChange, FactChangeKind, FactEdit, FactState, FactsFile, FactsHistory, NoticedBy, edited, lines_after,
    read_value, without_changes, without_sources,
};
use crate::vault::disk::{
    Act, Action, CheckpointId, Files, NoteEdit, Stamp, WriteError, committed_at, conflict_copy, git_is_busy,
    read_lines, until_written,
};

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
        Self { store: ItemStore::new(root, max_file_bytes), keeps_history, seen: state.map(SeenTable::new) }
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

    /// The copies that sync services have made of the history beside a file of facts, which are not read.
    pub(crate) fn copies_of_history(&self, facts: &VaultPath) -> Vec<VaultPath> {
        copies_of_history(self.root(), facts)
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

/// Who changes a fact.
#[derive(Clone, Copy)]
pub(crate) struct FactWriter<'a> {
    /// Who writes the files.
    pub(crate) files: &'a Files,
    /// By the history: `owner`, `agent ada`.
    pub(crate) by: &'a str,
    /// Where it was learned.
    pub(crate) source: Option<&'a str>,
    /// As whom the file is written.
    pub(crate) act: Act<'a>,
    /// Whether nothing is written, and all else is as if it were.
    pub(crate) leaves: bool,
}

/// What became of a fact.
#[derive(Debug)]
pub(crate) struct FactWritten {
    /// Undoes it; `None` where the file says what it said.
    pub(crate) checkpoint: Option<CheckpointId>,
    /// The value before, as it was written.
    pub(crate) before: Option<String>,
}

impl FactStore {
    /// Changes a fact, and notes it. `expected` is the value that it is to have before, as written; `Some(None)` is none.
    ///
    /// # Errors
    /// When it has another, or none that could go, the file cannot be changed so, or the disk refuses.
    pub(crate) fn edit(
        &self,
        writer: &FactWriter<'_>,
        scope: &MemoryScope,
        (namespace, key): (&str, &str),
        fact_edit: &FactEdit<'_>,
        expected: Option<Option<&str>>,
    ) -> Result<FactWritten, ItemError> {
        let _one = self.store.one_change();
        // What it says of a span that is over: of which value, what, and which value it brings.
        let past = |history: &FactsHistory| match fact_edit {
            FactEdit::Was { text, window } => vec![(None, FactChangeKind::Was, (Some(text.as_str()), window))],
            FactEdit::WasNot { span } => {
                let known = history.values_in(namespace, key, span).into_iter();
                known.map(|text| (Some(text), FactChangeKind::WasNot, (None, span))).collect()
            }
            _ => Vec::new(),
        };
        if !matches!(fact_edit, FactEdit::Was { .. } | FactEdit::WasNot { .. }) {
            return self.change(writer, scope, (namespace, key), |text, book| {
                is_as_expected(book, namespace, key, expected)?;
                let now = edited(text, &book.facts, (namespace, key), fact_edit);
                now.map_err(|source| ItemError::edit(&book.path, source))
            });
        }
        self.notice_now(writer.files, scope, Timestamp::now().as_millisecond())?;
        let book = self.book(scope)?;
        is_as_expected(&book, namespace, key, expected)?;
        let said = past(&book.history);
        if said.is_empty() {
            return Err(ItemError::edit(&book.path, ItemEditError::Absent("fact")));
        }
        let noticed = noticed_by(writer);
        self.append(writer.files, scope, &book, writer.act, |history| {
            let (mut history, mut changes) = (history.clone(), Vec::new());
            for (old, kind, new) in past(&history) {
                let change = history.change((namespace, key), old.as_deref(), kind, new, &noticed);
                history = history.with(std::slice::from_ref(&change));
                changes.push(change);
            }
            changes
        })?;
        let taken_back: Vec<String> = said.into_iter().filter_map(|(old, ..)| old).collect();
        let before = if taken_back.is_empty() { value_of(&book, namespace, key) } else { Some(taken_back.join(", ")) };
        Ok(FactWritten { checkpoint: None, before })
    }

    /// Works out what the file says after a change, writes that over what it said, and notes it.
    fn change(
        &self,
        writer: &FactWriter<'_>,
        scope: &MemoryScope,
        (namespace, key): (&str, &str),
        change: impl Fn(&str, &FactsSnapshot) -> Result<String, ItemError>,
    ) -> Result<FactWritten, ItemError> {
        let path = self.path(scope)?;
        let (mut before, mut said) = (None, None);
        let written = edit(writer.files, &path, writer.act, |text| {
            // What somebody has edited before is theirs.
            self.notice_now(writer.files, scope, Timestamp::now().as_millisecond())?;
            let book = self.book(scope)?;
            if text.map(|text| blake3::hash(text.as_bytes())) != book.hash {
                return Ok(NoteEdit::Again);
            }
            before = value_of(&book, namespace, key);
            let text = text.unwrap_or_default();
            let now = change(text, &book)?;
            if now == text {
                return Ok(NoteEdit::Stays);
            }
            if writer.leaves {
                return Ok(NoteEdit::Left);
            }
            said = Some((book, FactsFile::read(&now)));
            Ok(NoteEdit::Text(now))
        });
        written.and_then(|checkpoint| {
            if let Some((book, facts)) = said.filter(|_| checkpoint.is_some()) {
                crash::point("fact-written");
                let noticed = noticed_by(writer);
                // Noted is what was written, whatever somebody has made of the file since.
                self.append(writer.files, scope, &book, writer.act, |history| {
                    let mut changes = history.unnoticed(&facts, &noticed);
                    // What somebody else has changed meanwhile is theirs, and noted as that.
                    changes.retain(|change| (change.namespace.as_str(), change.key.as_str()) == (namespace, key));
                    changes
                })?;
            }
            Ok(FactWritten { checkpoint, before })
        })
    }

    /// Notes what somebody has changed in a scope's file since it was last looked at. Gives whether something waits: facts of the file have
    /// gone, only just, and it may be on its way. All else is noted.
    ///
    /// # Errors
    /// When a file cannot be read, or the history not be written.
    pub(crate) fn notice(&self, files: &Files, scope: &MemoryScope) -> Result<bool, ItemError> {
        self.notice_at(files, scope, Timestamp::now().as_millisecond())
    }

    /// The same at a moment, in milliseconds since 1970.
    pub(super) fn notice_at(&self, files: &Files, scope: &MemoryScope, now: i64) -> Result<bool, ItemError> {
        if !self.keeps_history {
            return Ok(false);
        }
        let book = self.book(scope)?;
        if book.is_noticed.load(Ordering::SeqCst) {
            return Ok(false);
        }
        if book.stamp.is_some() && book.unnoticed(&book.history, now, "edit").is_empty() {
            book.is_noticed.store(self.saw(&book.path), Ordering::SeqCst);
            return Ok(false);
        }
        // What is being written is noted by who writes it.
        let _one = self.store.one_change();
        self.notice_now(files, scope, now)
    }

    fn notice_now(&self, files: &Files, scope: &MemoryScope, now: i64) -> Result<bool, ItemError> {
        let book = self.book(scope)?;
        // A file that is not there may be on its way: only who has seen it can say that it is gone.
        if !self.keeps_history || book.stamp.is_none() && !self.is_taken_away(&book.path) {
            return Ok(false);
        }
        let is_seen = book.stamp.is_none() || self.saw(&book.path);
        let found = book.unnoticed(&book.history, now, "edit");
        if found.is_empty() {
            book.is_noticed.store(is_seen, Ordering::SeqCst);
            if book.stamp.is_none() {
                self.saw_it_go(&book.path);
            }
            return Ok(false);
        }
        // Who writes a file anew may take it away first, or empty it, or has written a part of it.
        let has_gone = |change: &FactChange| book.facts.get(&change.namespace, &change.key).is_none();
        let committed = committed_at(self.root(), &book.path);
        let stays_so = || committed.is_some() || is_settled(self.root(), &book.path, now);
        let waits = found.iter().any(has_gone) && (git_is_busy(self.root()) || !stays_so());
        // What came with a commit is as old as that.
        let (learned, by) = committed.map_or((now, "edit"), |committed| (committed.min(now), "git"));
        self.append(files, scope, &book, Action::Edit.into(), |history| {
            let mut changes = book.unnoticed(history, learned, by);
            changes.retain(|change| !waits || !has_gone(change));
            changes
        })?;
        if !waits && book.stamp.is_none() {
            self.saw_it_go(&book.path);
        }
        Ok(waits)
    }

    /// Puts the changes that follow a history at its end. Where somebody else writes it meanwhile, they are those that follow what it says then.
    fn append(
        &self,
        files: &Files,
        scope: &MemoryScope,
        known: &Arc<FactsSnapshot>,
        act: Act<'_>,
        changes: impl Fn(&FactsHistory) -> Vec<FactChange>,
    ) -> Result<(), ItemError> {
        if !self.keeps_history {
            return Ok(());
        }
        let mut is_first = true;
        until_written(|| {
            let book = if std::mem::take(&mut is_first) { Arc::clone(known) } else { self.book(scope)? };
            let changes = changes(&book.history);
            if changes.is_empty() {
                return Ok(Ok(()));
            }
            crash::point("fact-noticed");
            let path = history_of(&book.path);
            let had = files.read(&path)?;
            let hash = had.as_ref().map(|(_, hash)| *hash);
            if book.history_hash != hash {
                return Ok(Err(WriteError::Changed(path)));
            }
            let mut bytes = had.map(|(bytes, _)| bytes).unwrap_or_default();
            // What in it is no text stays as it is.
            let after = lines_after(&String::from_utf8_lossy(&bytes), &changes);
            bytes.extend_from_slice(after.as_bytes());
            Ok(files.extend(&path, hash, &bytes, act).map(|_| crash::point("fact-noted")))
        })
    }

    /// Takes values out of a scope's file, which `then` does, and every trace of them out of its history, so that it cannot be undone.
    /// Nobody notes them anew meanwhile. Gives what `then` does, and why the history may have them still, if so.
    ///
    /// # Errors
    /// When `then` fails, before anything else is done.
    pub(crate) fn purge<T, E>(
        &self,
        files: &Files,
        facts: &VaultPath,
        is_meant: impl Fn(&FactChange, &str) -> bool,
        then: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, Option<ItemError>), E> {
        let _one = self.store.one_change();
        let done = then()?;
        crash::point("fact-purged");
        let left = self.rewrite_history(files, facts, |_| true, |text| without_changes(text, &is_meant)).err();
        self.store.forget(facts);
        if !self.is_there(facts) {
            self.saw_it_go(facts);
        }
        Ok((done, left))
    }

    /// Takes the places that are meant out of all histories, so that it cannot be undone: nothing names them any more. Gives what keeps a
    /// history from that: it cannot be read or written.
    pub(crate) fn hide_sources(&self, files: &Files, is_meant: impl Fn(&str) -> bool) -> Vec<ItemError> {
        let kept = match files.checkpoints() {
            Ok(kept) => kept.into_iter().map(|checkpoint| checkpoint.path).collect::<HashSet<_>>(),
            Err(error) => return vec![error.into()],
        };
        let hide = |facts: VaultPath| {
            let _one = self.store.one_change();
            self.rewrite_history(files, &facts, |path| kept.contains(path), |text| without_sources(text, &is_meant))
        };
        let facts = self.scopes().into_iter().filter_map(|scope| self.path(&scope).ok());
        facts.filter_map(|facts| hide(facts).err()).collect()
    }

    /// Writes what `without` makes of a history over it, and keeps nothing of what it was; nor where `is_kept` says that something of it may
    /// be there from before.
    fn rewrite_history(
        &self,
        files: &Files,
        facts: &VaultPath,
        is_kept: impl Fn(&VaultPath) -> bool,
        without: impl Fn(&str) -> String,
    ) -> Result<(), ItemError> {
        let rewrite = |path: &VaultPath| -> Result<(), ItemError> {
            let written = edit(files, path, Action::Forget.into(), |text| {
                let Some(text) = text else { return Ok(NoteEdit::Stays) };
                let without = without(text);
                Ok(if without == text { NoteEdit::Stays } else { NoteEdit::Text(without) })
            })?;
            if written.is_some() || is_kept(path) {
                files.purge(path)?;
            }
            Ok(())
        };
        let history = rewrite(&history_of(facts));
        // What a sync service has made a copy of says the same. Where one of them cannot be written the others are.
        let copies = copies_of_history(self.root(), facts);
        copies.iter().map(rewrite).fold(history, Result::and)
    }
}

/// Refuses where the value is another than the one who writes believes, who may have it in other words that read the same.
///
/// Where what the file says is still to begin, what is true until then is its value, too.
fn is_as_expected(
    book: &FactsSnapshot,
    namespace: &str,
    key: &str,
    expected: Option<Option<&str>>,
) -> Result<(), ItemError> {
    let Some(expected) = expected else { return Ok(()) };
    let now = value_of(book, namespace, key);
    let standing = book.facts.get(namespace, key);
    let standing = standing.and_then(|fact| book.history.standing(fact, Timestamp::now().as_millisecond()));
    let mut values = now.as_deref().into_iter().chain(standing.map(|window| window.text));
    let is_so = match expected {
        Some(text) => {
            values.any(|value| value == text || read_value(text).is_ok_and(|read| Ok(read) == read_value(value)))
        }
        None => values.next().is_none(),
    };
    if is_so {
        return Ok(());
    }
    let (path, now) = (book.path.clone(), now.map_or_else(|| "not there".to_owned(), |now| format!("`{now}`")));
    Err(ItemError::Other { path, key: key.to_owned(), now })
}

fn value_of(book: &FactsSnapshot, namespace: &str, key: &str) -> Option<String> {
    book.facts.get(namespace, key).map(|fact| fact.text.clone()).filter(|text| !text.is_empty())
}

fn noticed_by<'a>(writer: &FactWriter<'a>) -> NoticedBy<'a> {
    NoticedBy { learned: Timestamp::now().as_millisecond(), by: writer.by, source: writer.source }
}
