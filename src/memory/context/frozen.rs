//! Memory that a session keeps: what its first request was given is given again, so that the beginning of its prompts stays the same.

use std::num::NonZeroUsize;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;

use super::lines::NoteLines;
use super::run::{asker_of, context_of, is_frozen, log};
use crate::access::request::{RequestError, Viewer};
use crate::base::path::VaultPath;
use crate::serve::wire::{ContextParams, ContextView};

/// How long a session is remembered after its last request.
const KEPT: Duration = Duration::from_secs(24 * 60 * 60);
/// Maximum number of sessions that are remembered; the one that was quiet for longest goes first.
const MAX_SESSIONS: NonZeroUsize = NonZeroUsize::new(1_024).expect("not zero");

/// What sessions were given first. It is in this process alone: after a restart a session is given memory anew.
pub(crate) struct FrozenContexts(Mutex<LruCache<SessionKey, FrozenContext>>);

/// An agent under its page as it is, and its session.
type SessionKey = (String, blake3::Hash);

impl Default for FrozenContexts {
    fn default() -> Self {
        Self(Mutex::new(LruCache::new(MAX_SESSIONS)))
    }
}

struct FrozenContext {
    view: ContextView,
    /// What it was made of and decided by, as far as that was seen.
    seen: Vec<VaultPath>,
    /// How many purges had ended before it was made.
    purges: u64,
    last: Instant,
}

impl FrozenContexts {
    /// What a session was given first, or is given now where nothing was yet; `None` where the agent's page wants memory as it is now, and while
    /// something that it was made of is changing.
    /// Nothing is kept of a request that was given nothing. What was made of a note that is not seen any more, or before a purge, is made anew.
    ///
    /// # Errors
    /// As [`context`](super::context).
    pub(crate) fn of(
        &self,
        viewer: &Viewer,
        session: &str,
        params: &ContextParams,
    ) -> Result<Option<ContextView>, RequestError> {
        if !is_frozen(viewer) {
            return Ok(None);
        }
        let key = (asker_of(viewer), blake3::hash(session.as_bytes()));
        // A purged text is known again as a whole only, and a block has cut it: so all goes that was made before.
        let purges = viewer.workspace().purges();
        let fresh = |known: &&FrozenContext| known.last.elapsed() <= KEPT && known.purges == purges;
        let known = self.kept().get(&key).filter(fresh).map(|known| (known.view.clone(), known.seen.clone()));
        let notes = NoteLines::of(viewer, None)?;
        if let Some((view, seen)) = known.filter(|(_, seen)| seen.iter().all(|path| notes.sees(path.as_str()))) {
            // What is on disk may be private by now.
            if !seen.iter().all(|path| notes.is_as_indexed(path.as_str())) {
                return Ok(None);
            }
            log(viewer, params, &view);
            if let Some(known) = self.kept().get_mut(&key) {
                known.last = Instant::now();
            }
            return Ok(Some(view));
        }
        let (view, looked) = context_of(viewer, params)?;
        // As it is seen now: what was indexed meanwhile is a part of it as well.
        let notes = NoteLines::of(viewer, None)?;
        let seen = looked.into_iter().filter(|path| notes.sees(path.as_str())).collect();
        if view.text.is_empty() {
            self.kept().pop(&key);
        } else {
            self.kept().put(key, FrozenContext { view: view.clone(), seen, purges, last: Instant::now() });
        }
        Ok(Some(view))
    }

    fn kept(&self) -> MutexGuard<'_, LruCache<SessionKey, FrozenContext>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
