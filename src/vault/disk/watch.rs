//! Notices changes on disk: which folders are watched, what the file system's events say in the words of the vault, and what becomes of
//! folders that cannot be watched.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind, RenameMode};
use notify::{Error, ErrorKind, Event, RecommendedWatcher, RecursiveMode, Watcher as _};
use rustix::io::Errno;

use crate::base::config::WatchMode;
use crate::base::fs::create_private_dir;
use crate::base::path::VaultPath;
use crate::vault::disk::{Change, Identity, NoteRules};

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

/// Maximum number of looks at new folders for those that are made in them meanwhile.
const MAX_LOOKS: usize = 8;

/// Folders that are watched one by one, each without those below it, as inotify does it.
struct WatchedFolders {
    events: RecommendedWatcher,
    /// Those that have a watch, as far as is known.
    covered: HashMap<PathBuf, Identity>,
}

/// What became of folders that were to be watched.
struct Covered {
    /// Whether one of them was not watched before: what came into it before made no event.
    is_new: bool,
    /// How many could not be watched, and why.
    refused: usize,
    reason: Option<String>,
}

impl WatchedFolders {
    /// Watches these of all folders at or below `top` and no others of them.
    fn cover(&mut self, top: &Path, folders: BTreeSet<PathBuf>) -> Covered {
        let is_same = |path: &Path, known: &Identity| Identity::of(path).is_ok_and(|now| now == *known);
        // A folder that was moved keeps its watch under its old name, and makes room under neither.
        let is_stale = |path: &Path, known: &Identity| !folders.contains(path) || !is_same(path, known);
        let stale = self.covered.extract_if(|path, known| path.starts_with(top) && is_stale(path, known));
        stale.for_each(|(path, _)| drop(self.events.unwatch(&path)));
        let mut covered = Covered { is_new: false, refused: 0, reason: None };
        for path in folders {
            if covered.reason.is_some() && !self.covered.contains_key(&path) {
                covered.refused += 1;
                continue;
            }
            let Ok(identity) = Identity::of(&path) else { continue };
            // Anew, as not all file systems tell a folder from the next one in its place.
            match self.events.watch(&path, RecursiveMode::NonRecursive) {
                Ok(()) => covered.is_new |= self.covered.insert(path, identity).is_none(),
                Err(error) => {
                    self.covered.remove(&path);
                    // Else it is gone since, or not to be read: the scan lists it.
                    if is_reached(&error) {
                        covered.refused += 1;
                        covered.reason.get_or_insert_with(|| explain(&error));
                    }
                }
            }
        }
        covered
    }
}

