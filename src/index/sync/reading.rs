//! From places that may have changed to a batch in the stores.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::backlog::Lane;
use super::prepare::{FileReading, PreparedFile, prepare};
use super::worker::Worker;
use crate::base::clock::Clock;
use crate::base::config::StemmerLanguage;
use crate::base::path::VaultPath;
use crate::index::engine::{EngineError, FileEntry};
use crate::text::derive::words::Stemming;
use crate::vault::attachments::AttachmentReader;
use crate::vault::disk::{Change, NoteRules, Scan, is_note, scan};

/// Maximum time that a batch reads, so that a note just saved does not wait behind a bulk import.
const BATCH_TIME: Duration = Duration::from_millis(100);

/// Files of the first batch. How many the next one has follows from how long the last one took.
pub(super) const FIRST_BATCH: usize = 64;
/// A batch is never larger: what is taken of the backlog cannot be overtaken.
const LARGEST_BATCH: usize = 4096;
/// Target time of all that is done of a batch, until it can be found.
const BATCH_GOAL: Duration = Duration::from_millis(200);

/// What reading a file takes. It goes to whatever thread does it, which may be at work still when the lock is let go of.
pub(super) struct Reading {
    root: PathBuf,
    rules: NoteRules,
    max_bytes: u64,
    attachments: Arc<AttachmentReader>,
    stemmer: StemmerLanguage,
    clock: Clock,
}

impl Reading {
    pub(super) fn stemming(&self) -> Stemming {
        Stemming::new(self.stemmer)
    }

    /// Reads a file. One note that the parser fails on must not keep all others from being found.
    pub(super) fn read(&self, path: VaultPath, known: Option<&FileEntry>, stemming: &mut Stemming) -> PreparedFile {
        let now = self.clock.now();
        let Self { root, rules, max_bytes, attachments, .. } = self;
        let from = FileReading { root, rules, max_bytes: *max_bytes, attachments };
        let read = || prepare(&from, path.clone(), known, stemming, now);
        catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
            PreparedFile::Unfit(path.clone(), "reading it failed unexpectedly; please report this".into())
        })
    }
}

impl Worker<'_> {
    pub(super) fn reading(&self) -> Reading {
        Reading {
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
            self.store.apply(self.store.batch(Vec::new(), made.remove))?;
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
            self.store.apply(self.store.batch(Vec::new(), made.remove))?;
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
        // What the watcher named is not held up by what scans found.
        let lane = self.backlog.next_lane();
        let next = |_| if self.backlog.next_lane() == lane { self.backlog.pop() } else { None };
        let taken: Vec<(VaultPath, Lane)> = (0..self.batch_files).map_while(next).collect();
        let (large, taken): (Vec<_>, Vec<_>) = taken.into_iter().partition(|(path, _)| self.is_large(path));
        for (path, lane) in large {
            match lane {
                Lane::Named => self.large.waiting.push_named(path, true),
                Lane::Bulk => self.large.waiting.push(path),
            }
        }
        let known: Vec<Option<Arc<FileEntry>>> = taken.iter().map(|(path, _)| self.store.file(path).cloned()).collect();
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::new());
        let reading = self.reading();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(taken.len());
        std::thread::scope(|scope| {
            let work = || {
                let mut stemming = reading.stemming();
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((path, _)) = taken.get(at).filter(|_| at == 0 || Instant::now() < deadline) else {
                        break;
                    };
                    let outcome = reading.read(path.clone(), known[at].as_deref(), &mut stemming);
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
        let read: HashSet<usize> = outcomes.iter().map(|(at, _)| *at).collect();
        for (at, (path, lane)) in taken.into_iter().enumerate().rev().filter(|(at, _)| !read.contains(at)) {
            self.backlog.put_back(path, lane, known[at].is_some());
        }
        let done = outcomes.len();
        self.take(outcomes.into_iter().map(|(_, outcome)| outcome).collect())?;
        self.shared.update(|progress| progress.files_done += done);
        self.batch_files = next_batch(self.batch_files, done, started.elapsed());
        Ok(())
    }

    pub(super) fn take(&mut self, outcomes: Vec<PreparedFile>) -> Result<(), EngineError> {
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
        self.store.apply(self.store.batch(updates, removed))?;
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
            // A version before wrote large files in parts, and may have been stopped in the middle of one.
            file.hash != [0; 32]
                && file.stamp == found.stamp
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

#[cfg(test)]
mod tests {
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
