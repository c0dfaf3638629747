//! Listens to folders that are none of the vault's.

use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::events::change_of;
use super::limits;
use crate::config::WatchMode;
use crate::vault::Identity;

/// Listens to folders, each without those below it, for as long as it lives.
pub(crate) struct FoldersWatcher {
    events: Option<RecommendedWatcher>,
    covered: HashMap<PathBuf, Identity>,
    /// Why somebody has to look every so often.
    reason: Option<String>,
}

impl FoldersWatcher {
    /// Listens to none yet. `changed` is called on a thread of its own when something has changed in one of them, and must not block.
    pub(crate) fn start(mode: WatchMode, changed: Arc<dyn Fn() + Send + Sync>) -> Self {
        let heard = move |event: notify::Result<Event>| {
            // Readers are no news; what was lost is.
            if event.as_ref().map_or(true, |event| event.need_rescan() || change_of(event.kind).is_some()) {
                changed();
            }
        };
        let (events, reason) = match mode {
            WatchMode::Poll => (None, Some("`index.watch` says so".to_owned())),
            WatchMode::Auto => match notify::recommended_watcher(heard) {
                Ok(events) => (Some(events), None),
                Err(error) => (None, Some(limits::explain(&error))),
            },
        };
        Self { events, covered: HashMap::new(), reason }
    }

    /// Listens to these folders and to no others. Says whether one of them is new: what came into it before made no event.
    pub(crate) fn cover(&mut self, folders: &BTreeSet<PathBuf>) -> bool {
        let Some(events) = &mut self.events else { return false };
        self.reason = None;
        let is_same = |path: &Path, known: &Identity| Identity::of(path).is_ok_and(|now| now == *known);
        let stale = self.covered.extract_if(|path, known| !folders.contains(path) || !is_same(path, known));
        stale.for_each(|(path, _)| drop(events.unwatch(&path)));
        let mut is_new = false;
        for folder in folders {
            if self.covered.contains_key(folder) {
                continue;
            }
            if super::super::scan::on_network(folder) {
                self.reason = Some(format!("{} is on a network file system", folder.display()));
                continue;
            }
            let Ok(identity) = Identity::of(folder) else { continue };
            match events.watch(folder, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.covered.insert(folder.clone(), identity);
                    is_new = true;
                }
                Err(error) => self.reason = Some(limits::explain(&error)),
            }
        }
        is_new
    }

    /// Why somebody has to look every so often; `None` where events tell all.
    pub(crate) fn needs_polling(&self) -> Option<&str> {
        self.reason.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_folder_that_was_made_anew_is_listened_to_again() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        let (send, heard) = mpsc::channel();
        let changed: Arc<dyn Fn() + Send + Sync> = Arc::new(move || _ = send.send(()));
        let mut watcher = FoldersWatcher::start(WatchMode::Auto, changed);
        let news = |what: &str| {
            heard.recv_timeout(Duration::from_secs(20)).unwrap_or_else(|_| panic!("{what}"));
        };
        let folders = BTreeSet::from([folder.path().to_owned(), inner.clone()]);
        for _ in 0..2 {
            std::fs::create_dir(&inner).unwrap();
            assert!(watcher.cover(&folders) && !watcher.cover(&folders));
            assert_eq!(watcher.needs_polling(), None);
            while heard.try_recv().is_ok() {}
            std::fs::write(inner.join("a"), "x").unwrap();
            news("a file in the folder");
            std::fs::remove_dir_all(&inner).unwrap();
            news("the folder gone");
        }
        let changed: Arc<dyn Fn() + Send + Sync> = Arc::new(|| ());
        let mut polling = FoldersWatcher::start(WatchMode::Poll, changed);
        assert!(!polling.cover(&folders) && polling.needs_polling().is_some());
    }
}
