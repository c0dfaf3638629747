//! The facts of one memory scope, as they were read.

use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use blake3::Hash;
use jiff::Timestamp;

use super::LedgerError;
use super::paths::{copies_of_history, history_of};
use crate::derive::facts::{FactChange, FactsFile, FactsHistory};
use crate::path::VaultPath;
use crate::vault::{ReadError, Source, Stamp, read};

/// Maximum size of a history, which only ever grows.
const MAX_HISTORY_BYTES: u64 = 1 << 30;
/// A file that changed so short before it was read may change again without another stamp.
const CLOCK_STEP_NS: i64 = 50_000_000;

/// The facts of one memory scope and their history.
#[derive(Debug)]
pub(crate) struct FactsBook {
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
    /// BLAKE3 of the history, with its copies behind it.
    history_hash: Hash,
    history_stamp: Option<Stamp>,
    /// What sync services have made of the history, which is read with it.
    copies: Vec<VaultPath>,
    /// Those of them that cannot be read, and why.
    unread: Vec<(VaultPath, String)>,
    copy_stamps: Vec<Option<Stamp>>,
    /// When the folder was last changed that they are in, in nanoseconds since 1970, as far as that tells a later change.
    folder: Mutex<Option<i128>>,
    /// In nanoseconds since 1970.
    read_at: i64,
    /// Whether the history has all that the file says.
    pub(super) is_noticed: AtomicBool,
    /// Whether all but facts that have gone only just is noted, and no commit has taken those away.
    pub(super) waits: AtomicBool,
}

impl FactsBook {
    /// Reads the files; what has not changed since `known` is taken from there.
    pub(super) fn read(root: &Path, path: &VaultPath, max: u64, known: Option<&Self>) -> Result<Self, LedgerError> {
        let read_at = i64::try_from(Timestamp::now().as_nanosecond()).unwrap_or(i64::MAX);
        let history_path = history_of(path);
        let facts = source(root, path, max)?;
        let folder = Mutex::new(settled_folder(root, path));
        let copies = copies_of_history(root, path);
        let history = source(root, &history_path, MAX_HISTORY_BYTES)?;
        let history_stamp = history.as_ref().map(|source| source.stamp);
        let mut text = history.map(|source| source.text).unwrap_or_default();
        let mut copy_stamps = Vec::with_capacity(copies.len());
        let mut unread = Vec::new();
        for copy in &copies {
            let stamp = copy.on_disk(root).symlink_metadata().ok().map(|meta| Stamp::of(&meta));
            // Two that noticed the same have named it alike: it counts once.
            match source(root, copy, MAX_HISTORY_BYTES) {
                Ok(found) => {
                    copy_stamps.push(found.as_ref().map(|source| source.stamp));
                    text = found.map(|source| format!("{text}\n{}", source.text)).unwrap_or(text);
                }
                Err(error) => {
                    copy_stamps.push(stamp);
                    unread.push((copy.clone(), error.to_string()));
                }
            }
        }
        let known_facts = known.filter(|known| facts.as_ref().map(|source| source.hash) == known.hash);
        let read = || facts.as_ref().map(|source| FactsFile::read(&source.text)).unwrap_or_default();
        let history_hash = blake3::hash(text.as_bytes());
        let known_history = known.filter(|known| history_hash == known.history_hash);
        Ok(Self {
            path: path.clone(),
            facts: known_facts.map_or_else(|| Arc::new(read()), |known| Arc::clone(&known.facts)),
            history: known_history
                .map_or_else(|| Arc::new(FactsHistory::read(&text)), |known| Arc::clone(&known.history)),
            stamp: facts.as_ref().map(|source| source.stamp),
            hash: facts.as_ref().map(|source| source.hash),
            history_hash,
            history_stamp,
            copies,
            unread,
            copy_stamps,
            folder,
            read_at,
            is_noticed: AtomicBool::new(false),
            waits: AtomicBool::new(false),
        })
    }

    /// What is wrong with the files: path, line, message.
    pub(crate) fn problems(&self) -> impl Iterator<Item = (String, Option<usize>, String)> {
        let of_facts = self.facts.problems.iter();
        let of_facts = of_facts.map(|problem| (self.path.to_string(), problem.line, problem.message.clone()));
        let copied = "a sync service made this copy of the history, and it is read with it; put its lines at the end of facts.history.md, \
            and delete it";
        let said = move |copy: &VaultPath| match self.unread.iter().find(|(unread, _)| unread == copy) {
            None => copied.to_owned(),
            Some((_, error)) => format!(
                "this copy of the history cannot be read, and is left out; look into it, and delete it: {error}"
            ),
        };
        of_facts.chain(self.copies.iter().map(move |copy| (copy.to_string(), None, said(copy))))
    }

