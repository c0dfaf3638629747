//! From places that may have changed to a batch in the stores: which files wait to be read, in what order, and how they are read, parsed and
//! cut. Large files would hold up all others: one at a time is read on a thread of its own, so that a note saved meanwhile does not wait for it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

use blake3::Hash;
use jiff::Timestamp;

use super::worker::{Worker, WorkerMessage};
use crate::access::rules::is_agents_elsewhere;
use crate::base::clock::Clock;
use crate::base::config::StemmerLanguage;
use crate::base::path::VaultPath;
use crate::index::engine::{EngineError, FileEntry, FileInfo, FileUpdate, NewChunk};
use crate::text::derive::words::Stemming;
use crate::text::derive::{Bounds, Label, TextLanguage, chunk_within, cut_heading, note_sources};
use crate::text::note::{Note, Visibility};
use crate::vault::attachments::AttachmentReader;
use crate::vault::disk::{Change, NoteRules, ReadError, Scan, Source, Stamp, is_note, read_file, scan};

/// Files that wait to be read. Those that the watcher named go before those that a scan found. Among the former each folder
/// has its turn, and in it notes that are known and those that are new, the newest first: what a person saves does not wait
/// behind the thousands that a checkout or a sync brings into another folder, or beside it.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    /// The newest last.
    named: HashMap<BacklogTurn, Vec<VaultPath>>,
    turns: VecDeque<BacklogTurn>,
    bulk: VecDeque<VaultPath>,
    /// Which of the two each path waits in; what stands elsewhere is skipped.
    waiting: HashMap<VaultPath, Lane>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct BacklogTurn {
    folder: String,
    known: bool,
}

impl BacklogTurn {
    fn of(path: &VaultPath, known: bool) -> Self {
        let folder = path.as_str().rsplit_once('/').map_or("", |(folder, _)| folder);
        Self { folder: folder.to_owned(), known }
    }
}

/// Why a file waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Lane {
    /// The watcher named it.
    Named,
    /// A scan found it.
    Bulk,
}

impl Backlog {
    /// Puts a file that the watcher named before the others of its folder; `known` says that it is in the index.
    pub(super) fn push_named(&mut self, path: VaultPath, known: bool) {
        if self.waiting.insert(path.clone(), Lane::Named) == Some(Lane::Named) {
            return;
        }
        let turn = BacklogTurn::of(&path, known);
        let waiting = self.named.entry(turn.clone()).or_default();
        if waiting.is_empty() {
            self.turns.push_back(turn);
        }
        waiting.push(path);
    }

    /// Puts a file that a scan found behind all others, unless it waits already.
    pub(super) fn push(&mut self, path: VaultPath) {
        if !self.waiting.contains_key(&path) {
            self.waiting.insert(path.clone(), Lane::Bulk);
            self.bulk.push_back(path);
        }
    }

    /// Why the next file waits.
    pub(super) fn next_lane(&self) -> Option<Lane> {
        match (self.turns.is_empty(), self.is_empty()) {
            (false, _) => Some(Lane::Named),
            (true, false) => Some(Lane::Bulk),
            (true, true) => None,
        }
    }

    /// Takes the next file. It is no longer waiting: when it is named meanwhile, it is read again.
    pub(super) fn pop(&mut self) -> Option<(VaultPath, Lane)> {
        if let Some(turn) = self.turns.pop_front() {
            let waiting = self.named.get_mut(&turn)?;
            let path = waiting.pop()?;
            if waiting.is_empty() {
                self.named.remove(&turn);
            } else {
                self.turns.push_back(turn);
            }
            self.waiting.remove(&path);
            return Some((path, Lane::Named));
        }
        loop {
            let path = self.bulk.pop_front()?;
            if self.waiting.get(&path) == Some(&Lane::Bulk) {
                self.waiting.remove(&path);
                return Some((path, Lane::Bulk));
            }
        }
    }

    /// Forgets all files.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// How many files wait.
    pub(super) fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Whether none waits.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }
}

