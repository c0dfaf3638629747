//! The task that keeps sessions.

use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use super::look::SessionsLook;
use crate::fs::FsError;
use crate::request::Workspace;
use crate::tasks::{Task, TaskSignal};
use crate::vault::{FoldersWatcher, Identity};
use crate::wire::SessionsState;

/// Quiet period without a change before files are looked at: a session is written line by line.
const QUIET_PERIOD: Duration = Duration::from_millis(200);
/// Maximum time that such a quiet period is waited for.
const MAX_QUIET_WAIT: Duration = Duration::from_secs(2);
/// Delay until what failed in a way that may pass is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(5);
/// Maximum number of looks at new folders for those that were made in them meanwhile.
const MAX_COVERS: usize = 8;

/// Starts to look at the files that `[[sessions]]` names; `None` where it names none.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn keep_sessions(workspace: &Arc<Workspace>) -> Result<Option<Task<SessionsState>>, FsError> {
    if workspace.config().sessions.is_empty() {
        return Ok(None);
    }
    let (vault, mut parts) = (Arc::clone(workspace), None);
    let task = Task::start("sessions", TaskSignal::default(), move |signal, shown| {
        let since = Instant::now();
        while parts.is_some() && since.elapsed() < MAX_QUIET_WAIT && signal.pause(QUIET_PERIOD) {
            if signal.is_stopped() {
                return None;
            }
        }
        let index = &vault.config().index;
        let (look, watcher) = parts.get_or_insert_with(|| {
            let changed = signal.clone();
            (SessionsLook::new(&vault), FoldersWatcher::start(index.watch, Arc::new(move || changed.wake())))
        });
        // Listened to before it is looked at: what comes in between is heard of.
        for _ in 0..MAX_COVERS {
            if !watcher.cover(&look.folders()) {
                break;
            }
        }
        let mut again = false;
        // A vault that is away, or another's now, is not written to.
        if Identity::of_vault(vault.home().root()).is_some() && vault.lock().is_some_and(|lock| lock.is_held()) {
            let mut seen = look.look(&vault, &|| signal.is_stopped());
            again = seen.again;
            let reason = watcher.needs_polling().map(str::to_owned);
            seen.state.by = if reason.is_some() { "polling" } else { "events" }.into();
            seen.state.reason = reason;
            *shown.lock().unwrap_or_else(PoisonError::into_inner) = seen.state;
        }
        let every = if watcher.needs_polling().is_some() { index.poll_seconds } else { index.reconcile_seconds };
        let every = Duration::from_secs(every);
        Some(if again { RETRY_DELAY.min(every) } else { every })
    });
    task.map(Some)
}