    /// What is known once the file says something else: what was read of it then, and its hash. Its stamp is not known.
    pub(super) fn with_facts(&self, facts: FactsFile, hash: Hash) -> Self {
        Self { facts: Arc::new(facts), hash: Some(hash), ..self.unstamped() }
    }

    /// What is known once changes stand at the end of a history that had one hash and has another now; `None` where this is of another.
    pub(super) fn with_changes(&self, changes: &[FactChange], had: Hash, now: Hash) -> Option<Self> {
        let history = (self.history_hash == had && self.copies.is_empty()).then(|| self.history.with(changes))?;
        Some(Self { history: Arc::new(history), history_hash: now, ..self.unstamped() })
    }

    /// Whether the history that it has is the one of that hash; copies of it may be behind that.
    pub(super) fn is_of_history(&self, hash: Hash) -> bool {
        self.history_hash == hash || !self.copies.is_empty()
    }

    /// The same for who sees the file and not its history.
    pub(crate) fn without_history(&self) -> Self {
        Self { history: Arc::default(), stamp: self.stamp, ..self.unstamped() }
    }

    /// The files that the history was read of, those included that sync services made; one may not be there.
    pub(crate) fn history_paths(&self) -> impl Iterator<Item = VaultPath> {
        std::iter::once(history_of(&self.path)).chain(self.copies.iter().cloned())
    }

    fn unstamped(&self) -> Self {
        Self {
            path: self.path.clone(),
            facts: Arc::clone(&self.facts),
            history: Arc::clone(&self.history),
            stamp: None,
            hash: self.hash,
            history_hash: self.history_hash,
            history_stamp: None,
            copies: self.copies.clone(),
            unread: self.unread.clone(),
            copy_stamps: Vec::new(),
            folder: Mutex::default(),
            read_at: 0,
            is_noticed: AtomicBool::new(false),
            waits: AtomicBool::new(false),
        }
    }

    /// Whether all files are still as they were read.
    pub(super) fn is_as_on_disk(&self, root: &Path) -> bool {
        let is_same = |path: &VaultPath, known: Option<Stamp>| {
            let now = path.on_disk(root).symlink_metadata().ok().map(|meta| Stamp::of(&meta));
            now == known && known.is_none_or(|known| known.mtime_ns.max(known.ctime_ns) < self.read_at - CLOCK_STEP_NS)
        };
        is_same(&self.path, self.stamp)
            && is_same(&history_of(&self.path), self.history_stamp)
            && self.copies.len() == self.copy_stamps.len()
            && self.copies.iter().zip(&self.copy_stamps).all(|(path, stamp)| is_same(path, *stamp))
            && self.has_no_other_copy(root)
    }

    /// Whether the copies are those that were there. The folder is listed where something came or went in it.
    fn has_no_other_copy(&self, root: &Path) -> bool {
        let mut folder = self.folder.lock().unwrap_or_else(PoisonError::into_inner);
        let now = settled_folder(root, &self.path);
        if now.is_some() && now == *folder {
            return true;
        }
        *folder = now;
        copies_of_history(root, &self.path) == self.copies
    }
}

/// When the folder of a file was last changed; `None` where it may change once more without another time.
fn settled_folder(root: &Path, path: &VaultPath) -> Option<i128> {
    let on_disk = path.on_disk(root);
    let changed = Timestamp::try_from(on_disk.parent()?.metadata().ok()?.modified().ok()?).ok()?.as_nanosecond();
    (changed < Timestamp::now().as_nanosecond() - i128::from(CLOCK_STEP_NS)).then_some(changed)
}

/// A file, where there is one.
fn source(root: &Path, path: &VaultPath, max: u64) -> Result<Option<Source>, LedgerError> {
    match read(root, path, max) {
        Ok(source) => Ok(Some(source)),
        Err(ReadError::Gone) => Ok(None),
        Err(source) => Err(LedgerError::Read { path: path.clone(), source }),
    }
}