/// What reading a file came to.
#[derive(Debug)]
enum PreparedFile {
    /// It changed.
    Changed(Box<FileUpdate>),
    /// Its content is what the index has; only its stamp may differ. The number is when it was read.
    Unchanged(VaultPath, Stamp, i64),
    /// It is gone.
    Gone(VaultPath),
    /// It was being written: try again soon.
    Changing(VaultPath),
    /// It cannot be indexed, for the reason given.
    Unfit(VaultPath, String),
}

/// What reading a file takes. It goes to whatever thread does it, which may be at work still when the lock is let go of.
struct FileReading {
    /// The vault's root.
    root: PathBuf,
    /// What belongs to the vault.
    rules: NoteRules,
    /// Files over this size are not indexed.
    max_bytes: u64,
    /// Who reads what is no note.
    attachments: Arc<AttachmentReader>,
    stemmer: StemmerLanguage,
    /// When files are read.
    clock: Clock,
}

impl FileReading {
    /// Whether a file is to be read by itself: an attachment may take seconds, however small it is.
    fn is_large(&self, path: &VaultPath) -> bool {
        let on_disk = || self.rules.outside().on_disk(&self.root, path).symlink_metadata();
        path.is_document() || on_disk().is_ok_and(|meta| (LARGE_BYTES..=self.max_bytes).contains(&meta.len()))
    }

    /// Reads a file. One note that the parser fails on must not keep all others from being found.
    fn read(&self, path: VaultPath, known: Option<&FileEntry>, stemming: &mut Stemming) -> PreparedFile {
        match catch_unwind(AssertUnwindSafe(|| self.prepare(&path, known, stemming))) {
            Ok(Ok(prepared)) => prepared,
            Ok(Err(ReadError::Gone)) => PreparedFile::Gone(path),
            Ok(Err(ReadError::Changing)) => PreparedFile::Changing(path),
            Ok(Err(ReadError::Unfit(reason))) => PreparedFile::Unfit(path, reason),
            Err(_) => PreparedFile::Unfit(path, "reading it failed unexpectedly; please report this".into()),
        }
    }

    /// Reads a file and, when it is not what the index has (`known`), parses it and cuts it into chunks.
    fn prepare(
        &self,
        path: &VaultPath,
        known: Option<&FileEntry>,
        stemming: &mut Stemming,
    ) -> Result<PreparedFile, ReadError> {
        let read_ns = self.clock.now().as_nanosecond() as i64;
        let outside = self.rules.outside();
        let (folder, within) = outside.place(&self.root, path);
        let within = within.as_deref().ok_or(ReadError::Gone)?;
        let file = read_file(folder, within, self.max_bytes)?;
        // Only what has changed is worth a process.
        if let Some(same) = as_known(known, path, file.stamp, file.hash, read_ns) {
            return Ok(same);
        }
        let (source, problems) = match path.is_document() {
            true => self.attachments.read(path, file)?,
            false => (file.text()?, Vec::new()),
        };
        let elsewhere = outside.of(path).map(|folder| (folder.name.clone(), within.clone()));
        let mut update = update(path.clone(), elsewhere, source, read_ns, stemming);
        update.problems.extend(problems);
        Ok(PreparedFile::Changed(Box::new(update)))
    }
}

/// What there is to do for a file of which the index needs nothing new, or that is being written.
fn as_known(
    known: Option<&FileEntry>,
    path: &VaultPath,
    stamp: Stamp,
    hash: Hash,
    read_ns: i64,
) -> Option<PreparedFile> {
    let known = known?;
    let since = read_ns.saturating_sub(stamp.mtime_ns);
    if stamp.size == 0 && known.stamp.size > 0 && (0..EMPTIED_GRACE_NS).contains(&since) {
        return Some(PreparedFile::Changing(path.clone()));
    }
    let modified_ms = |stamp: &Stamp| stamp.mtime_ns / 1_000_000;
    let before = modified_ms(&known.stamp);
    // The times of a note whose frontmatter has none are the file's.
    let dated_by_file = known.created_ms == before || known.updated_ms == before;
    let is_same = known.hash == *hash.as_bytes() && known.path == *path;
    let is_dated = before == modified_ms(&stamp) || !dated_by_file;
    (is_same && is_dated).then(|| PreparedFile::Unchanged(path.clone(), stamp, read_ns))
}

