//! Keeps the table of documents of an index that is asked as `qmd` true while the index is open, without a command.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::fs::FsError;
use crate::base::tasks::{Task, TaskSignal};
use crate::index::sync::Shared;
use crate::serve::qmd::{IndexPaths, QmdCollections, QmdDocuments, QmdError};

/// Between two looks at all files; looking takes a tenth of the time at most.
const PAUSE: Duration = Duration::from_millis(200);
const PAUSES_FOR_LOOKS: u32 = 10;

/// Interval at which all files are looked at when nothing has changed.
const RECHECK_INTERVAL: Duration = Duration::from_secs(3600);

/// Interval at which it is looked whether the database is still the one in its place, and at which a look that failed is tried again.
const LOOK_FOR_DATABASE: Duration = Duration::from_secs(2);

/// Compares the documents with the files after each change of the index, until what this gives is dropped: a note that was made private or
/// removed leaves the table by itself. `None` where the vault is no such index.
///
/// # Errors
/// When the thread cannot be started.
pub(super) fn follow_documents(root: &Path, shared: &Arc<Shared>) -> Result<Option<Task>, FsError> {
    let Some(place) = IndexPaths::of_folder(root) else { return Ok(None) };
    let (shared, signal) = (Arc::clone(shared), TaskSignal::default());
    shared.wakes(&signal);
    let mut followed = None;
    let task = Task::start("documents", signal, move |_, _| {
        if followed.is_none() {
            followed = FollowedDocuments::open(&place).unwrap_or_else(|error| {
                tracing::warn!("the documents of {} are looked at by commands alone: {error}", place.folder.display());
                None
            });
        }
        followed.as_mut().map(|followed| followed.step(&shared))
    });
    task.map(Some)
}

struct FollowedDocuments {
    documents: QmdDocuments,
    folder: String,
    /// The generation of the index that they were compared with last.
    looked: Option<u64>,
    /// When that was.
    at: Instant,
    /// When they may be looked at again.
    not_before: Instant,
    failure: Option<String>,
}

impl FollowedDocuments {
    /// Opens the documents; `None` where there are no collections: whoever changes those has the index closed first.
    fn open(place: &IndexPaths) -> Result<Option<Self>, QmdError> {
        let Some(collections) = QmdCollections::load(place)? else { return Ok(None) };
        let (documents, now) = (QmdDocuments::open(place, &collections)?, Instant::now());
        let folder = place.folder.display().to_string();
        Ok(Some(Self { documents, folder, looked: None, at: now, not_before: now, failure: None }))
    }

    /// Looks at all files where something may have changed; says after what time to be called again.
    fn step(&mut self, shared: &Shared) -> Duration {
        let begun = Instant::now();
        if begun < self.not_before {
            return self.not_before - begun;
        }
        // What is published from here on is looked at once more. No state is held: the stores may be closed meanwhile.
        let generation = shared.snapshot().map(|snapshot| snapshot.generation());
        // One that was put in its place, or is to be made anew, has not all documents.
        let is_due = generation != self.looked
            || self.failure.is_some()
            || self.documents.is_replaced()
            || begun.duration_since(self.at) >= RECHECK_INTERVAL;
        if generation.is_some() && is_due {
            let failure = self.documents.refresh().err().map(|error| error.to_string());
            if let Some(failure) = failure.as_ref().filter(|failure| self.failure.as_ref() != Some(failure)) {
                tracing::warn!("the documents of {} are looked at again later: {failure}", self.folder);
            }
            (self.looked, self.at, self.failure) = (generation, begun, failure);
            self.not_before = Instant::now() + PAUSE.max(begun.elapsed() * PAUSES_FOR_LOOKS);
        }
        LOOK_FOR_DATABASE
    }
}
