//! Backs up now and then, while the daemon runs, once the person has said that a repository's own programs are theirs.

use std::collections::HashSet;
use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::repository::{BackupReport, Repository};
use crate::base::clock::{Clock, rfc3339};
use crate::base::fs::{FsError, write_atomically};
use crate::base::tasks::{Task, TaskSignal};
use crate::serve::wire::Backup;
use crate::vault::disk::{BackupError, Home};

/// Interval at which the clock is checked: a machine that slept, or was set to another time, is not late by more.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// Starts to back up the vault at `root`: at once where the last commit is older than `every`.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn back_up(root: PathBuf, trust: Trust, every: Duration) -> Result<Task<Backup>, FsError> {
    let (mut logged, mut before) = (HashSet::new(), None);
    Task::start("backup", TaskSignal::default(), move |signal, state: &Mutex<Backup>| {
        let repository = || Repository::open(&root, Some(&trust), signal);
        let before = before.get_or_insert_with(|| {
            let last = repository().and_then(|repository| repository.last_commit()).ok().flatten();
            lock(state).last_commit = last.as_ref().map(|(id, _)| id.clone());
            last.map(|(_, at)| at)
        });
        // A commit of the future was made by another clock: it counts as made just now.
        let since = before.map_or(every, |before| before.elapsed().unwrap_or_default());
        if let Some(left) = every.checked_sub(since).filter(|left| !left.is_zero()) {
            return Some(left.min(CHECK_INTERVAL));
        }
        let result = repository().and_then(|repository| repository.commit(None));
        *before = Some(SystemTime::now());
        if let Some(failure) = tell(&mut lock(state), result)
            && logged.insert(failure.clone())
        {
            tracing::warn!("backup: {failure}");
        }
        Some(every.min(CHECK_INTERVAL))
    })
}

/// Keeps what a backup came to; gives what is wrong.
fn tell(state: &mut Backup, result: Result<BackupReport, BackupError>) -> Option<String> {
    state.failure = match result {
        Ok(report) => {
            state.last_at = Some(rfc3339(Clock::default().now().as_millisecond()));
            if let Some(commit) = report.commit {
                tracing::info!("backup: {}", commit.subject);
                state.last_commit = Some(commit.id);
            }
            let held: Vec<String> =
                report.held_back.iter().map(|held| format!("{}: {}", held.path, held.reason)).collect();
            (!held.is_empty()).then(|| format!("left out: {}", held.join("; ")))
        }
        Err(BackupError::Cancelled) => return None,
        Err(error) => Some(error.to_string()),
    };
    state.failure.clone()
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The word of the person for the vault at this place of this machine. It does not come along with a copy.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    file: PathBuf,
    place: String,
}

impl Trust {
    /// That of a vault.
    pub(crate) fn of(home: &Home) -> Self {
        Self { file: home.state_dir().join("backed-up-by-hand"), place: home.place() }
    }

    /// Whether it was given.
    pub(crate) fn is_given(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|place| place.trim() == self.place)
    }

    /// Gives it.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub(crate) fn give(&self) -> Result<(), FsError> {
        if self.is_given() {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            crate::base::fs::create_private_dir(folder)?;
        }
        write_atomically(&self.file, format!("{}\n", self.place).as_bytes(), 0o600)
    }
}

#[cfg(test)]
mod tests_of_trust {
    use super::*;

    #[test]
    fn it_does_not_come_along_with_a_copy() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let trust = |folder: &tempfile::TempDir| {
            fs::write(folder.path().join("memory.toml"), "").unwrap();
            Trust::of(&Home::open(folder.path()).unwrap())
        };
        let (mine, copy) = (trust(&one), trust(&other));
        assert!(!mine.is_given());
        mine.give().unwrap();
        assert!(mine.is_given());
        fs::create_dir_all(copy.file.parent().unwrap()).unwrap();
        fs::copy(&mine.file, &copy.file).unwrap();
        assert!(!copy.is_given());
    }
}