/// Grace period until it is believed that a note is empty, in nanoseconds. An editor that writes in place empties the
/// file first.
const EMPTIED_GRACE_NS: i64 = 500_000_000;

/// What the index takes of a file. One `elsewhere` is of a collection, and has a path within that folder.
fn update(
    path: VaultPath,
    elsewhere: Option<(VaultPath, VaultPath)>,
    source: Source,
    read_ns: i64,
    stemming: &mut Stemming,
) -> FileUpdate {
    let mut note = Note::of(&path, &source.text);
    note.title = cut_heading(&note.title).to_owned();
    let language = TextLanguage::of_note(&note, &source.text);
    let cut = chunk_within(&path, &note, &source.text, Bounds::INDEX);
    let modified_ms = source.stamp.mtime_ns / 1_000_000;
    let ms = |time: Option<Timestamp>| time.map(Timestamp::as_millisecond);
    let mut problems: Vec<String> = note
        .problems
        .iter()
        .map(|problem| match problem.line {
            Some(line) => format!("line {line}: {}", problem.message),
            None => problem.message.clone(),
        })
        .collect();
    if note.visibility == Visibility::BrokenFrontmatter {
        problems.push("only you see this note until its frontmatter is repaired".into());
    }
    if let Some(line) = cut.rest {
        problems.push(format!(
            "line {line}: the note has {} passages up to here, and the rest is not indexed; split it into several notes",
            cut.chunks.len()
        ));
    }
    let chunks = NewChunk::all(cut.chunks, &note, &path, language, stemming);
    let speakers = chunks.iter().flat_map(|chunk| &chunk.speakers);
    let within = elsewhere.as_ref().map_or(&path, |(_, within)| within);
    let sources = note_sources(&note, within, elsewhere.as_ref().map(|(folder, _)| folder), &source.text);
    let is_agents = elsewhere.is_some() && is_agents_elsewhere(within.as_str());
    let info = FileInfo {
        private: note.is_private() || is_agents,
        sources,
        stamp: source.stamp,
        hash: *source.hash.as_bytes(),
        read_ns,
        labels: Label::all(&note, path.stem(), &source.text, language.map(TextLanguage::code), speakers),
        title: note.title,
        tags: note.tags,
        doubtful: note.doubtful,
        created_ms: ms(note.created).unwrap_or(modified_ms),
        updated_ms: ms(note.updated).unwrap_or(modified_ms),
        path,
    };
    let metadata = serde_json::Value::Object(note.metadata).to_string();
    FileUpdate { info, metadata, problems, chunks }
}

/// Maximum time that a batch reads, so that a note just saved does not wait behind a bulk import.
const BATCH_TIME: Duration = Duration::from_millis(100);

/// Files of the first batch. How many the next one has follows from how long the last one took.
pub(super) const FIRST_BATCH: usize = 64;
/// A batch is never larger: what is taken of the backlog cannot be overtaken.
const LARGEST_BATCH: usize = 4096;
/// Target time of all that is done of a batch, until it can be found.
const BATCH_GOAL: Duration = Duration::from_millis(200);

