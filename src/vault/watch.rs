//! Notices changes on disk: the file system's events, or polling where those fail.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::debounce::Change;
use super::rules::Rules;
use crate::config::WatchMode;
use crate::path::VaultPath;

/// What the watcher has to say.
#[derive(Debug)]
pub enum Signal {
    /// A file or a folder has changed.
    Changed(VaultPath, Change),
    /// A folder has appeared, with what it holds.
    Folder(VaultPath),
    /// Events were lost, or the vault's folder itself changed: look at everything.
    Rescan,
}

/// How changes are noticed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Watching {
    /// By the file system's events.
    Events,
    /// By looking again every so often, for the reason given.
    Polling(String),
}

/// The watcher could not be started, not even for polling.
#[derive(Debug, thiserror::Error)]
#[error("cannot watch {}: {source}", root.display())]
pub struct WatchError {
    root: PathBuf,
    #[source]
    source: notify::Error,
}

/// Watches one vault for as long as it lives.
pub struct Watcher {
    root: PathBuf,
    rules: Arc<Rules>,
    backend: Backend,
}

enum Backend {
    Events(RecommendedWatcher),
    /// The thread that polls ends when the sender is dropped.
    Polling {
        _stop: Sender<()>,
        reason: String,
    },
}

impl Watcher {
    /// Starts to watch; `signal` is called on the watcher's own thread and must not block.
    ///
    /// Where events cannot be had (`mode` says so, the limit of watches is reached, a file system without them) it polls.
    ///
    /// # Errors
    /// When not even polling works: the folder is gone or may not be listed.
    pub fn start(
        root: &Path,
        rules: Arc<Rules>,
        mode: WatchMode,
        poll: Duration,
        signal: impl Fn(Signal) + Send + Clone + 'static,
    ) -> Result<Self, WatchError> {
        let reason = match mode {
            WatchMode::Poll => "`index.watch` says so".to_owned(),
            WatchMode::Auto if super::scan::on_network(root) => "the vault is on a network file system".to_owned(),
            WatchMode::Auto => match Self::start_events(root, &rules, signal.clone()) {
                Ok(watcher) => return Ok(watcher),
                Err(error) => format!("events cannot be had: {error}"),
            },
        };
        Self::start_polling(root, rules, poll, reason, signal)
            .map_err(|source| WatchError { root: root.to_owned(), source })
    }

    fn start_events(root: &Path, rules: &Arc<Rules>, signal: impl Fn(Signal) + Send + 'static) -> notify::Result<Self> {
        let watcher = notify::recommended_watcher(handler(root, Arc::clone(rules), signal))?;
        let mut watcher = Self { root: root.to_owned(), rules: Arc::clone(rules), backend: Backend::Events(watcher) };
        watcher.cover(None)?;
        Ok(watcher)
    }

    /// Asks for a rescan every so often. notify's own polling compares whole seconds, and takes an older file that was
    /// moved into place for no change; a scan compares all that the file system says.
    fn start_polling(
        root: &Path,
        rules: Arc<Rules>,
        poll: Duration,
        reason: String,
        signal: impl Fn(Signal) + Send + 'static,
    ) -> notify::Result<Self> {
        std::fs::read_dir(root).map_err(notify::Error::io)?;
        let (stop, stopped) = channel();
        std::thread::spawn(move || {
            while stopped.recv_timeout(poll) == Err(RecvTimeoutError::Timeout) {
                signal(Signal::Rescan);
            }
        });
        Ok(Self { root: root.to_owned(), rules, backend: Backend::Polling { _stop: stop, reason } })
    }

    /// How it watches.
    pub fn watching(&self) -> Watching {
        match &self.backend {
            Backend::Events(_) => Watching::Events,
            Backend::Polling { reason, .. } => Watching::Polling(reason.clone()),
        }
    }

    /// Watches a folder (the root when `None`) and those below it. inotify watches folders one by one, and this way those
    /// that are left out, the index's own above all, make no events.
    ///
    /// # Errors
    /// When the system's limit of watches is reached.
    pub fn cover(&mut self, folder: Option<&VaultPath>) -> notify::Result<()> {
        let Backend::Events(watcher) = &mut self.backend else { return Ok(()) };
        if !cfg!(target_os = "linux") {
            return if folder.is_none() { watcher.watch(&self.root, RecursiveMode::Recursive) } else { Ok(()) };
        }
        let top = folder.map_or_else(|| self.root.clone(), |folder| folder.on_disk(&self.root));
        let enter = |path: &Path| match VaultPath::from_relative(path.strip_prefix(&self.root).unwrap_or(path)) {
            Ok(folder) => self.rules.enters(&folder),
            Err(_) => path == self.root,
        };
        let folders = walkdir::WalkDir::new(top)
            .follow_root_links(false)
            .into_iter()
            .filter_entry(|entry| entry.file_type().is_dir() && enter(entry.path()))
            .flatten();
        for entry in folders {
            match watcher.watch(entry.path(), RecursiveMode::NonRecursive) {
                Ok(()) => {}
                Err(error) if matches!(error.kind, notify::ErrorKind::MaxFilesWatch) => return Err(error),
                // Gone since, or not to be read: the scan lists it.
                Err(_) => {}
            }
        }
        Ok(())
    }
}

/// Translates notify's events.
fn handler(
    root: &Path,
    rules: Arc<Rules>,
    signal: impl Fn(Signal) + Send + 'static,
) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    let root = root.to_owned();
    move |event| {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            Ok(_) => return signal(Signal::Rescan),
            Err(error) => {
                tracing::warn!("the watcher reports: {error}");
                return signal(Signal::Rescan);
            }
        };
        let Some(change) = change_of(event.kind) else { return };
        for path in &event.paths {
            if *path == root {
                signal(Signal::Rescan);
                continue;
            }
            let Ok(relative) = path
                .strip_prefix(&root)
                .map_err(drop)
                .and_then(|relative| VaultPath::from_relative(relative).map_err(drop))
            else {
                continue;
            };
            // A rename names the old path too, where an editor may be about to write the new text.
            let renamed = matches!(event.kind, EventKind::Modify(ModifyKind::Name(_)));
            let gone = renamed && path.symlink_metadata().is_err();
            let change = if gone { Change::Removed } else { change };
            // A folder may be named like a note; what is gone may have been a folder, with all it held.
            if change != Change::Removed && rules.enters(&relative) && is_folder(path) {
                signal(Signal::Folder(relative));
            } else if rules.takes(&relative) || (change == Change::Removed && rules.enters(&relative)) {
                signal(Signal::Changed(relative, change));
            }
        }
    }
}

/// Whether a folder is there, and not a link to one.
fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|meta| meta.is_dir())
}

fn change_of(kind: EventKind) -> Option<Change> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Change::Closed),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => Some(Change::Removed),
        EventKind::Modify(ModifyKind::Name(_)) => Some(Change::Closed),
        EventKind::Modify(_) | EventKind::Create(_) | EventKind::Any | EventKind::Other => Some(Change::Written),
    }
}
