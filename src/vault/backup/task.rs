//! Backs up now and then, while the daemon runs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::error::BackupError;
use super::git::Cancel;
use super::repository::{BackupReport, Repository};
use super::trust::Trust;
use crate::base::fs::FsError;
use crate::base::tasks::{Task, TaskSignal};

/// Interval at which the clock is checked: a machine that slept, or was set to another time, is not late by more.
const CHECK_INTERVAL: Duration = Duration::from_secs(60);

/// What became of the backups since the start.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct BackupState {
    /// When the last one was done, whether or not there was something to commit.
    pub last_at: Option<SystemTime>,
    /// The newest commit of the vault.
    pub last_commit: Option<String>,
    /// Why the last one was not done, or not in full.
    pub failure: Option<String>,
}

/// Starts to back up the vault at `root`: at once where the last commit is older than `every`.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn back_up(root: PathBuf, trust: Trust, every: Duration) -> Result<Task<BackupState>, FsError> {
    let (cancel, mut logged, mut before) = (Cancel::default(), HashSet::new(), None);
    let calls_off = cancel.clone();
    let task = Task::start("backup", TaskSignal::default(), move |_, state: &Mutex<BackupState>| {
        let repository = || Repository::open_unasked(&root, &trust, &cancel);
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
        if let Some(failure) = lock(state).tell(result)
            && logged.insert(failure.clone())
        {
            tracing::warn!("backup: {failure}");
        }
        Some(every.min(CHECK_INTERVAL))
    });
    Ok(task?.at_stop(move || calls_off.cancel()))
}

impl BackupState {
    /// Keeps what a backup came to; gives what is wrong.
    fn tell(&mut self, result: Result<BackupReport, BackupError>) -> Option<String> {
        self.failure = match result {
            Ok(report) => {
                self.last_at = Some(SystemTime::now());
                if let Some(commit) = report.commit {
                    tracing::info!("backup: {}", commit.subject);
                    self.last_commit = Some(commit.id);
                }
                let held: Vec<String> =
                    report.held_back.iter().map(|held| format!("{}: {}", held.path, held.reason)).collect();
                (!held.is_empty()).then(|| format!("left out: {}", held.join("; ")))
            }
            Err(BackupError::Cancelled) => return None,
            Err(error) => Some(error.to_string()),
        };
        self.failure.clone()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
