//! The task that reads conversations.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::lane::{Extraction, ExtractionRest};
use crate::fs::FsError;
use crate::tasks::Task;

/// Starts the task.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn extract(extraction: &Arc<Extraction>) -> Result<Task, FsError> {
    let (works, stops) = (Arc::clone(extraction), Arc::clone(extraction));
    extraction.workspace.shared().wakes(&extraction.signal);
    let mut has_begun = false;
    let task = Task::start("extraction", extraction.signal.clone(), move |_, _| {
        if !std::mem::replace(&mut has_begun, true) {
            works.begin();
        }
        let stepped = catch_unwind(AssertUnwindSafe(|| works.step())).unwrap_or_else(|_| {
            // It has said why. What it could not do is put aside, and the others go on.
            works.bury_broken();
            ExtractionRest::None
        });
        Some(match stepped {
            ExtractionRest::For(time) => time,
            ExtractionRest::None => Duration::ZERO,
        })
    });
    Ok(task?.at_stop(move || stops.stop()))
}
