//! The thread that keeps sessions.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::look::SessionsLook;
use crate::fs::FsError;
use crate::request::Workspace;
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

/// The thread, until it is dropped.
pub(crate) struct SessionKeeper {
    stop: Arc<AtomicBool>,
    wake: Sender<()>,
    state: Arc<Mutex<SessionsState>>,
    thread: Option<JoinHandle<()>>,
}

impl SessionKeeper {
    /// Starts to look at the files that `[[sessions]]` names; `None` where it names none.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(workspace: &Arc<Workspace>) -> Result<Option<Self>, FsError> {
        if workspace.config().sessions.is_empty() {
            return Ok(None);
        }
        let (wake, woken) = channel();
        let (stop, state) = (Arc::new(AtomicBool::new(false)), Arc::new(Mutex::new(SessionsState::default())));
        let (stopped, told, changed) = (Arc::clone(&stop), Arc::clone(&state), wake.clone());
        let vault = Arc::clone(workspace);
        let run = move || run(&vault, &woken, changed, &told, &|| stopped.load(Ordering::SeqCst));
        let thread = std::thread::Builder::new().name("sessions".to_owned()).spawn(run);
        let failed = |source| FsError { operation: "start a thread for", path: "sessions".into(), source };
        Ok(Some(Self { stop, wake, state, thread: Some(thread.map_err(failed)?) }))
    }

    /// How the sessions are.
    pub(crate) fn state(&self) -> SessionsState {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Drop for SessionKeeper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        let _ = self.wake.send(());
        if let Some(thread) = self.thread.take() {
            // It has said why it panicked.
            let _ = thread.join();
        }
    }
}

fn run(
    vault: &Workspace,
    woken: &Receiver<()>,
    changed: Sender<()>,
    told: &Mutex<SessionsState>,
    is_over: &dyn Fn() -> bool,
) {
    let index = &vault.config().index;
    let mut look = SessionsLook::new(vault);
    let mut watcher = FoldersWatcher::start(index.watch, Arc::new(move || _ = changed.send(())));
    while !is_over() {
        // Listened to before it is looked at: what comes in between is heard of.
        for _ in 0..MAX_COVERS {
            if !watcher.cover(&look.folders()) {
                break;
            }
        }
        let mut again = false;
        // A vault that is away, or another's now, is not written to.
        if Identity::of_vault(vault.home().root()).is_some() && vault.lock().is_some_and(|lock| lock.is_held()) {
            let mut seen = look.look(vault, is_over);
            again = seen.again;
            let reason = watcher.needs_polling().map(str::to_owned);
            seen.state.by = if reason.is_some() { "polling" } else { "events" }.into();
            seen.state.reason = reason;
            *told.lock().unwrap_or_else(PoisonError::into_inner) = seen.state;
        }
        let every = if watcher.needs_polling().is_some() { index.poll_seconds } else { index.reconcile_seconds };
        let every = Duration::from_secs(every);
        if woken.recv_timeout(if again { RETRY_DELAY.min(every) } else { every }) == Err(RecvTimeoutError::Disconnected)
        {
            return;
        }
        let since = Instant::now();
        while !is_over() && since.elapsed() < MAX_QUIET_WAIT && woken.recv_timeout(QUIET_PERIOD).is_ok() {}
    }
}