/// Watches one vault for as long as it lives.
pub struct Watcher {
    root: PathBuf,
    rules: Arc<NoteRules>,
    mode: WatchMode,
    signal: Arc<dyn Fn(Signal) + Send + Sync>,
    /// Where cookies are made, if they are, and whether they are heard of.
    cookies: Option<Arc<CookieFolder>>,
    hears_cookies: bool,
    watched: Option<WatchedFolders>,
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
            watched: None,
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
                Err(error) => WatchedBy::Polling(explain(&error)),
            },
        };
    }

    /// Watches the vault and the folders elsewhere that belong to it.
    fn cover_all(&mut self) -> WatchedBy {
        // First, while there is room for a watch.
        self.hears_cookies = self.cover_cookies();
        let (mut watching, _) = self.cover_below(&self.root.clone());
        for outside in Arc::clone(&self.rules).outside().iter() {
            let next = if crate::vault::disk::scan::on_network(&outside.folder) {
                WatchedBy::Partly(format!("the collection `{}` is on a network file system", outside.name))
            } else {
                self.cover_below(&outside.folder).0
            };
            if watching == WatchedBy::Events {
                watching = next;
            }
        }
        watching
    }

    /// Watches the folder of the cookies. It is not among those that are `covered`, which come and go with the vault's.
    fn cover_cookies(&mut self) -> bool {
        let (Some(cookies), Some(watched)) = (&self.cookies, &mut self.watched) else { return false };
        let heard = cookies.prepare().map_err(notify::Error::io).and_then(|folder| {
            // Elsewhere the watch of the vault covers what is in it.
            let is_covered = !cfg!(target_os = "linux") && folder.starts_with(&self.root);
            if is_covered { Ok(()) } else { watched.events.watch(&folder, RecursiveMode::NonRecursive) }
        });
        if let Err(error) = &heard {
            tracing::warn!("searches cannot wait for what was saved just before: {}", explain(error));
        }
        heard.is_ok()
    }

    fn give_up(&mut self, reason: &str) -> WatchedBy {
        self.hears_cookies = false;
        self.watched = None;
        WatchedBy::Polling(reason.to_owned())
    }

    fn listen(&mut self) -> notify::Result<()> {
        if self.watched.is_none() {
            let signal = Arc::clone(&self.signal);
            let cookies = self.cookies.as_ref().and_then(|cookies| cookies.prepare().ok());
            let handler = handler(&self.root, Arc::clone(&self.rules), cookies, move |said| signal(said));
            self.watched =
                Some(WatchedFolders { events: notify::recommended_watcher(handler)?, covered: HashMap::new() });
        }
        Ok(())
    }

    /// Watches a new folder and those below it.
    pub fn cover(&mut self, folder: &VaultPath) {
        let top = self.rules.outside().on_disk(&self.root, folder);
        for _ in 0..MAX_LOOKS {
            let (watching, is_new) = self.cover_below(&top);
            if matches!(watching, WatchedBy::Partly(_)) {
                self.watching = watching;
                break;
            }
            if !is_new {
                break;
            }
        }
    }

    /// Watches each folder at or below `top` that counts, and says whether one is new; this way those that are left out, the index's own
    /// above all, make no events.
    fn cover_below(&mut self, top: &Path) -> (WatchedBy, bool) {
        if !cfg!(target_os = "linux") {
            return (self.cover_root(top), false);
        }
        let found = self.folders(top);
        let Some(watched) = &mut self.watched else { return (self.watching.clone(), false) };
        let Covered { is_new, refused, reason } = watched.cover(top, found);
        let watching = match reason {
            None => WatchedBy::Events,
            Some(reason) if watched.covered.is_empty() => WatchedBy::Polling(reason),
            Some(reason) => WatchedBy::Partly(format!("{refused} folders are not watched: {reason}")),
        };
        (watching, is_new)
    }

    /// Elsewhere one watch covers everything.
    fn cover_root(&mut self, top: &Path) -> WatchedBy {
        let roots = std::iter::once(&*self.root).chain(self.rules.outside().iter().map(|outside| &*outside.folder));
        let Some(root) = roots.into_iter().find(|root| top.starts_with(root)).map(Path::to_owned) else {
            return self.watching.clone();
        };
        let Some(WatchedFolders { events, covered }) = &mut self.watched else { return self.watching.clone() };
        if covered.remove(&root).is_some() {
            let _ = events.unwatch(&root);
        }
        match events.watch(&root, RecursiveMode::Recursive) {
            Ok(()) => {
                covered.extend(Identity::of(&root).ok().map(|identity| (root, identity)));
                WatchedBy::Events
            }
            // A folder elsewhere that is not there is watched when it is.
            Err(_) if root != self.root && !root.exists() => WatchedBy::Events,
            Err(error) => self.give_up(&explain(&error)),
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
            if *path == root || rules.outside().iter().any(|outside| *path == outside.folder) {
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

/// Listens to folders, each without those below it, for as long as it lives.
pub(crate) struct FoldersWatcher {
    watched: Option<WatchedFolders>,
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
        let events = match mode {
            WatchMode::Poll => Err("set by `index.watch`".to_owned()),
            WatchMode::Auto => notify::recommended_watcher(heard).map_err(|error| explain(&error)),
        };
        let reason = events.as_ref().err().cloned();
        Self { watched: events.ok().map(|events| WatchedFolders { events, covered: HashMap::new() }), reason }
    }

    /// Listens to the folders that are found and to no others. Where one of them is new, they are looked for again.
    pub(crate) fn cover(&mut self, find: impl Fn() -> BTreeSet<PathBuf>) {
        let Some(watched) = &mut self.watched else { return };
        for _ in 0..MAX_LOOKS {
            let mut folders = find();
            let remote = folders.extract_if(.., |folder| super::scan::on_network(folder)).last();
            let covered = watched.cover(Path::new("/"), folders);
            let remote = remote.map(|folder| format!("{} is on a network file system", folder.display()));
            self.reason = remote.or(covered.reason);
            if !covered.is_new {
                break;
            }
        }
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

/// What to raise a limit to, at least: as much as distributions for developers ship.
const ENOUGH_WATCHES: u64 = 524_288;
const ENOUGH_INSTANCES: u64 = 1_024;

/// Whether the system's limit of watches is reached, and not this folder at fault.
pub(super) fn is_reached(error: &Error) -> bool {
    matches!(error.kind, ErrorKind::MaxFilesWatch)
}

/// Says why events cannot be had; where a limit is the reason, which one it is and how to raise it.
pub(super) fn explain(error: &Error) -> String {
    let instances = match &error.kind {
        ErrorKind::MaxFilesWatch => false,
        // No more inotify instances, or open files, are allowed.
        ErrorKind::Io(io) if io.raw_os_error() == Some(Errno::MFILE.raw_os_error()) => true,
        _ => return format!("file events are not available: {error}"),
    };
    let (what, least) = if instances { ("instances", ENOUGH_INSTANCES) } else { ("watches", ENOUGH_WATCHES) };
    // A container has limits of its own, which may be the lower ones.
    let keys = [("fs.inotify.max_user_", "fs/inotify/max_user_"), ("user.max_inotify_", "user/max_inotify_")];
    let limits = keys.iter().filter_map(|(key, path)| {
        let limit = std::fs::read_to_string(format!("/proc/sys/{path}{what}")).ok()?;
        Some((limit.trim().parse::<u64>().ok()?, format!("{key}{what}")))
    });
    match limits.min_by_key(|(limit, _)| *limit) {
        Some((limit, key)) => advice(what, limit, &key, least),
        None => format!("the system's limit of inotify {what} is reached"),
    }
}

fn advice(what: &str, limit: u64, key: &str, least: u64) -> String {
    let more = least.max(limit.saturating_mul(4));
    format!(
        "the system's limit of {limit} inotify {what} is reached. Raise it with `sudo sysctl {key}={more}`, and write that \
         setting into a file in /etc/sysctl.d to keep it"
    )
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
            let mut watched: Vec<PathBuf> =
                watcher.watched.iter().flat_map(|watched| watched.covered.keys().cloned()).collect();
            watched.sort();
            assert_eq!(watched, covered);
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

#[cfg(test)]
mod tests_of_events {
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
            watcher.cover(|| folders.clone());
            assert_eq!(watcher.needs_polling(), None);
            while heard.try_recv().is_ok() {}
            std::fs::write(inner.join("a"), "x").unwrap();
            news("a file in the folder");
            std::fs::remove_dir_all(&inner).unwrap();
            news("the folder gone");
        }
        let changed: Arc<dyn Fn() + Send + Sync> = Arc::new(|| ());
        let mut polling = FoldersWatcher::start(WatchMode::Poll, changed);
        polling.cover(|| folders.clone());
        assert!(polling.needs_polling().is_some());
    }
}

#[cfg(test)]
mod tests_of_limits {
    use super::*;

    #[test]
    fn says_which_limit_to_raise_and_how() {
        let said = advice("watches", 8192, "fs.inotify.max_user_watches", ENOUGH_WATCHES);
        assert!(said.contains("limit of 8192") && said.contains("`sudo sysctl fs.inotify.max_user_watches=524288`"));
        let said = advice("watches", 524_288, "fs.inotify.max_user_watches", ENOUGH_WATCHES);
        assert!(said.contains("max_user_watches=2097152`"), "{said}");
        let full = Error::new(ErrorKind::MaxFilesWatch);
        assert!(is_reached(&full) && explain(&full).contains("inotify watches is reached"));
        let instances = Error::io(std::io::Error::from_raw_os_error(Errno::MFILE.raw_os_error()));
        assert!(!is_reached(&instances) && explain(&instances).contains("inotify instances is reached"));
        assert!(explain(&Error::generic("no")).starts_with("file events are not available: no"));
    }
}
