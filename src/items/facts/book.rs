//! The facts of one memory scope, as they were read.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use blake3::{Hash, Hasher};
use jiff::Timestamp;

use super::paths::{copies_of_history, history_of};
use crate::derive::facts::{Fact, FactChange, FactPhase, FactsFile, FactsHistory, NoticedBy, line_noticed_at};
use crate::items::ItemError;
use crate::items::store::{CLOCK_STEP_NS, ItemSnapshot, ReadAt, if_there, source};
use crate::path::VaultPath;
use crate::vault::{Source, Stamp, read_lines};

/// Maximum size of a history, which only ever grows.
const MAX_HISTORY_BYTES: u64 = 1 << 30;

/// Maximum time by which a line of a history may be ahead of the clock without being reported, in milliseconds: clocks of two machines differ.
const AHEAD_MS: i64 = 3_600_000;

/// What is strange about a line of a history.
#[derive(Debug, Clone, Copy)]
enum StrangeLine {
    /// It is not UTF-8.
    NoText,
    /// It was noticed then, in milliseconds since 1970.
    Ahead(i64),
}

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
    /// BLAKE3 of the hashes of the history and of its copies.
    history_hash: Hash,
    history_stamp: Option<Stamp>,
    /// What sync services have made of the history, which is read with it.
    copies: Vec<VaultPath>,
    /// Those of them that cannot be read, and why.
    unread: Vec<(VaultPath, String)>,
    /// Lines of the history and its copies that are no text, and one that is ahead of the clock: in which file, which, and what of it.
    strange: Vec<(VaultPath, usize, StrangeLine)>,
    copy_stamps: Vec<Option<Stamp>>,
    /// When the folder was last changed that they are in, in nanoseconds since 1970, as far as that tells a later change.
    folder: Mutex<Option<i128>>,
    read_at: ReadAt,
    /// Whether the history has all that the file says.
    pub(super) is_noticed: AtomicBool,
    /// Whether all but facts that have gone only just is noted, and no commit has taken those away.
    pub(super) waits: AtomicBool,
}

impl FactsBook {
    /// Reads the files; what has not changed since `known` is taken from there.
    pub(super) fn read(root: &Path, path: &VaultPath, max: u64, known: Option<&Self>) -> Result<Self, ItemError> {
        let read_at = ReadAt::now();
        let history_path = history_of(path);
        let facts = source(root, path, max)?;
        let folder = Mutex::new(settled_folder(root, path));
        let copies = copies_of_history(root, path);
        let history = lines_of(root, &history_path)?;
        let history_stamp = history.as_ref().map(|(source, _)| source.stamp);
        let mut hasher = Hasher::new();
        if let Some((source, _)) = &history {
            hasher.update(source.hash.as_bytes());
        }
        let (text, bad) = history.map(|(source, bad)| (source.text, bad)).unwrap_or_default();
        let no_text = |path: &VaultPath, bad: Vec<usize>| {
            bad.into_iter().map(|line| (path.clone(), line, StrangeLine::NoText)).collect::<Vec<_>>()
        };
        let mut strange = no_text(&history_path, bad);
        let mut texts = vec![(history_path, text)];
        let mut copy_stamps = Vec::with_capacity(copies.len());
        let mut unread = Vec::new();
        for copy in &copies {
            let stamp = copy.on_disk(root).symlink_metadata().ok().map(|meta| Stamp::of(&meta));
            // Two that noticed the same have named it alike: it counts once.
            match lines_of(root, copy) {
                Ok(found) => {
                    copy_stamps.push(found.as_ref().map(|(source, _)| source.stamp));
                    let Some((source, bad)) = found else { continue };
                    hasher.update(source.hash.as_bytes());
                    strange.extend(no_text(copy, bad));
                    texts.push((copy.clone(), source.text));
                }
                Err(error) => {
                    copy_stamps.push(stamp);
                    unread.push((copy.clone(), error.to_string()));
                }
            }
        }
        let known_facts = known.filter(|known| facts.as_ref().map(|source| source.hash) == known.hash);
        let read = || facts.as_ref().map(|source| FactsFile::read(&source.text)).unwrap_or_default();
        let history_hash = hasher.finalize();
        let read_history = || {
            let all: Vec<&str> = texts.iter().map(|(_, text)| text.as_str()).collect();
            Arc::new(FactsHistory::read(&all.join("\n")))
        };
        let known_history = known.filter(|known| history_hash == known.history_hash);
        let history = known_history.map_or_else(read_history, |known| Arc::clone(&known.history));
        let is_as_known = known.filter(|_| known_facts.is_some() && known_history.is_some());
        let is_noticed = is_as_known.is_some_and(|known| known.is_noticed.load(Ordering::SeqCst));
        strange.extend(latest_line(&history, &texts).map(|(path, line, at)| (path, line, StrangeLine::Ahead(at))));
        Ok(Self {
            path: path.clone(),
            facts: known_facts.map_or_else(|| Arc::new(read()), |known| Arc::clone(&known.facts)),
            history,
            stamp: facts.as_ref().map(|source| source.stamp),
            hash: facts.as_ref().map(|source| source.hash),
            history_hash,
            history_stamp,
            copies,
            unread,
            strange,
            copy_stamps,
            folder,
            read_at,
            is_noticed: AtomicBool::new(is_noticed),
            waits: AtomicBool::new(false),
        })
    }

