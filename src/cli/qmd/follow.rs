//! Keeps the table of documents true while its index is open, without a command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::app::App;
use crate::daemon::BesideVault;
use crate::qmd::{IndexPlace, QmdCollections, QmdDocuments, QmdError};
use crate::sync::Shared;

/// Between two looks at all files; looking takes a tenth of the time at most.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSES_FOR_LOOKS: u32 = 10;

/// After a look that failed the next comes so soon, whether anything has changed or not.
const TRY_AGAIN: Duration = Duration::from_secs(2);

/// Interval at which all files are looked at when nothing has changed.
const RECHECK_INTERVAL: Duration = Duration::from_secs(3600);

/// Interval at which it is looked whether the database is still the one in its place.
const LOOK_FOR_DATABASE: Duration = Duration::from_secs(2);

/// Ends the thread when it is dropped, and waits for it.
struct FollowingThread {
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

/// Has a thread compare the documents with the files after each change of the index, until what this gives is dropped: a note that was
/// made private or removed leaves the table by itself.
pub(super) fn follow(app: &App) -> BesideVault {
    let Some(place) = IndexPlace::of_folder(app.home().root()) else { return Box::new(()) };
    let (stop, shared) = (Arc::<AtomicBool>::default(), Arc::clone(app.shared()));
    let (until, seen) = (Arc::clone(&stop), Arc::clone(&shared));
    let thread = thread::spawn(move || {
        if let Err(error) = keep_true(&place, &seen, &until) {
            tracing::warn!("the documents of {} are looked at by commands alone: {error}", place.folder.display());
        }
    });
    Box::new(FollowingThread { stop, shared, thread: Some(thread) })
}

fn keep_true(place: &IndexPlace, shared: &Shared, stop: &AtomicBool) -> Result<(), QmdError> {
    // Whoever changes the collections has the index closed first.
    let Some(collections) = QmdCollections::load(place)? else { return Ok(()) };
    let mut documents = QmdDocuments::open(place, &collections)?;
    let is_over = || stop.load(Ordering::Relaxed);
    let generation = || shared.snapshot().map(|snapshot| snapshot.generation());
    let mut failure: Option<String> = None;
    while !is_over() {
        // What is published from here on is looked at once more. No state is held: the stores may be closed meanwhile.
        let seen = generation();
        let begun = Instant::now();
        let refreshed = seen.map_or(Ok(()), |_| documents.refresh().map(drop));
        let failed = refreshed.err().map(|error| error.to_string());
        if let Some(failed) = failed.as_ref().filter(|failed| failure.as_ref() != Some(failed)) {
            tracing::warn!("the documents of {} are looked at again later: {failed}", place.folder.display());
        }
        failure = failed;
        let pause = PAUSE.max(begun.elapsed() * PAUSES_FOR_LOOKS);
        shared.wait(pause, |_| is_over());
        if failure.is_some() {
            shared.wait(TRY_AGAIN, |_| is_over() || generation() != seen);
            continue;
        }
        // One that was put in its place, or is to be made anew, has not all documents.
        while !is_over() && generation() == seen && !documents.is_replaced() && begun.elapsed() < RECHECK_INTERVAL {
            shared.wait(LOOK_FOR_DATABASE, |_| is_over() || generation() != seen);
        }
    }
    Ok(())
}

impl Drop for FollowingThread {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.shared.wake();
        if let Some(thread) = self.thread.take() {
            // One that panicked has said so.
            let _ = thread.join();
        }
    }
}
