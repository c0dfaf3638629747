//! What is known of the traces that the librarian reads: which parts wait, and which were read.

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::sessions::cut;
use crate::state::Digest;
use crate::trace_files::TraceHourFile;

/// The jobs of the librarian.
pub(super) const LIBRARIAN: &str = "librarian";

/// Where a part is.
#[derive(Debug, Clone)]
pub(super) struct PartPlace {
    pub(super) agent: String,
    pub(super) file: TraceHourFile,
    pub(super) at: usize,
}

/// Where the parts are that wait, by the keys of their jobs. Who asks how many wait does not wait for a model.
#[derive(Debug, Default)]
pub(super) struct PartPlaces(Mutex<HashMap<Digest, PartPlace>>);

impl PartPlaces {
    fn all(&self) -> MutexGuard<'_, HashMap<Digest, PartPlace>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn get(&self, key: &Digest) -> Option<PartPlace> {
        self.all().get(key).cloned()
    }

    pub(super) fn put(&self, key: Digest, place: PartPlace) {
        self.all().insert(key, place);
    }

    pub(super) fn remove(&self, key: &Digest) {
        self.all().remove(key);
    }

    /// Whether a part is of an agent.
    pub(super) fn is_of(&self, key: &Digest, agent: &str) -> bool {
        self.all().get(key).is_some_and(|place| place.agent == agent)
    }
}

/// What was read, and looked at.
#[derive(Debug, Default)]
pub(super) struct KnownTraceParts {
    /// With which content each part was done.
    pub(super) done: Option<HashMap<Digest, Digest>>,
    /// And each file.
    pub(super) files: Option<HashMap<Digest, Digest>>,
    /// Files that were looked at, as they were, with those of their parts that are not done.
    pub(super) seen: HashMap<Digest, (Digest, HashSet<Digest>)>,
    /// When they were looked at last, in milliseconds since 1970.
    pub(super) looked: Option<i64>,
}

/// The name of something in the tables.
pub(super) fn key_of(text: &str) -> Digest {
    cut(blake3::hash(text.as_bytes()).as_bytes())
}

/// What a file was, there.
pub(super) fn content_of(file: &TraceHourFile) -> Digest {
    key_of(&format!("{} {}", file.stamp.size, file.stamp.mtime_ns))
}
