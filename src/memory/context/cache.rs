//! What was given lately, for as long as nothing of it has changed.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::access::request::Workspace;
use crate::base::path::VaultPath;
use crate::serve::wire::ContextView;
use crate::vault::disk::Stamp;

/// How long a context is given again.
const KEPT: Duration = Duration::from_secs(10);
/// Maximum number of those that are kept.
const MAX_KEPT: usize = 64;

/// The last contexts of each who asks.
#[derive(Default)]
pub(crate) struct ContextCache(Mutex<HashMap<ContextKey, CachedContext>>);

/// Who asks for what, of which state of what it sees. Of what it does not see nothing is in it, so that nobody learns by how soon it is
/// answered that something hidden has changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ContextKey {
    pub(super) asker: String,
    pub(super) asked: String,
    pub(super) seen: u64,
}

struct CachedContext {
    view: ContextView,
    since: Instant,
    files: LookedFiles,
}

/// Files that were looked at, as they were when what is given was read of them.
pub(super) type LookedFiles = HashMap<VaultPath, Option<Stamp>>;

/// What a file is like now; `None` where it is not there.
pub(super) fn stamp(workspace: &Workspace, path: &VaultPath) -> Option<Stamp> {
    workspace.on_disk(path).symlink_metadata().ok().map(|meta| Stamp::of(&meta))
}

impl ContextCache {
    /// What was given, if it would be the same now.
    pub(super) fn get(&self, key: &ContextKey, workspace: &Workspace) -> Option<(ContextView, LookedFiles)> {
        let (view, files) = {
            let mut kept = self.kept();
            let found = kept.get(key)?;
            if found.since.elapsed() > KEPT {
                kept.remove(key);
                return None;
            }
            (found.view.clone(), found.files.clone())
        };
        files.iter().all(|(path, was)| stamp(workspace, path) == *was).then_some((view, files))
    }

    /// Keeps what was given.
    pub(super) fn put(&self, key: ContextKey, view: ContextView, files: LookedFiles) {
        let mut kept = self.kept();
        if kept.len() >= MAX_KEPT {
            kept.retain(|_, kept| kept.since.elapsed() <= KEPT);
        }
        if kept.len() >= MAX_KEPT {
            kept.clear();
        }
        kept.insert(key, CachedContext { view, since: Instant::now(), files });
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<ContextKey, CachedContext>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
