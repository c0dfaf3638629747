//! The task that mends, seals and removes files of traces.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use crate::fs::FsError;
use crate::request::Workspace;
use crate::tasks::{Task, TaskSignal};

/// The longest time between two looks.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// Starts the task.
///
/// # Errors
/// When no thread can be started; so in all rooms that have one.
pub(crate) fn tidy_traces(workspace: &Arc<Workspace>) -> Result<Task, FsError> {
    let vault = Arc::clone(workspace);
    Task::start("traces", TaskSignal::default(), move |_, _| {
        let days = vault.config().traces.retention_days;
        vault.traces().tidy(Timestamp::now(), days);
        Some(LOOK_EVERY)
    })
}