    /// What is true of a fact of the file at a moment that is now, as it was written: what the file says, or what stood there before where that
    /// is still to begin.
    pub(crate) fn value_at<'b>(&'b self, fact: &'b Fact, at: i64) -> Option<&'b str> {
        match fact.phase(at) {
            Some(FactPhase::Current) => Some(&fact.text),
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
        let copied = "a sync service made this copy of the history, and it is read with it; put its lines at the end of facts.history.md, \
            and delete it";
        let said = move |copy: &VaultPath| match self.unread.iter().find(|(unread, _)| unread == copy) {
            None => copied.to_owned(),
            Some((_, error)) => format!(
                "this copy of the history cannot be read, and is left out; look into it, and delete it: {error}"
            ),
        };
        let now = Timestamp::now().as_millisecond();
        let of_lines = self.strange.iter().filter_map(move |(path, line, what)| {
            let message = match what {
                StrangeLine::NoText => "this line is not UTF-8 text, and is passed over".to_owned(),
                StrangeLine::Ahead(at) if at - now > AHEAD_MS => {
                    let at = Timestamp::from_millisecond(*at).unwrap_or_default();
                    format!("this line says that it was noticed at {at}, which is yet to come; put it right")
                }
                StrangeLine::Ahead(_) => return None,
            };
            Some((path.to_string(), Some(*line), message))
        });
        let of_copies = self.copies.iter().map(move |copy| (copy.to_string(), None, said(copy)));
        of_facts.chain(of_lines).chain(of_copies)
    }

    /// What is known once the file says something else: what was read of it then, and its hash. Its stamp is not known.
    pub(super) fn with_facts(&self, facts: FactsFile, hash: Hash) -> Self {
        Self { facts: Arc::new(facts), hash: Some(hash), ..self.unstamped() }
    }

    /// What is known once changes stand at the end of a history that had one hash, if it was there, and has another now; `None` where this
    /// is of another.
    pub(super) fn with_changes(&self, changes: &[FactChange], had: Option<Hash>, now: Hash) -> Option<Self> {
        let is_of_it = self.history_hash == hash_of(had) && self.copies.is_empty();
        let history = is_of_it.then(|| self.history.with(changes))?;
        Some(Self { history: Arc::new(history), history_hash: hash_of(Some(now)), ..self.unstamped() })
    }

    /// Whether the history that it has is the one of that hash, or none; copies of it may be behind that.
    pub(super) fn is_of_history(&self, hash: Option<Hash>) -> bool {
        self.history_hash == hash_of(hash) || !self.copies.is_empty()
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
            strange: self.strange.clone(),
            copy_stamps: Vec::new(),
            folder: Mutex::default(),
            read_at: ReadAt::default(),
            is_noticed: AtomicBool::new(false),
            waits: AtomicBool::new(false),
        }
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

impl ItemSnapshot for FactsBook {
    fn is_as_on_disk(&self, root: &Path) -> bool {
        let is_same = |path: &VaultPath, known: Option<Stamp>| self.read_at.is_same(root, path, known);
        is_same(&self.path, self.stamp)
            && is_same(&history_of(&self.path), self.history_stamp)
            && self.copies.len() == self.copy_stamps.len()
            && self.copies.iter().zip(&self.copy_stamps).all(|(path, stamp)| is_same(path, *stamp))
            && self.has_no_other_copy(root)
    }
}

/// BLAKE3 of the hash of a history that has no copies.
fn hash_of(history: Option<Hash>) -> Hash {
    let mut hasher = Hasher::new();
    if let Some(hash) = history {
        hasher.update(hash.as_bytes());
    }
    hasher.finalize()
}

/// The line that was noticed last, where that is after it was read: in which of the texts, which from 1, and when.
fn latest_line(history: &FactsHistory, texts: &[(VaultPath, String)]) -> Option<(VaultPath, usize, i64)> {
    let at = history.latest().filter(|at| *at > Timestamp::now().as_millisecond())?;
    texts.iter().find_map(|(path, text)| Some((path.clone(), line_noticed_at(text, at)?, at)))
}

/// When the folder of a file was last changed; `None` where it may change once more without another time.
fn settled_folder(root: &Path, path: &VaultPath) -> Option<i128> {
    let on_disk = path.on_disk(root);
    let changed = Timestamp::try_from(on_disk.parent()?.metadata().ok()?.modified().ok()?).ok()?.as_nanosecond();
    (changed < Timestamp::now().as_nanosecond() - i128::from(CLOCK_STEP_NS)).then_some(changed)
}

/// The lines of a history, where there is one, and those that are no text.
fn lines_of(root: &Path, path: &VaultPath) -> Result<Option<(Source, Vec<usize>)>, ItemError> {
    if_there(path, read_lines(root, path, MAX_HISTORY_BYTES))
}
