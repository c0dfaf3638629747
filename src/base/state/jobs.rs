//! Work that waits: what is to be done, since when, how often it was tried, and what was done before.
//!
//! What a job is about is a digest, and so is the content that it was made for: the table holds no text and no name. Whoever has the
//! vault's lock works, on one job at a time; of one that was killed at it the attempt has been counted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use rusqlite::{OptionalExtension, Row, ToSql, params};

use super::key::Digest;
use super::store::{Durability, Handle, State, StateError};

/// Maximum number of times that a job is taken up; then it is put aside.
pub(crate) const MOST_ATTEMPTS: u32 = 4;
/// Maximum number of times that a job which was put aside is taken up again by itself.
const MOST_REVIVALS: u32 = 3;
/// Maximum time that a job is put off, in milliseconds. What is due later was put off by another clock.
pub(crate) const MOST_DELAY_MS: i64 = 86_400_000;

/// Something to be done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// What it is about.
    pub key: Digest,
    /// The content that it was made for.
    pub content: Digest,
    /// Whether it was put aside, until somebody wants it tried again.
    pub is_dead: bool,
    /// From when on it may be done, in milliseconds since 1970.
    pub due: i64,
    /// How often it was taken up.
    pub attempts: u32,
    /// Why it was put off or aside last.
    pub reason: Option<String>,
}

/// The jobs of a vault, of any kind.
#[derive(Debug)]
pub struct JobTable {
    handle: Handle,
}

const COLUMNS: &str = "key, content, state = 'dead', due, attempts, reason";

impl JobTable {
    /// Those of a vault's state.
    pub fn new(state: &Arc<State>) -> Self {
        Self { handle: Handle::new(state, Durability::Full) }
    }

    /// Queues a job unless it is there for the same content. Says whether it was not.
    ///
    /// # Errors
    /// When the state cannot be written; so all that follow.
    pub fn queue(&self, kind: &str, key: Digest, content: Digest, due: i64, now: i64) -> Result<bool, StateError> {
        self.handle.with(|opened| {
            let queue = "INSERT INTO jobs(kind, key, content, state, due, attempts, revived, passing, reason, created)
                VALUES (?1, ?2, ?3, 'queued', ?4, 0, 0, 0, NULL, ?5)
                ON CONFLICT(kind, key) DO UPDATE SET content = ?3, state = 'queued', due = ?4, attempts = 0, revived = 0, reason = NULL
                WHERE content <> ?3";
            let due = due.min(now.saturating_add(MOST_DELAY_MS));
            Ok(opened.connection.execute(queue, params![kind, &key[..], &content[..], due, now])? > 0)
        })
    }

