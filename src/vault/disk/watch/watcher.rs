//! Which folders are watched, and what becomes of those that cannot be.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::{RecommendedWatcher, RecursiveMode, Watcher as _};

use super::events::{CookieFolder, Signal, handler};
use super::limits;
use crate::base::config::WatchMode;
use crate::base::path::VaultPath;
use crate::vault::disk::{NoteRules, OutsideFolder};

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WatchedBy {
    /// By the file system's events.
    Events,
    /// By events where they can be had, and for the rest by looking again every so often, for the reason given.
    Partly(String),
    /// By looking again every so often alone, for the reason given.
    Polling(String),
}

impl WatchedBy {
    /// Whether somebody has to look again every so often.
    pub fn needs_polling(&self) -> bool {
        *self != Self::Events
    }
}

/// Maximum number of looks at a new folder for those that are made in it meanwhile.
const MAX_LOOKS: usize = 4;

/// Watches one vault for as long as it lives.
pub struct Watcher {
    root: PathBuf,
    rules: Arc<NoteRules>,
    mode: WatchMode,
    signal: Arc<dyn Fn(Signal) + Send + Sync>,
    /// Where cookies are made, if they are, and whether they are heard of.
    cookies: Option<Arc<CookieFolder>>,
    hears_cookies: bool,
    events: Option<RecommendedWatcher>,
    /// Folders that have a watch, as far as is known. inotify watches folders one by one.
    covered: HashSet<PathBuf>,
    watching: WatchedBy,
}

impl Watcher {
    /// Starts to watch; `signal` is called on the watcher's own thread and must not block. `cookies` is a folder to be watched
    /// besides, for who wants to know that all events until then have come.
    ///
    /// Where events cannot be had (`mode` says so, a limit is reached, a file system without them), [`Watcher::watching`]
    /// tells so, and the caller has to look by itself.
    pub fn start(
        root: &Path,
        rules: Arc<NoteRules>,
        mode: WatchMode,
        cookies: Option<Arc<CookieFolder>>,
        signal: impl Fn(Signal) + Send + Sync + 'static,
    ) -> Self {
        let mut watcher = Self {
            root: root.to_owned(),
            rules,
            mode,
            signal: Arc::new(signal),
            cookies,
            hears_cookies: false,
            events: None,
            covered: HashSet::new(),
            watching: WatchedBy::Events,
        };
        watcher.renew();
        watcher
    }

    /// How it watches.
    pub fn watching(&self) -> &WatchedBy {
        &self.watching
    }

    /// Whether a cookie is heard of as soon as all that happened before it.
    pub fn hears_cookies(&self) -> bool {
        self.hears_cookies
    }

    /// Sets all watches anew: on folders that were moved, mounted or made while nobody told, and on those for which there
    /// was no room before. Costs a call for each folder.
    pub fn renew(&mut self) {
        self.watching = match self.mode {
            WatchMode::Poll => self.give_up("set by `index.watch`"),
            WatchMode::Auto if crate::vault::disk::scan::on_network(&self.root) => {
                self.give_up("the vault is on a network file system")
            }
            WatchMode::Auto => match self.listen() {
                Ok(()) => self.cover_all(),
                Err(error) => WatchedBy::Polling(limits::explain(&error)),
            },
        };
    }

    /// Watches the vault and the folders elsewhere that belong to it.
    fn cover_all(&mut self) -> WatchedBy {
        // First, while there is room for a watch.
        self.hears_cookies = self.cover_cookies();
        let mut watching = self.cover_below(&self.root.clone());
        for outside in Arc::clone(&self.rules).outside().iter() {
            let next = if crate::vault::disk::scan::on_network(outside.folder()) {
                WatchedBy::Partly(format!("the collection `{}` is on a network file system", outside.name()))
            } else {
                self.cover_below(outside.folder())
            };
            if watching == WatchedBy::Events {
                watching = next;
            }
        }
        watching
    }

    /// Watches the folder of the cookies. It is not among those that are `covered`, which come and go with the vault's.
    fn cover_cookies(&mut self) -> bool {
        let (Some(cookies), Some(events)) = (&self.cookies, &mut self.events) else { return false };
        let watched = cookies.prepare().map_err(notify::Error::io).and_then(|folder| {
            // Elsewhere the watch of the vault covers what is in it.
            let is_covered = !cfg!(target_os = "linux") && folder.starts_with(&self.root);
            if is_covered { Ok(()) } else { events.watch(&folder, RecursiveMode::NonRecursive) }
        });
        if let Err(error) = &watched {
            tracing::warn!("searches cannot wait for what was saved just before: {}", limits::explain(error));
        }
        watched.is_ok()
    }

    fn give_up(&mut self, reason: &str) -> WatchedBy {
        self.hears_cookies = false;
        self.events = None;
        self.covered.clear();
        WatchedBy::Polling(reason.to_owned())
    }

    fn listen(&mut self) -> notify::Result<()> {
        if self.events.is_none() {
            let signal = Arc::clone(&self.signal);
            let cookies = self.cookies.as_ref().and_then(|cookies| cookies.prepare().ok());
            let handler = handler(&self.root, Arc::clone(&self.rules), cookies, move |said| signal(said));
            self.events = Some(notify::recommended_watcher(handler)?);
            self.covered.clear();
        }
        Ok(())
    }

