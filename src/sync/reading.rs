//! From places that may have changed to a batch in the stores.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::plan::plan;
use super::prepare::{Outcome, prepare};
use super::worker::Worker;
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
        if places.is_none() && !root.is_dir() {
            // The vault is unmounted or moved: what it holds is unknown, not gone.
            let failure = format!("the vault's folder {} is not there", root.display());
            self.shared.update(|progress| progress.failure = Some(failure));
            return Ok(());
        }
        if places.is_none() {
            self.shared.update(|progress| progress.failure = None);
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
            Some(places)
                if places.iter().all(|place| {
                    self.store.file(place).is_some() || all.files.iter().any(|found| found.path == *place)
                }) =>
            {
                plan(places.iter().filter_map(|place| self.store.file(place)), &all, distrust)
            }
            Some(places) => {
                let below = |path: &VaultPath| {
                    places.iter().any(|place| {
                        path.as_str()
                            .strip_prefix(place.as_str())
                            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    })
                };
                plan(self.store.files().iter().filter(|file| below(&file.path)), &all, distrust)
            }
        };
        let skipped: Vec<(String, String)> =
            all.skipped.into_iter().map(|skipped| (skipped.path, skipped.reason)).collect();
        self.store.set_skipped(places, &skipped)?;
        if !made.remove.is_empty() {
            self.store.apply(Vec::new(), &made.remove)?;
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
        let (private, stemmer) = (&self.options.private, self.store.stemmer());
        let threads = std::thread::available_parallelism().map_or(1, usize::from).min(paths.len());
        std::thread::scope(|scope| {
            let work = || {
                let mut stemming = Stemming::new(stemmer);
                loop {
                    let at = next.fetch_add(1, Ordering::Relaxed);
                    let Some((path, known)) = paths.get(at).filter(|_| at == 0 || Instant::now() < deadline) else {
                        break;
                    };
                    let outcome = prepare(root, path.clone(), known.as_deref(), max_bytes, private, &mut stemming);
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
                    removed.push(path);
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
        let mut seen = HashSet::new();
        updates.retain(|update| seen.insert(update.path.clone()));
        removed.retain(|path| self.store.file(path).is_some());
        if !unfit.is_empty() {
            let places: Vec<VaultPath> =
                unfit.iter().filter_map(|(path, _)| VaultPath::new(path.clone()).ok()).collect();
            self.store.set_skipped(Some(&places), &unfit)?;
        }
        if !touched.is_empty() {
            self.store.touch(&touched)?;
        }
        let changed = !(updates.is_empty() && removed.is_empty());
        self.store.apply(updates, &removed)?;
        if changed {
            self.publish()?;
        }
        Ok(())
    }
}