impl Worker<'_> {
    fn reading(&self) -> FileReading {
        FileReading {
            root: self.options.root.clone(),
            rules: self.options.rules.clone(),
            max_bytes: self.options.index.max_file_bytes,
            attachments: Arc::clone(&self.options.attachments),
            stemmer: self.store.stemmer(),
            clock: self.options.clock.clone(),
        }
    }

    /// Compares the whole vault with the index, and queues what has changed behind what waits already; with `distrust`, all
    /// files. Says whether it could be compared: what a vault holds that is unmounted or moved is unknown, not gone.
    pub(super) fn look(&mut self, distrust: bool) -> Result<bool, EngineError> {
        if !self.is_in_place() {
            return Ok(false);
        }
        self.shared.update(|progress| progress.failure = None);
        let all = scan(&self.options.root, &self.options.rules, None);
        let made = plan(self.store.files().iter(), &all, distrust);
        if !made.remove.is_empty() && !self.is_in_place() {
            return Ok(false);
        }
        // What lies in a folder that cannot be listed is unknown, not gone.
        if !all.root_unreadable && all.unreadable.is_empty() {
            self.options
                .attachments
                .retain(all.files.iter().map(|found| &found.path).filter(|path| path.is_document()));
        }
        let mut news = self.set_skipped(None, all)?;
        if self.scanned {
            // An editor may be about to put the file back: it gets the grace of a removal.
            made.remove.into_iter().for_each(|path| self.debounce.note(path, Change::Removed, Instant::now()));
        } else if !made.remove.is_empty() {
            self.store.apply(Vec::new(), made.remove)?;
            news = true;
        }
        self.scanned = true;
        if news {
            self.publish()?;
        }
        made.read.into_iter().for_each(|path| self.backlog.push(path));
        Ok(true)
    }

    /// Looks at places that the watcher named, and queues what is there before what scans found.
    pub(super) fn look_at(&mut self, places: &[VaultPath]) -> Result<(), EngineError> {
        let (root, rules) = (&self.options.root, &self.options.rules);
        // Most are notes that were saved. What is gone, or is a folder, stands for all that is or was below it.
        let (notes, others): (Vec<&VaultPath>, Vec<&VaultPath>) =
            places.iter().partition(|place| is_note(root, rules, place));
        let mut found = Scan::default();
        for place in &others {
            let scanned = scan(root, rules, Some(place));
            found.files.extend(scanned.files);
            found.skipped.extend(scanned.skipped);
            found.unreadable.extend(scanned.unreadable);
        }
        // So does a note that is new: it may be where a folder was.
        let new_notes = notes.iter().filter(|note| self.store.file(note).is_none());
        let tops: Vec<&VaultPath> = others.iter().chain(new_notes).copied().collect();
        let made = if tops.iter().all(|place| self.store.file(place).is_some()) {
            plan(tops.iter().filter_map(|place| self.store.file(place)), &found, false)
        } else {
            let tops: HashSet<&str> = tops.iter().map(|place| place.as_str()).collect();
            let below = |path: &VaultPath| path.and_parents().any(|path| tops.contains(path));
            plan(self.store.files().iter().filter(|file| below(&file.path)), &found, false)
        };
        if !made.remove.is_empty() && !self.is_in_place() {
            return Ok(());
        }
        let mut news = self.set_skipped(Some(places), found)?;
        if !made.remove.is_empty() {
            let gone = made.remove.iter().filter(|path| path.is_document());
            gone.filter_map(|path| self.options.attachments.forget(path)).for_each(|kept| tracing::warn!("{kept}"));
            self.store.apply(Vec::new(), made.remove)?;
            news = true;
        }
        if news {
            self.publish()?;
        }
        for path in notes.into_iter().cloned().chain(made.read) {
            let known = self.store.file(&path).is_some();
            self.backlog.push_named(path, known);
        }
        Ok(())
    }

    fn set_skipped(&mut self, places: Option<&[VaultPath]>, found: Scan) -> Result<bool, EngineError> {
        let skipped: Vec<(String, String)> =
            found.skipped.into_iter().map(|skipped| (skipped.path, skipped.reason)).collect();
        self.store.set_skipped(places, &skipped)
    }

    /// Reads files of the backlog on all cores until the batch's time is over, and applies what has changed.
    pub(super) fn read_batch(&mut self) -> Result<(), EngineError> {
        let started = Instant::now();
        let deadline = started + BATCH_TIME;
        let (reading, limit, files) = (self.reading(), self.batch_files, self.store.files());
        // What the watcher named is not held up by what scans found.
        let lane = self.backlog.next_lane();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(self.backlog.len());
        let waiting = Mutex::new((0, &mut self.backlog, &mut self.large.waiting));
        let next = || {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            let (taken, backlog, large) = &mut *waiting;
            while *taken < limit && (*taken == 0 || Instant::now() < deadline) && backlog.next_lane() == lane {
                match backlog.pop()? {
                    (path, Lane::Named) if reading.is_large(&path) => large.push_named(path, true),
                    (path, Lane::Bulk) if reading.is_large(&path) => large.push(path),
                    (path, _) => {
                        *taken += 1;
                        return Some((*taken, path));
                    }
                }
            }
            None
        };
        let outcomes = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            let work = || {
                let mut stemming = Stemming::new(reading.stemmer);
                while let Some((at, path)) = next() {
                    let known = files.at(path.as_str()).map(Arc::as_ref);
                    let outcome = reading.read(path, known, &mut stemming);
                    outcomes.lock().unwrap_or_else(PoisonError::into_inner).push((at, outcome));
                }
            };
            (1..threads).for_each(|_| {
                scope.spawn(work);
            });
            work();
        });
        let mut outcomes = outcomes.into_inner().unwrap_or_else(PoisonError::into_inner);
        // The order in which files get their rows must not depend on which thread was faster.
        outcomes.sort_by_key(|(at, _)| *at);
        let done = outcomes.len();
        self.take(outcomes.into_iter().map(|(_, outcome)| outcome).collect())?;
        self.shared.update(|progress| progress.files_done += done);
        self.batch_files = next_batch(self.batch_files, done, started.elapsed());
        Ok(())
    }

    fn take(&mut self, outcomes: Vec<PreparedFile>) -> Result<(), EngineError> {
        let (mut updates, mut removed, mut touched, mut unfit) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for outcome in outcomes {
            match outcome {
                PreparedFile::Changed(update) => {
                    updates.push(*update);
                }
                PreparedFile::Unchanged(path, stamp, read_ns) => {
                    touched.push((path, stamp, read_ns));
                }
                PreparedFile::Gone(path) => {
                    self.debounce.note(path, Change::Removed, Instant::now());
                }
                PreparedFile::Changing(path) => {
                    self.debounce.note(path, Change::Written, Instant::now());
                }
                PreparedFile::Unfit(path, reason) => {
                    unfit.push((path.to_string(), reason));
                    removed.push(path);
                }
            }
        }
        let mut news = false;
        removed.retain(|path| self.store.file(path).is_some());
        if !unfit.is_empty() {
            let places: Vec<VaultPath> =
                unfit.iter().filter_map(|(path, _)| VaultPath::new(path.clone()).ok()).collect();
            news |= self.store.set_skipped(Some(&places), &unfit)?;
        }
        if !touched.is_empty() {
            // Until its new stamp is known to those who ask, a note counts as changed, and no agent is given it.
            let known = |path| self.store.file(path).map(|file| file.stamp);
            news |= touched.iter().any(|(path, stamp, _)| known(path).is_some_and(|known| known != *stamp));
            self.store.touch(&touched)?;
        }
        news |= !(updates.is_empty() && removed.is_empty());
        self.store.apply(updates, removed)?;
        if news {
            self.publish()?;
        }
        Ok(())
    }
}