    /// Takes the next job that is due, the latest first. Those that were taken up too often are put aside.
    pub fn claim(&self, kind: &str, now: i64) -> Result<Option<Job>, StateError> {
        self.handle.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            let late = now.saturating_add(MOST_DELAY_MS);
            transaction.execute("UPDATE jobs SET due = ?2 WHERE kind = ?1 AND due > ?3", params![kind, now, late])?;
            let bury = "UPDATE jobs SET state = 'dead', passing = 0,
                reason = coalesce(reason, 'the program ended each time it was worked on')
                WHERE kind = ?1 AND state <> 'dead' AND due <= ?2 AND attempts >= ?3";
            transaction.execute(bury, params![kind, now, MOST_ATTEMPTS])?;
            let next = format!(
                "UPDATE jobs SET attempts = attempts + 1 WHERE kind = ?1 AND key = (SELECT key FROM jobs
                    WHERE kind = ?1 AND state <> 'dead' AND due <= ?2 ORDER BY due DESC, key LIMIT 1) RETURNING {COLUMNS}"
            );
            let job = transaction.query_row(&next, params![kind, now], job).optional()?;
            transaction.commit()?;
            Ok(job)
        })
        .map(Option::flatten)
    }

    /// A job was done, with this content: it goes, and that is remembered.
    pub fn finish(&self, kind: &str, key: Digest, content: Digest, now: i64) -> Result<(), StateError> {
        self.handle.with(|opened| {
            let transaction = opened.connection.transaction()?;
            transaction.execute("DELETE FROM jobs WHERE kind = ?1 AND key = ?2", params![kind, &key[..]])?;
            let done = "INSERT OR REPLACE INTO jobs_done(kind, key, content, at) VALUES (?1, ?2, ?3, ?4)";
            transaction.execute(done, params![kind, &key[..], &content[..], now])?;
            transaction.commit()
        })
    }

    /// A job goes without having been done: what it was about is not there any more.
    pub fn remove(&self, kind: &str, key: Digest) -> Result<(), StateError> {
        self.change("DELETE FROM jobs WHERE kind = ?1 AND key = ?2", kind, key, &[])
    }

    /// A job waits until then. Where it was not at fault, the attempt does not count.
    pub fn put_off(&self, kind: &str, key: Digest, due: i64, counts: bool, reason: &str) -> Result<(), StateError> {
        let put_off = "UPDATE jobs SET state = 'queued', due = ?3, attempts = max(0, attempts - ?4), reason = ?5
            WHERE kind = ?1 AND key = ?2";
        self.change(put_off, kind, key, &[&due, &i64::from(!counts), &reason])
    }

    /// A job is put aside. What is `passing` may be taken up again when others get through.
    pub fn bury(&self, kind: &str, key: Digest, passing: bool, reason: &str) -> Result<(), StateError> {
        let bury = "UPDATE jobs SET state = 'dead', passing = ?3, reason = ?4 WHERE kind = ?1 AND key = ?2";
        self.change(bury, kind, key, &[&passing, &reason])
    }

    /// Has what was put aside tried again: all of it, or one. Gives how many there were.
    pub fn retry(&self, kind: &str, key: Option<Digest>, now: i64) -> Result<usize, StateError> {
        let retry = "UPDATE jobs SET state = 'queued', due = ?3, attempts = 0, revived = 0
            WHERE kind = ?1 AND state = 'dead' AND (?2 IS NULL OR key = ?2)";
        self.change_all(retry, &[&kind, &key.as_ref().map(|key| &key[..]), &now])
    }

    /// Has those tried again that were put aside for what may have passed, some times each.
    pub fn revive(&self, kind: &str, now: i64) -> Result<usize, StateError> {
        let revive = "UPDATE jobs SET state = 'queued', due = ?2, attempts = 0, revived = revived + 1
            WHERE kind = ?1 AND state = 'dead' AND passing AND revived < ?3";
        self.change_all(revive, &[&kind, &now, &MOST_REVIVALS])
    }

    /// Has what waits done at once.
    pub fn hurry(&self, kind: &str, now: i64) -> Result<(), StateError> {
        let hurry = "UPDATE jobs SET due = min(due, ?2) WHERE kind = ?1 AND state <> 'dead'";
        self.change_all(hurry, &[&kind, &now]).map(drop)
    }

    /// All jobs of a kind.
    pub fn all(&self, kind: &str) -> Result<Vec<Job>, StateError> {
        self.handle.rows(&format!("SELECT {COLUMNS} FROM jobs WHERE kind = ?1 ORDER BY due, key"), &[&kind], job)
    }

    /// With which content each was done last.
    pub fn done(&self, kind: &str) -> Result<HashMap<Digest, Digest>, StateError> {
        Ok(self.done_at(kind)?.into_iter().map(|(key, content, _)| (key, content)).collect())
    }

    /// The same, with when that was, in milliseconds since 1970.
    pub fn done_at(&self, kind: &str) -> Result<Vec<(Digest, Digest, i64)>, StateError> {
        let done = "SELECT key, content, at FROM jobs_done WHERE kind = ?1";
        self.handle.rows(done, &[&kind], |row| Ok((digest(row, 0)?, digest(row, 1)?, row.get(2)?)))
    }

    /// Forgets all that is about something else than these.
    pub fn keep_only(&self, kind: &str, keys: &HashSet<Digest>) -> Result<(), StateError> {
        let swept = self.handle.if_there(|opened| {
            let transaction = opened.connection.transaction()?;
            for table in ["jobs", "jobs_done"] {
                let known: Vec<Digest> = transaction
                    .prepare(&format!("SELECT key FROM {table} WHERE kind = ?1"))?
                    .query_map([kind], |row| digest(row, 0))?
                    .collect::<rusqlite::Result<_>>()?;
                let delete = format!("DELETE FROM {table} WHERE kind = ?1 AND key = ?2");
                for key in known.iter().filter(|key| !keys.contains(*key)) {
                    transaction.execute(&delete, params![kind, &key[..]])?;
                }
            }
            transaction.commit()
        });
        swept.map(drop)
    }

    fn change(&self, change: &str, kind: &str, key: Digest, more: &[&dyn ToSql]) -> Result<(), StateError> {
        self.handle.execute(change, &[&[&kind as &dyn ToSql, &key], more].concat())
    }

    /// Changes rows of the jobs that are there; gives how many there were.
    fn change_all(&self, change: &str, all: &[&dyn ToSql]) -> Result<usize, StateError> {
        Ok(self.handle.if_there(|opened| opened.connection.execute(change, all))?.unwrap_or_default())
    }
}

