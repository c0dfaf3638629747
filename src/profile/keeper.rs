//! The thread that makes the profile when there is enough that is new.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::made::{PROFILE, refresh};
use super::user::fill_in;
use crate::fs::FsError;
use crate::request::Workspace;

/// The longest time between two looks, where nothing is heard of a change: what is true until a day is true no more on the next.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// The thread, until it is dropped.
pub(crate) struct ProfileKeeper {
    stop: Arc<AtomicBool>,
    workspace: Arc<Workspace>,
    thread: Option<JoinHandle<()>>,
}

impl ProfileKeeper {
    /// Starts to look.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(workspace: &Arc<Workspace>) -> Result<Self, FsError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, vault) = (Arc::clone(&stop), Arc::clone(workspace));
        let thread = std::thread::Builder::new().name("profile".to_owned()).spawn(move || {
            let mut known = None;
            while !stopped.load(Ordering::SeqCst) {
                if let Err(error) = fill_in(&vault).and_then(|()| refresh(&vault)) {
                    tracing::warn!("the profile is not made anew: {error}");
                }
                let is_over = || stopped.load(Ordering::SeqCst);
                vault.shared().wait_for_other_or(known.as_ref(), LOOK_EVERY, is_over);
                known = vault.shared().snapshot();
            }
        });
        let thread =
            thread.map_err(|source| FsError { operation: "start a thread for", path: PROFILE.into(), source })?;
        Ok(Self { stop, workspace: Arc::clone(workspace), thread: Some(thread) })
    }
}

impl Drop for ProfileKeeper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.workspace.shared().wake();
        if let Some(thread) = self.thread.take() {
            // It has said why it panicked.
            let _ = thread.join();
        }
    }
}
