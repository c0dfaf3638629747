//! The conversations that wait to be read, and the digests that wait for a short text.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::access::Scope;
use crate::derive::CONVERSATIONS;
use crate::engine::{FileEntry, Reader};
use crate::path::VaultPath;
use crate::search::Visible;
use crate::state::{Digest, Job, JobState, JobTable, MOST_DELAY_MS, StateError};

/// The jobs of this room.
pub(super) const EXTRACTION: &str = "extraction";
/// And what their turns were, whatever else of the file has changed.
pub(super) const TURNS: &str = "extraction turns";

/// Folders of the pages of days and weeks.
const DIGESTS: [&str; 2] = ["summaries/days/", "summaries/weeks/"];

/// Whether a path is that of the page of a day or a week.
pub(super) fn is_digest(path: &VaultPath) -> bool {
    DIGESTS.iter().any(|folder| path.as_str().starts_with(folder))
}

/// What is known of the conversations of a vault.
#[derive(Default)]
pub(super) struct KnownSessions {
    /// The state of the index that was looked at.
    seen: Option<Arc<dyn Reader>>,
    /// Where each is.
    paths: HashMap<Digest, VaultPath>,
    /// With which content each was done.
    done: Option<HashMap<Digest, Digest>>,
    /// And with which it is queued.
    queued: HashMap<Digest, Digest>,
    /// Those that are private, and not sent to another machine.
    pub(super) withheld: usize,
}

/// What a look is for.
#[derive(Debug, Clone, Copy)]
pub(super) struct SessionLook {
    /// The time, in milliseconds since 1970.
    pub(super) now: i64,
    /// So long a conversation has to be quiet, in milliseconds.
    pub(super) debounce: i64,
    /// Whether the model is given private notes.
    pub(super) takes_private: bool,
}

/// The name of a conversation in the tables.
pub(super) fn key_of(path: &VaultPath) -> Digest {
    cut(blake3::hash(path.as_str().as_bytes()).as_bytes())
}

/// The name of a file's content there.
pub(super) fn cut(hash: &[u8; 32]) -> Digest {
    let mut digest = Digest::default();
    digest.copy_from_slice(&hash[..16]);
    digest
}

impl KnownSessions {
    /// Queues what has changed since it was done, and forgets what is not there any more. Does nothing where the index is as it was.
    pub(super) fn look(
        &mut self,
        jobs: &JobTable,
        reader: &Arc<dyn Reader>,
        SessionLook { now, debounce, takes_private }: SessionLook,
    ) -> Result<(), StateError> {
        if self.seen.as_ref().is_some_and(|seen| Arc::ptr_eq(seen, reader)) {
            return Ok(());
        }
        if self.done.is_none() {
            self.done = Some(jobs.done(EXTRACTION)?);
            self.queued = jobs.all(EXTRACTION)?.into_iter().map(|job| (job.key, job.content)).collect();
        }
        let open = (!takes_private).then(|| Visible::of(&Scope::Public, reader.files()));
        self.paths.clear();
        self.withheld = 0;
        let is_one = |file: &&Arc<FileEntry>| {
            let is_read = file.path.collection() == CONVERSATIONS || is_digest(&file.path);
            is_read && file.is_whole() && !file.path.is_document()
        };
        for file in reader.files().iter().filter(is_one) {
            let (key, content) = (key_of(&file.path), cut(&file.hash));
            self.paths.insert(key, file.path.clone());
            if open.as_ref().is_some_and(|open| !open.has(file)) {
                self.withheld += usize::from(!is_digest(&file.path));
                if self.queued.remove(&key).is_some() {
                    jobs.remove(EXTRACTION, key)?;
                }
                continue;
            }
            let is_known = |known: Option<&Digest>| known == Some(&content);
            if is_known(self.done.as_ref().and_then(|done| done.get(&key))) {
                // It was queued for what it was in between.
                if self.queued.remove(&key).is_some() {
                    jobs.remove(EXTRACTION, key)?;
                }
                continue;
            }
            if is_known(self.queued.get(&key)) {
                continue;
            }
            // A file that another clock has dated ahead is quiet from now on.
            let quiet = (file.stamp.mtime_ns / 1_000_000).min(now).saturating_add(debounce);
            if jobs.queue(EXTRACTION, key, content, quiet, now)? {
                self.queued.insert(key, content);
            }
        }
        let keys: HashSet<Digest> = self.paths.keys().copied().collect();
        for kind in [EXTRACTION, TURNS] {
            jobs.keep_only(kind, &keys)?;
        }
        self.queued.retain(|key, _| keys.contains(key));
        self.seen = Some(Arc::clone(reader));
        Ok(())
    }

    /// Looks again, whatever was seen.
    pub(super) fn look_again(&mut self) {
        self.seen = None;
    }

    /// Where a conversation is.
    pub(super) fn path(&self, key: &Digest) -> Option<&VaultPath> {
        self.paths.get(key)
    }

    /// One was done.
    pub(super) fn finish(&mut self, jobs: &JobTable, key: Digest, content: Digest, now: i64) -> Result<(), StateError> {
        jobs.finish(EXTRACTION, key, content, now)?;
        self.queued.remove(&key);
        if let Some(done) = &mut self.done {
            done.insert(key, content);
        }
        Ok(())
    }

    /// One is not there any more, or has become another.
    pub(super) fn remove(&mut self, jobs: &JobTable, key: Digest) -> Result<(), StateError> {
        jobs.remove(EXTRACTION, key)?;
        self.queued.remove(&key);
        self.look_again();
        Ok(())
    }
}

/// When the next job may be done, in milliseconds since 1970, and why it was put off. One that a clock far ahead has put off is due.
pub(super) fn next_due(jobs: &JobTable, kind: &str, now: i64) -> Result<Option<(i64, Option<String>)>, StateError> {
    let queued = jobs.all(kind)?.into_iter().filter(|job| job.state == JobState::Queued);
    let due = |job: Job| (if job.due > now.saturating_add(MOST_DELAY_MS) { now } else { job.due }, job.reason);
    Ok(queued.map(due).min_by_key(|(due, _)| *due))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::State;

    #[test]
    fn what_a_clock_ahead_has_put_off_is_not_waited_for() {
        const YEAR_MS: i64 = 365 * MOST_DELAY_MS;
        let folder = tempfile::tempdir().unwrap();
        let jobs = JobTable::new(&State::in_folder(folder.path()));
        jobs.queue(EXTRACTION, [1; 16], [7; 16], 10 * YEAR_MS, 10 * YEAR_MS).unwrap();
        assert_eq!(next_due(&jobs, EXTRACTION, YEAR_MS).unwrap().map(|(due, _)| due), Some(YEAR_MS));
        assert!(jobs.claim(EXTRACTION, YEAR_MS).unwrap().is_some());
        jobs.put_off(EXTRACTION, [1; 16], YEAR_MS + 5_000, false, "later").unwrap();
        assert_eq!(next_due(&jobs, EXTRACTION, YEAR_MS).unwrap(), Some((YEAR_MS + 5_000, Some("later".into()))));
    }
}
