//! The task that makes the profile when there is enough that is new.

use std::sync::Arc;
use std::time::Duration;

use super::made::refresh;
use super::user::fill_in;
use crate::fs::FsError;
use crate::request::Workspace;
use crate::tasks::{Task, TaskSignal};

/// The longest time between two looks, where nothing is heard of a change: what is true until a day is true no more on the next.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// Starts the task.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn keep_profile(workspace: &Arc<Workspace>) -> Result<Task, FsError> {
    let (vault, signal) = (Arc::clone(workspace), TaskSignal::default());
    vault.shared().wakes(&signal);
    Task::start("profile", signal, move |_, _| {
        if let Err(error) = fill_in(&vault).and_then(|()| refresh(&vault)) {
            tracing::warn!("the profile is not made anew: {error}");
        }
        Some(LOOK_EVERY)
    })
}
