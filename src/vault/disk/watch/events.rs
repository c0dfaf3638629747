//! What the file system's events say, in the words of the vault.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, Metadata};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher as _};

use super::limits;
use crate::base::config::WatchMode;
use crate::base::fs::create_private_dir;
use crate::base::path::VaultPath;
use crate::vault::disk::{Change, Identity, NoteRules};

/// What the watcher has to say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signal {
    /// A file or a folder has changed.
    Changed(VaultPath, Change),
    /// A folder has appeared, with what it holds.
    Folder(VaultPath),
    /// Events were lost: anything may have changed.
    Lost,
    /// The vault's own folder, or one elsewhere, was moved, deleted or given other rights.
    Root,
    /// A cookie of this number has been made: all that happened before has been told.
    Cookie(u64),
}

/// Translates notify's events. What happens in the folder of `cookies` is no change of the vault's.
pub(super) fn handler(
    root: &Path,
    rules: Arc<NoteRules>,
    cookies: Option<PathBuf>,
    signal: impl Fn(Signal) + Send + 'static,
) -> impl FnMut(notify::Result<Event>) + Send + 'static {
    let root = root.to_owned();
    move |event| {
        let event = match event {
            Ok(event) if !event.need_rescan() => event,
            Ok(_) => return signal(Signal::Lost),
            Err(error) => {
                tracing::warn!("the watcher reports: {error}");
                return signal(Signal::Lost);
            }
        };
        let Some(change) = change_of(event.kind) else { return };
        for path in &event.paths {
            if cookies.as_ref().is_some_and(|folder| path.starts_with(folder)) {
                if let (EventKind::Create(_), Some(number)) = (event.kind, number_of(path)) {
                    signal(Signal::Cookie(number));
                }
                continue;
            }
            if *path == root || rules.outside().iter().any(|outside| path == outside.folder()) {
                signal(Signal::Root);
                continue;
            }
            // A rename names the old path too, where an editor may be about to write the new text.
            let renamed = matches!(event.kind, EventKind::Modify(ModifyKind::Name(_)));
            let gone = renamed && path.symlink_metadata().is_err();
            let change = if gone { Change::Removed } else { change };
            for relative in rules.outside().vault_paths(&root, path) {
                let may_be_folder = change != Change::Removed && rules.enters(&relative);
                let kind = may_be_folder.then(|| path.symlink_metadata().ok()).flatten();
                // A folder may be named like a note; what is gone may have been a folder, with all it held. Links are listed.
                if kind.as_ref().is_some_and(Metadata::is_dir) {
                    signal(Signal::Folder(relative));
                } else if rules.takes(&relative)
                    || kind.is_some_and(|meta| meta.is_symlink())
                    || (change == Change::Removed && rules.enters(&relative))
                {
                    signal(Signal::Changed(relative, change));
                }
            }
        }
    }
}

pub(super) fn change_of(kind: EventKind) -> Option<Change> {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => Some(Change::Closed),
        EventKind::Access(_) => None,
        EventKind::Modify(ModifyKind::Name(RenameMode::From)) | EventKind::Remove(_) => Some(Change::Removed),
        EventKind::Modify(ModifyKind::Name(_)) => Some(Change::Closed),
        EventKind::Modify(_) | EventKind::Create(_) | EventKind::Any | EventKind::Other => Some(Change::Written),
    }
}

