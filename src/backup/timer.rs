//! Backs up now and then, while the daemon runs.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, SystemTime};

use super::error::BackupError;
use super::git::Cancel;
use super::repository::{BackupReport, Repository};
use super::trust::Trust;

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

/// A thread that backs up every so often, until it is dropped.
#[derive(Debug)]
pub(crate) struct Timer {
    shared: Arc<TimerShared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct TimerShared {
    state: Mutex<BackupState>,
    stopping: Mutex<bool>,
    wake: Condvar,
    cancel: Cancel,
}

impl Timer {
    /// Starts to back up the vault at `root`: at once where the last commit is older than `every`.
    pub(crate) fn start(root: PathBuf, trust: Trust, every: Duration) -> Self {
        let shared = Arc::new(TimerShared::default());
        let thread = std::thread::Builder::new().name("backup".into()).spawn({
            let shared = Arc::clone(&shared);
            move || shared.run(&root, &trust, every)
        });
        if let Err(error) = &thread {
            lock(&shared.state).failure = Some(format!("the thread that backs up cannot be started: {error}"));
        }
        Self { shared, thread: thread.ok() }
    }

    /// What became of the backups so far.
    pub(crate) fn state(&self) -> BackupState {
        lock(&self.shared.state).clone()
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.shared.cancel.cancel();
        *lock(&self.shared.stopping) = true;
        self.shared.wake.notify_all();
        self.thread.take().map(JoinHandle::join);
    }
}

impl TimerShared {
    fn run(&self, root: &std::path::Path, trust: &Trust, every: Duration) {
        let open = || Repository::open_unasked(root, trust, &self.cancel);
        let mut logged = HashSet::new();
        let last = open().and_then(|repository| repository.last_commit());
        let last = last.ok().flatten();
        let mut before = last.as_ref().map(|(_, at)| *at);
        lock(&self.state).last_commit = last.map(|(id, _)| id);
        while self.wait(before, every) {
            let result = open().and_then(|repository| repository.commit(None));
            before = Some(SystemTime::now());
            if let Some(failure) = self.tell(result)
                && logged.insert(failure.clone())
            {
                tracing::warn!("backup: {failure}");
            }
        }
    }

    /// Waits until so long after `before`; says no when it is to stop.
    fn wait(&self, before: Option<SystemTime>, every: Duration) -> bool {
        let mut stopping = lock(&self.stopping);
        while !*stopping {
            // A commit of the future was made by another clock: it counts as made just now.
            let since = before.map_or(every, |before| before.elapsed().unwrap_or_default());
            let Some(left) = every.checked_sub(since).filter(|left| !left.is_zero()) else { return true };
            let waited = self.wake.wait_timeout(stopping, left.min(CHECK_INTERVAL));
            stopping = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        false
    }

    /// Keeps what a backup came to; gives what is wrong.
    fn tell(&self, result: Result<BackupReport, BackupError>) -> Option<String> {
        let mut state = lock(&self.state);
        state.failure = match result {
            Ok(report) => {
                state.last_at = Some(SystemTime::now());
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
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
