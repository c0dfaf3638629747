//! From places that may have changed to a batch in the stores.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::plan::plan;
use super::prepare::{Outcome, prepare};
use super::worker::Worker;
use crate::config::FILE_NAME;
use crate::index::keyword::Stemming;
use crate::index::{FileEntry, IndexError};
use crate::path::VaultPath;
use crate::vault::{Change, Scan, scan};

/// A batch closes after so much reading, so that a note just saved does not wait behind a bulk import.
const BATCH_TIME: Duration = Duration::from_millis(100);

impl Worker<'_> {
    /// Compares places (the whole vault when `None`) with the index, and queues what has changed.
    pub(super) fn look(&mut self, places: Option<&[VaultPath]>, distrust: bool) -> Result<(), IndexError> {
        let (root, rules) = (&self.options.root, &self.options.rules);
        if places.is_none() {
            // A vault that is unmounted or moved: what it holds is unknown, not gone.
            let gone = !root.join(FILE_NAME).is_file();
            let failure =
                gone.then(|| format!("the vault's folder {} is not there, or has no {FILE_NAME}", root.display()));
            self.shared.update(|progress| progress.failure = failure);
            if gone {
                return Ok(());
            }
        }
        let mut all = Scan::default();
        match places {
            None => all = scan(root, rules, None),
            Some(places) => {
                for place in places {
                    let found = scan(root, rules, Some(place));
                    all.files.extend(found.files);
                    all.skipped.extend(found.skipped);
                    all.unreadable.extend(found.unreadable);
                }
            }
        }
        let made = match places {
            None => plan(self.store.files().iter(), &all, distrust),
            Some(places) => {
                let found: HashSet<&VaultPath> = all.files.iter().map(|found| &found.path).collect();
                let is_file = |place: &VaultPath| self.store.file(place).is_some() || found.contains(place);
                if places.iter().all(is_file) {
                    plan(places.iter().filter_map(|place| self.store.file(place)), &all, distrust)
                } else {
                    let places: HashSet<&str> = places.iter().map(VaultPath::as_str).collect();
                    let below = |path: &VaultPath| path.and_parents().any(|path| places.contains(path));
                    plan(self.store.files().iter().filter(|file| below(&file.path)), &all, distrust)
                }
            }
        };
        let skipped: Vec<(String, String)> =
            all.skipped.into_iter().map(|skipped| (skipped.path, skipped.reason)).collect();
        let mut news = self.store.set_skipped(places, &skipped)?;
        if places.is_none() && self.scanned {
            // An editor may be about to put the file back: it gets the grace of a removal.
            made.remove.into_iter().for_each(|path| self.debounce.note(path, Change::Removed, Instant::now()));
        } else if !made.remove.is_empty() {
            self.store.apply(Vec::new(), &made.remove)?;
            news = true;
        }
        self.scanned |= places.is_none();
        if news {
            self.publish()?;
        }
        // Named by the watcher: before the bulk. By a scan: behind it.
        let fresh: Vec<VaultPath> =
            made.read.into_iter().filter(|path| places.is_some() || self.queued.insert(path.clone())).collect();
        if places.is_some() {
            for path in fresh.into_iter().rev() {
                self.queued.insert(path.clone());
                self.backlog.push_front(path);
            }
        } else {
            self.backlog.extend(fresh);
        }
        Ok(())
    }

    /// Reads files of the backlog on all cores until the batch's time is over, and applies what has changed.
    pub(super) fn read_batch(&mut self) -> Result<(), IndexError> {
        let deadline = Instant::now() + BATCH_TIME;
        let with_entry = |path: &VaultPath| (path.clone(), self.store.file(path).cloned());
        let paths: Vec<(VaultPath, Option<Arc<FileEntry>>)> = self.backlog.iter().take(4096).map(with_entry).collect();
        let next = AtomicUsize::new(0);
        let outcomes = Mutex::new(Vec::new());
        let (root, max_bytes) = (&self.options.root, self.options.index.max_file_bytes);
        let stemmer = self.store.stemmer();
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len());
        std::thread::scope(|scope| {
            let work = || {
                let mut stemming = Stemming::new(stemmer);
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((path, known)) = paths.get(at).filter(|_| at == 0 || Instant::now() < deadline) else {
                        break;
                    };
                    let read = || prepare(root, path.clone(), known.as_deref(), max_bytes, &mut stemming);
                    // One note that the parser fails on must not keep all others from being found.
                    let outcome = catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| {
                        Outcome::Unfit(path.clone(), "reading it failed unexpectedly; please report this".into())
                    });
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
        let read: HashSet<usize> = outcomes.iter().map(|(at, _)| *at).collect();
        let left: Vec<VaultPath> =
            paths.into_iter().enumerate().filter(|(at, _)| !read.contains(at)).map(|(_, (path, _))| path).collect();
        self.backlog.drain(..done + left.len());
        left.into_iter().rev().for_each(|path| self.backlog.push_front(path));
        self.take(outcomes.into_iter().map(|(_, outcome)| outcome).collect())?;
        self.shared.update(|progress| progress.files_done += done);
        Ok(())
    }

    pub(super) fn take(&mut self, outcomes: Vec<Outcome>) -> Result<(), IndexError> {
        let (mut updates, mut removed, mut touched, mut unfit) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for outcome in outcomes {
            match outcome {
                Outcome::Changed(update) => {
                    self.queued.remove(&update.path);
                    updates.push(*update);
                }
                Outcome::Unchanged(path, stamp, read_ns) => {
                    self.queued.remove(&path);
                    touched.push((path, stamp, read_ns));
                }
                Outcome::Gone(path) => {
                    self.queued.remove(&path);
                    self.debounce.note(path, Change::Removed, Instant::now());
                }
                Outcome::Changing(path) => {
                    self.queued.remove(&path);
                    self.debounce.note(path, Change::Written, Instant::now());
                }
                Outcome::Unfit(path, reason) => {
                    self.queued.remove(&path);
                    unfit.push((path.to_string(), reason));
                    removed.push(path);
                }
            }
        }
        // The same path twice in one batch: the watcher named it while it was in the bulk. One reading is enough.
        let (mut seen, mut news) = (HashSet::new(), false);
        updates.retain(|update| seen.insert(update.path.clone()));
        removed.retain(|path| !seen.contains(path) && self.store.file(path).is_some());
        if !unfit.is_empty() {
            let places: Vec<VaultPath> =
                unfit.iter().filter_map(|(path, _)| VaultPath::new(path.clone()).ok()).collect();
            news |= self.store.set_skipped(Some(&places), &unfit)?;
        }
        if !touched.is_empty() {
            self.store.touch(&touched)?;
        }
        news |= !(updates.is_empty() && removed.is_empty());
        self.store.apply(updates, &removed)?;
        if news {
            self.publish()?;
        }
        Ok(())
    }
}