/// Maximum number of looks at new folders for those that were made in them meanwhile.
const MAX_COVERS: usize = 8;

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
            WatchMode::Poll => (None, Some("set by `index.watch`".to_owned())),
            WatchMode::Auto => match notify::recommended_watcher(heard) {
                Ok(events) => (Some(events), None),
                Err(error) => (None, Some(limits::explain(&error))),
            },
        };
        Self { events, covered: HashMap::new(), reason }
    }

    /// Listens to the folders that are found and to no others. Where one of them is new, they are looked for again: what came into it before
    /// made no event.
    pub(crate) fn cover(&mut self, find: impl Fn() -> BTreeSet<PathBuf>) {
        for _ in 0..MAX_COVERS {
            if !self.cover_once(&find()) {
                break;
            }
        }
    }

    /// Says whether one of the folders is new.
    fn cover_once(&mut self, folders: &BTreeSet<PathBuf>) -> bool {
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

/// A folder for cookies: empty files, each gone again at once, whose event tells that all that happened before has been told.
///
/// It must be the watcher's own, and need not be in the vault: inotify has one queue for all that is watched.
#[derive(Debug)]
pub struct CookieFolder(PathBuf);

impl CookieFolder {
    /// Of a folder that is made where it is watched.
    pub fn new(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Makes the folder where there is none, and takes away what a kill has left in it; gives its path as events have it.
    pub(super) fn prepare(&self) -> io::Result<PathBuf> {
        create_private_dir(&self.0).map_err(|error| error.source)?;
        for left in fs::read_dir(&self.0)?.flatten() {
            let _ = fs::remove_file(left.path());
        }
        self.0.canonicalize()
    }

    /// Makes a cookie, and takes it away: what counts is the event.
    ///
    /// # Errors
    /// When the folder is gone, or the disk is full.
    pub fn make(&self, number: u64) -> io::Result<()> {
        let path = self.0.join(format!("{}-{number}", std::process::id()));
        File::create_new(&path)?;
        // Whoever took it away before has seen it, too.
        let _ = fs::remove_file(&path);
        Ok(())
    }
}

/// The number of a cookie of this process.
pub(super) fn number_of(path: &Path) -> Option<u64> {
    let (process, number) = path.file_name()?.to_str()?.split_once('-')?;
    number.parse().ok().filter(|_| process.parse() == Ok(std::process::id()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use notify::event::{CreateKind, Flag, MetadataKind, RemoveKind};
    use std::sync::Mutex;

    /// What is said of an event on `path` of a vault that holds the folder `notes` and the file `notes/a.md`.
    fn said(kind: EventKind, path: &str, flag: Option<Flag>) -> Vec<Signal> {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir(root.join("notes")).unwrap();
        std::fs::write(root.join("notes/a.md"), "x").unwrap();
        let said = Arc::new(Mutex::new(Vec::new()));
        let into = Arc::clone(&said);
        let rules = Arc::new(NoteRules::new(root, &[]).unwrap());
        let mut handle =
            handler(root, rules, Some(root.join(".vault/cookies")), move |signal| into.lock().unwrap().push(signal));
        let mut event = Event::new(kind).add_path(root.join(path).components().collect());
        if let Some(flag) = flag {
            event = event.set_flag(flag);
        }
        handle(Ok(event));
        let said = said.lock().unwrap();
        said.clone()
    }

    #[test]
    fn an_overflow_is_a_loss_and_not_a_change() {
        assert_eq!(said(EventKind::Other, "notes/a.md", Some(Flag::Rescan)), [Signal::Lost]);
    }

    #[test]
    fn the_root_s_own_events_are_told_apart() {
        let metadata = EventKind::Modify(ModifyKind::Metadata(MetadataKind::Any));
        assert_eq!(said(metadata, "", None), [Signal::Root]);
        let note = VaultPath::new("notes/a.md").unwrap();
        assert_eq!(said(metadata, "notes/a.md", None), [Signal::Changed(note, Change::Written)]);
    }

    #[test]
    fn a_folder_is_no_note_and_readers_are_no_news() {
        let notes = VaultPath::new("notes").unwrap();
        assert_eq!(said(EventKind::Create(CreateKind::Folder), "notes", None), [Signal::Folder(notes)]);
        assert!(said(EventKind::Access(AccessKind::Open(AccessMode::Any)), "notes/a.md", None).is_empty());
        assert!(said(EventKind::Create(CreateKind::File), ".git/a.md", None).is_empty());
    }

    #[test]
    fn a_cookie_is_heard_once_and_those_of_others_never() {
        let (own, create) = (std::process::id(), EventKind::Create(CreateKind::File));
        let cookie = format!(".vault/cookies/{own}-7");
        assert_eq!(said(create, &cookie, None), [Signal::Cookie(7)]);
        assert!(said(EventKind::Remove(RemoveKind::File), &cookie, None).is_empty());
        assert!(said(EventKind::Access(AccessKind::Close(AccessMode::Write)), &cookie, None).is_empty());
        for other in [format!("{}-7", own + 1), "x".into(), format!("{own}-"), format!("{own}-a.md")] {
            assert!(said(create, &format!(".vault/cookies/{other}"), None).is_empty(), "{other}");
        }
        assert!(said(EventKind::Remove(RemoveKind::Folder), ".vault/cookies", None).is_empty());
    }
}

#[cfg(test)]
mod tests_of_folders {
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
            assert!(watcher.cover_once(&folders) && !watcher.cover_once(&folders));
            assert_eq!(watcher.needs_polling(), None);
            while heard.try_recv().is_ok() {}
            std::fs::write(inner.join("a"), "x").unwrap();
            news("a file in the folder");
            std::fs::remove_dir_all(&inner).unwrap();
            news("the folder gone");
        }
        let changed: Arc<dyn Fn() + Send + Sync> = Arc::new(|| ());
        let mut polling = FoldersWatcher::start(WatchMode::Poll, changed);
        assert!(!polling.cover_once(&folders) && polling.needs_polling().is_some());
    }
}
