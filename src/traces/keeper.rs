//! The thread that mends, seals and removes files of traces.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use jiff::Timestamp;

use crate::fs::FsError;
use crate::request::Workspace;

/// The longest time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// The thread, until it is dropped.
pub(crate) struct TracesKeeper {
    stop: Arc<(Mutex<bool>, Condvar)>,
    thread: Option<JoinHandle<()>>,
}

impl TracesKeeper {
    /// Starts to look.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(workspace: &Arc<Workspace>) -> Result<Self, FsError> {
        let stop: Arc<(Mutex<bool>, Condvar)> = Arc::default();
        let (stopped, vault) = (Arc::clone(&stop), Arc::clone(workspace));
        let thread = std::thread::Builder::new().name("traces".to_owned()).spawn(move || {
            loop {
                let days = vault.config().traces.retention_days;
                if let Err(error) = vault.traces().tidy(Timestamp::now(), days) {
                    tracing::warn!("some traces are not sealed or removed: {error}");
                }
                let is_stopped = stopped.0.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = stopped.1.wait_timeout_while(is_stopped, LOOK_EVERY, |is_stopped| !*is_stopped);
                if *waited.unwrap_or_else(PoisonError::into_inner).0 {
                    break;
                }
            }
        });
        let source = |source| FsError { operation: "start a thread for", path: "traces".into(), source };
        Ok(Self { stop, thread: Some(thread.map_err(source)?) })
    }
}

impl Drop for TracesKeeper {
    fn drop(&mut self) {
        *self.stop.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.stop.1.notify_all();
        if let Some(thread) = self.thread.take() {
            // It has said why it panicked.
            let _ = thread.join();
        }
    }
}