/// How many files the next batch has at most, after one of `limit` in which `done` were read took so long.
fn next_batch(limit: usize, done: usize, took: Duration) -> usize {
    let fitting = done as f64 * BATCH_GOAL.as_secs_f64() / took.as_secs_f64().max(0.001);
    // A batch that was not full says little of a larger one.
    let fitting = if done < limit { fitting.max(limit as f64) } else { fitting.min(limit as f64 * 2.0) };
    (fitting as usize).clamp(FIRST_BATCH.min(limit), LARGEST_BATCH)
}

/// What is to be done for the index to agree with the disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Files that are new or may have changed, newest first.
    pub read: Vec<VaultPath>,
    /// Files that are gone.
    pub remove: Vec<VaultPath>,
}

/// A file changed this short before it was read may change again without its time changing: git calls it racily clean.
const RACY_NS: i64 = 2_000_000_000;

/// Compares what a scan found with what the catalog knows of the same places. With `distrust`, every file is read.
pub(crate) fn plan<'a>(known: impl Iterator<Item = &'a Arc<FileEntry>>, scan: &Scan, distrust: bool) -> Plan {
    let mut known: HashMap<&VaultPath, &FileEntry> = known.map(|file| (&file.path, file.as_ref())).collect();
    let mut read: Vec<(i64, &VaultPath)> = Vec::new();
    for found in &scan.files {
        let same = known.remove(&found.path).is_some_and(|file| {
            file.stamp == found.stamp
                && file.read_ns.saturating_sub(file.stamp.mtime_ns.max(file.stamp.ctime_ns)) > RACY_NS
        });
        if distrust || !same {
            read.push((found.stamp.mtime_ns, &found.path));
        }
    }
    read.sort_by(|one, two| two.0.cmp(&one.0).then_with(|| one.1.cmp(two.1)));
    // What lies in a folder that cannot be listed is unknown, not gone; what cannot be indexed any more is gone from here.
    let below = |path: &VaultPath, folder: &VaultPath| {
        path.as_str().strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let unknown = |path: &VaultPath| scan.root_unreadable || scan.unreadable.iter().any(|folder| below(path, folder));
    let mut remove: Vec<VaultPath> = known.into_keys().filter(|path| !unknown(path)).cloned().collect();
    let reading: HashSet<&VaultPath> = read.iter().map(|(_, path)| *path).collect();
    remove.retain(|path| !reading.contains(path));
    remove.sort();
    Plan { read: read.into_iter().map(|(_, path)| path.clone()).collect(), remove }
}

/// Reading this much takes a tenth of a second on a slow machine, and parsing and cutting it is most of it.
const LARGE_BYTES: u64 = 500_000;

/// What is large, from the backlog to the stores.
#[derive(Default)]
pub(super) struct Large {
    /// Files to be read.
    pub(super) waiting: Backlog,
    /// Who reads one now.
    reading: Option<ThreadId>,
}

impl Large {
    /// How many files there are.
    pub(super) fn len(&self) -> usize {
        self.waiting.len() + usize::from(self.reading.is_some())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl Worker<'_> {
    /// Has the next large file read. That is done when the stores have the one before, so that memory holds one.
    pub(super) fn read_next_large(&mut self) {
        if self.large.reading.is_some() {
            return;
        }
        let Some((path, _)) = self.large.waiting.pop() else { return };
        let (reading, messages, known) = (self.reading(), self.messages.clone(), self.store.file(&path).cloned());
        let thread = std::thread::spawn(move || {
            let outcome = reading.read(path.clone(), known.as_deref(), &mut Stemming::new(reading.stemmer));
            let id = std::thread::current().id();
            let _ = messages.send(WorkerMessage::to_do(move |worker| worker.take_large(id, path, outcome)));
        });
        self.large.reading = Some(thread.thread().id());
    }

    /// Takes what was read of a large file. It was not held up, so it may have changed, gone, or left the index since.
    fn take_large(&mut self, id: ThreadId, path: VaultPath, outcome: PreparedFile) -> Result<(), EngineError> {
        // One of before the stores were closed, or the vault went away, tells nothing.
        if self.large.reading.take_if(|reading| *reading == id).is_none() {
            return Ok(());
        }
        let known = self.store.file(&path).is_some();
        let up_to_date = match &outcome {
            PreparedFile::Changed(update) => self.has_stamp(&path, &update.stamp),
            PreparedFile::Unchanged(_, stamp, _) => self.has_stamp(&path, stamp) && known,
            _ => true,
        };
        if !up_to_date {
            self.backlog.push_named(path, known);
            return Ok(());
        }
        self.take(vec![outcome])?;
        self.shared.update(|progress| progress.files_done += 1);
        Ok(())
    }

    fn has_stamp(&self, path: &VaultPath, stamp: &Stamp) -> bool {
        let on_disk = self.options.rules.outside().on_disk(&self.options.root, path);
        on_disk.symlink_metadata().is_ok_and(|meta| Stamp::of(&meta) == *stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> VaultPath {
        VaultPath::new(text).unwrap()
    }

    fn all(backlog: &mut Backlog) -> Vec<String> {
        std::iter::from_fn(|| backlog.pop()).map(|(path, _)| path.to_string()).collect()
    }

    #[test]
    fn one_save_does_not_wait_for_a_storm() {
        let mut backlog = Backlog::default();
        (0..1000).for_each(|at| backlog.push(path(&format!("old/{at}.md"))));
        (0..1000).for_each(|at| backlog.push_named(path(&format!("storm/{at}.md")), false));
        backlog.push_named(path("notes/mine.md"), false);
        backlog.push_named(path("storm/known.md"), true);
        let order = all(&mut backlog);
        let place = |path: &str| order.iter().position(|found| found == path).unwrap();
        assert!(place("notes/mine.md") < 3 && place("storm/known.md") < 3, "{:?}", &order[..5]);
        assert!(place("storm/999.md") < place("storm/0.md") && place("storm/0.md") < place("old/0.md"));
        assert_eq!((order.len(), backlog.len()), (2002, 0));
    }

    #[test]
    fn each_folder_has_its_turn_and_what_scans_found_comes_last() {
        let mut backlog = Backlog::default();
        ["x/a.md", "x/b.md", "y/c.md"].iter().for_each(|named| backlog.push_named(path(named), false));
        ["d.md", "e.md"].iter().for_each(|found| backlog.push(path(found)));
        assert_eq!(all(&mut backlog), ["x/b.md", "y/c.md", "x/a.md", "d.md", "e.md"]);
    }

    #[test]
    fn a_file_waits_once_and_where_it_is_read_first() {
        let mut backlog = Backlog::default();
        backlog.push(path("a.md"));
        backlog.push(path("b.md"));
        backlog.push_named(path("b.md"), true);
        backlog.push_named(path("b.md"), true);
        backlog.push(path("b.md"));
        assert_eq!(backlog.len(), 2);
        assert_eq!(all(&mut backlog), ["b.md", "a.md"]);
        assert!(backlog.is_empty());
        backlog.push(path("a.md"));
        backlog.clear();
        assert_eq!(all(&mut backlog), [""; 0]);
    }
}

#[cfg(test)]
mod reading_tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::{FileInfo, FileUpdate};
    use crate::vault::disk::{FoundNote, Stamp};

    const HOUR: i64 = 3_600_000_000_000;

    fn stamp(mtime_ns: i64) -> Stamp {
        Stamp { mtime_ns, ctime_ns: mtime_ns, size: 1, inode: 1 }
    }

    fn known(path: &str, mtime_ns: i64, read_ns: i64) -> Arc<FileEntry> {
        let note = FileUpdate::of_text(path, "", StemmerLanguage::English);
        let info = FileInfo { stamp: stamp(mtime_ns), hash: [1; 32], read_ns, ..note.info };
        Arc::new(FileEntry { id: 1, info, chunks: Vec::new() })
    }

    fn found(path: &str, mtime_ns: i64) -> FoundNote {
        FoundNote { path: VaultPath::new(path).unwrap(), stamp: stamp(mtime_ns) }
    }

    fn paths(paths: &[&str]) -> Vec<VaultPath> {
        paths.iter().map(|path| VaultPath::new(*path).unwrap()).collect()
    }

    #[test]
    fn reads_what_may_have_changed_and_removes_what_is_gone() {
        let index = [
            known("same.md", 0, HOUR),
            known("edited.md", 0, HOUR),
            known("racy.md", HOUR, HOUR + 1),
            known("gone.md", 0, HOUR),
        ];
        let files = ["same.md", "edited.md", "racy.md", "new.md"].iter().zip([0, 5, HOUR, 9]);
        let scan = Scan { files: files.map(|(path, mtime)| found(path, mtime)).collect(), ..Scan::default() };
        let made = plan(index.iter(), &scan, false);
        assert_eq!(made.read, paths(&["racy.md", "new.md", "edited.md"]), "newest first");
        assert_eq!(made.remove, paths(&["gone.md"]));
        assert_eq!(plan(index.iter(), &scan, true).read.len(), 4);
    }

    #[test]
    fn what_lies_in_an_unreadable_folder_is_kept() {
        let index = [known("locked/a.md", 0, HOUR), known("lockedness.md", 0, HOUR)];
        let scan = Scan { unreadable: paths(&["locked"]), ..Scan::default() };
        assert_eq!(plan(index.iter(), &scan, false).remove, paths(&["lockedness.md"]));
    }
}