fn job(row: &Row<'_>) -> rusqlite::Result<Job> {
    Ok(Job {
        key: digest(row, 0)?,
        content: digest(row, 1)?,
        is_dead: row.get(2)?,
        due: row.get(3)?,
        attempts: row.get(4)?,
        reason: row.get(5)?,
    })
}

/// What is no digest names nothing that there is.
fn digest(row: &Row<'_>, at: usize) -> rusqlite::Result<Digest> {
    Ok(row.get::<_, Vec<u8>>(at)?.try_into().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIND: &str = "extraction";

    fn table() -> (tempfile::TempDir, JobTable) {
        let folder = tempfile::tempdir().unwrap();
        let table = JobTable::new(&State::in_folder(folder.path()));
        (folder, table)
    }

    #[test]
    fn a_job_is_taken_once_and_done_for_its_content() {
        let (folder, table) = table();
        assert!(table.claim(KIND, 0).unwrap().is_none() && std::fs::read_dir(folder.path()).unwrap().next().is_none());
        assert!(table.queue(KIND, [1; 16], [7; 16], 100, 0).unwrap());
        assert!(!table.queue(KIND, [1; 16], [7; 16], 100, 0).unwrap(), "it is there");
        assert!(table.claim(KIND, 99).unwrap().is_none() && table.claim("other", 100).unwrap().is_none());
        let job = table.claim(KIND, 100).unwrap().unwrap();
        assert_eq!((job.key, job.attempts, job.is_dead), ([1; 16], 1, false));
        table.finish(KIND, [1; 16], [7; 16], 101).unwrap();
        assert!(table.all(KIND).unwrap().is_empty());
        assert_eq!(table.done(KIND).unwrap()[&[1; 16]], [7; 16]);
        table.keep_only(KIND, &HashSet::new()).unwrap();
        assert!(table.done(KIND).unwrap().is_empty());
    }

    #[test]
    fn what_was_taken_by_somebody_who_is_gone_is_taken_up_again_so_often() {
        let (_folder, table) = table();
        table.queue(KIND, [1; 16], [7; 16], 0, 0).unwrap();
        for _ in 0..MOST_ATTEMPTS {
            assert!(table.claim(KIND, 0).unwrap().is_some());
        }
        assert!(table.claim(KIND, 0).unwrap().is_none());
        let dead = table.all(KIND).unwrap().remove(0);
        assert!(dead.is_dead);
        assert!(dead.reason.unwrap().contains("ended"));
        assert_eq!(table.revive(KIND, 0).unwrap(), 0, "by itself it is not tried again");
        assert_eq!(table.retry(KIND, Some([2; 16]), 0).unwrap(), 0);
        assert_eq!(table.retry(KIND, None, 0).unwrap(), 1);
        assert!(table.claim(KIND, 0).unwrap().is_some());
    }

    #[test]
    fn what_was_put_aside_for_what_passes_comes_back_some_times() {
        let (_folder, table) = table();
        table.queue(KIND, [1; 16], [7; 16], 0, 0).unwrap();
        for _ in 0..MOST_REVIVALS {
            table.bury(KIND, [1; 16], true, "no answer").unwrap();
            assert_eq!(table.revive(KIND, 0).unwrap(), 1);
        }
        table.bury(KIND, [1; 16], true, "no answer").unwrap();
        assert_eq!(table.revive(KIND, 0).unwrap(), 0);
        assert!(table.queue(KIND, [1; 16], [8; 16], 0, 0).unwrap(), "with other content it is another");
    }

    #[test]
    fn a_clock_that_jumps_puts_nothing_off_for_ever() {
        let (_folder, table) = table();
        table.queue(KIND, [1; 16], [7; 16], i64::MAX, 1_000).unwrap();
        assert!(table.claim(KIND, 1_000).unwrap().is_none());
        assert!(table.claim(KIND, 1_000 + MOST_DELAY_MS).unwrap().is_some());
        // Put off by a clock that was years ahead, and is set right.
        table.put_off(KIND, [1; 16], i64::MAX / 2, false, "later").unwrap();
        let job = table.claim(KIND, 2_000).unwrap().unwrap();
        assert_eq!((job.attempts, job.reason.as_deref()), (1, Some("later")), "the attempt did not count");
    }
}
