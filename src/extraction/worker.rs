//! The thread that reads conversations.

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use super::lane::{Extraction, ExtractionRest};
use crate::fs::FsError;

/// The thread, until it is dropped.
pub(crate) struct ExtractionWorker {
    extraction: Arc<Extraction>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ExtractionWorker {
    /// Starts to work.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(extraction: Arc<Extraction>) -> Result<Self, FsError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (works, stopped) = (Arc::clone(&extraction), Arc::clone(&stop));
        let thread = std::thread::Builder::new().name("extraction".to_owned()).spawn(move || {
            works.begin();
            let shared = works.workspace.shared();
            while !stopped.load(Ordering::SeqCst) {
                let known = shared.snapshot();
                let stepped = std::panic::catch_unwind(AssertUnwindSafe(|| works.step())).unwrap_or_else(|_| {
                    // It has said why. What it could not do is put aside, and the others go on.
                    works.bury_broken();
                    ExtractionRest::None
                });
                if let ExtractionRest::For(time) = stepped {
                    let is_over = || stopped.load(Ordering::SeqCst) || works.is_woken();
                    shared.wait_for_other_or(known.as_ref(), time, is_over);
                }
            }
        });
        let failed = |source| FsError { operation: "start a thread for", path: PathBuf::from("conversations"), source };
        Ok(Self { extraction, stop, thread: Some(thread.map_err(failed)?) })
    }
}

impl Drop for ExtractionWorker {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.extraction.stop();
        self.extraction.workspace.shared().wake();
        if let Some(thread) = self.thread.take() {
            // It has said why it panicked.
            let _ = thread.join();
        }
    }
}