    /// Watches a new folder and those below it.
    pub fn cover(&mut self, folder: &VaultPath) {
        let top = self.rules.outside().on_disk(&self.root, folder);
        for _ in 0..MAX_LOOKS {
            if let WatchedBy::Partly(reason) = self.cover_below(&top) {
                self.watching = WatchedBy::Partly(reason);
                break;
            }
            // A folder that was made in one before that was watched made no event.
            if !cfg!(target_os = "linux") || self.folders(&top).iter().all(|path| self.covered.contains(path)) {
                break;
            }
        }
    }

    /// Watches each folder at or below `top` that counts; this way those that are left out, the index's own above all, make
    /// no events.
    fn cover_below(&mut self, top: &Path) -> WatchedBy {
        if !cfg!(target_os = "linux") {
            return self.cover_root(top);
        }
        let found = self.folders(top);
        let Some(events) = &mut self.events else { return self.watching.clone() };
        // A folder that was moved keeps its watch under its old name, and makes room under neither.
        let stale = self.covered.extract_if(|path| path.starts_with(top) && !found.contains(path));
        stale.for_each(|path| drop(events.unwatch(&path)));
        let (mut refused, mut reason) = (0, None);
        for path in found {
            if reason.is_some() && !self.covered.contains(&path) {
                refused += 1;
                continue;
            }
            match events.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => {
                    self.covered.insert(path);
                }
                Err(error) if limits::is_reached(&error) => {
                    self.covered.remove(&path);
                    refused += 1;
                    reason.get_or_insert_with(|| limits::explain(&error));
                }
                // Gone since, or not to be read: the scan lists it.
                Err(_) => {
                    self.covered.remove(&path);
                }
            }
        }
        match reason {
            None => WatchedBy::Events,
            Some(reason) if self.covered.is_empty() => WatchedBy::Polling(reason),
            Some(reason) => WatchedBy::Partly(format!("{refused} folders are not watched: {reason}")),
        }
    }

    /// Elsewhere one watch covers everything.
    fn cover_root(&mut self, top: &Path) -> WatchedBy {
        let roots = std::iter::once(&*self.root).chain(self.rules.outside().iter().map(OutsideFolder::folder));
        let Some(root) = roots.into_iter().find(|root| top.starts_with(root)).map(Path::to_owned) else {
            return self.watching.clone();
        };
        let Some(events) = &mut self.events else { return self.watching.clone() };
        if self.covered.contains(&root) {
            let _ = events.unwatch(&root);
        }
        match events.watch(&root, RecursiveMode::Recursive) {
            Ok(()) => {
                self.covered.insert(root);
                WatchedBy::Events
            }
            // A folder elsewhere that is not there is watched when it is.
            Err(_) if root != self.root && !root.exists() => WatchedBy::Events,
            Err(error) => self.give_up(&limits::explain(&error)),
        }
    }

    /// The folders that count at or below `top`.
    fn folders(&self, top: &Path) -> BTreeSet<PathBuf> {
        let outside = self.rules.outside();
        let enter = |path: &Path| {
            path == self.root || outside.vault_paths(&self.root, path).iter().any(|folder| self.rules.enters(folder))
        };
        walkdir::WalkDir::new(top)
            .follow_root_links(false)
            .into_iter()
            .filter_entry(|entry| entry.file_type().is_dir() && enter(entry.path()))
            .flatten()
            .map(walkdir::DirEntry::into_path)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    #[test]
    fn watches_follow_folders_that_were_moved_while_nobody_told() {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        fs::create_dir_all(root.join("old/deep")).unwrap();
        fs::create_dir_all(root.join(".git/objects")).unwrap();
        let rules = Arc::new(NoteRules::new(&root, &[]).unwrap());
        let told = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&told);
        let signal = move |signal| into.lock().unwrap().push(signal);
        let mut watcher = Watcher::start(&root, rules, WatchMode::Auto, None, signal);
        assert_eq!(*watcher.watching(), WatchedBy::Events);
        fs::rename(root.join("old"), root.join("new")).unwrap();
        watcher.renew();
        if cfg!(target_os = "linux") {
            let covered = ["", "new", "new/deep"].map(|path| root.join(path).components().collect::<PathBuf>());
            assert_eq!(watcher.covered, HashSet::from(covered));
        }
        fs::write(root.join("new/deep/a.md"), "x").unwrap();
        let is_told = |signal: &Signal| matches!(signal, Signal::Changed(path, _) if path.as_str() == "new/deep/a.md");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !told.lock().unwrap().iter().any(is_told) {
            assert!(Instant::now() < deadline, "{:?}", told.lock().unwrap());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn polling_is_said_to_be_needed_where_it_was_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let rules = Arc::new(NoteRules::new(folder.path(), &[]).unwrap());
        let watcher = Watcher::start(folder.path(), rules, WatchMode::Poll, None, |_| {});
        assert_eq!(*watcher.watching(), WatchedBy::Polling("set by `index.watch`".into()));
        assert!(watcher.watching().needs_polling());
    }
}
