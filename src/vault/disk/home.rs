//! A vault's place on disk: its root, and `.vault/` with the lock, the owner's token and the running daemon's address; and what makes a
//! folder a vault.

use std::fs::{File, Metadata, TryLockError};
use std::io::{ErrorKind, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, io};

use include_dir::{Dir, include_dir};
use rustix::fs::{Access, access};
use serde::{Deserialize, Serialize};

use crate::access::rules::Token;
use crate::base::config::{FILE_NAME, STARTER};
use crate::base::fs::{Context, FsError, crash, create_dir, create_private_dir, write_atomically, write_new};
use crate::base::path::VaultPath;
use crate::base::state::State;

/// The folder in the vault that is the program's own.
pub(super) const DIR_NAME: &str = ".vault";

/// The address of a Unix socket holds 104 bytes on macOS and 108 on Linux, the closing NUL included.
const LONGEST_SOCKET: usize = 100;

/// The place of one vault.
#[derive(Debug, Clone)]
pub struct Home {
    root: PathBuf,
    dir: PathBuf,
}

/// Why a vault cannot be opened, locked or made.
#[derive(Debug, thiserror::Error)]
pub enum HomeError {
    /// A file operation failed.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// No vault was named and none is found upward of the current folder.
    #[error(
        "no vault here: neither {} nor a folder above it has a memory.toml. Name one with --vault DIR or VAULT_DIR, \
         or make one with `vault init DIR`",
        .0.display()
    )]
    NotFound(PathBuf),
    /// The folder is there, but it is not a vault.
    #[error(
        "{} is not a vault: it has no memory.toml. `vault init --adopt {}` makes it one without changing its files",
        .0.display(), .0.display()
    )]
    NotAVault(PathBuf),
    /// The folder that was to be made a vault is one already.
    #[error("{} is already a vault", .0.display())]
    AlreadyAVault(PathBuf),
    /// It holds files.
    #[error(
        "{} is not empty. `vault init --adopt {}` makes it a vault without changing its files",
        .0.display(), .0.display()
    )]
    NotEmpty(PathBuf),
    /// There is nothing to adopt.
    #[error("{} is not a folder; `vault init {}` makes a new vault there", .0.display(), .0.display())]
    NothingToAdopt(PathBuf),
    /// Another process has the lock.
    #[error("{}", held(.0))]
    Held(Option<DaemonInfo>),
}

fn held(daemon: &Option<DaemonInfo>) -> String {
    match daemon {
        Some(daemon) => {
            let what = if daemon.is_stopgap() { "" } else { "`vault serve`, " };
            format!("a daemon serves this vault already: {what}process {} on {}", daemon.pid, daemon.address)
        }
        None => "another vault command is writing this vault's index; try again when it has finished".into(),
    }
}

/// What a running daemon says of itself. Advisory: the lock is the authority on who runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DaemonInfo {
    /// Its process.
    pub pid: u32,
    /// Where it listens: `127.0.0.1:7833`.
    pub address: String,
    /// What addresses there begin with: `http` or `https`.
    #[serde(default = "plain")]
    pub scheme: String,
    /// The path before all addresses there, where the server has several vaults: `/v/maya`; else empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// The Unix socket that the command line talks to.
    pub socket: PathBuf,
}

/// The scheme of a daemon that does not say it.
fn plain() -> String {
    "http".into()
}

impl DaemonInfo {
    /// Whether it listens on its Unix socket alone, for the program that started it, and gives way to a daemon that serves all.
    pub fn is_stopgap(&self) -> bool {
        self.address.parse::<std::net::SocketAddr>().is_err()
    }
}

impl Home {
    /// Opens the vault at `root` and makes sure that `.vault/` is there and stays out of git. Where it may not be written,
    /// a folder of the user's own stands in for it.
    ///
    /// # Errors
    /// When the folder is not a vault, or there is no place for the program's own files.
    pub fn open(root: &Path) -> Result<Self, HomeError> {
        let root = fs::canonicalize(root).on("open", root)?;
        if !root.join(FILE_NAME).is_file() {
            return Err(HomeError::NotAVault(root));
        }
        let dir = own_dir(&root, state_dir, writable)?;
        let ignore = dir.join(".gitignore");
        if !ignore.exists() {
            write_atomically(&ignore, b"*\n", 0o644)?;
        }
        Ok(Self { root, dir })
    }

    /// Finds the vault that a command means: the one named, else the nearest at or above `current`.
    ///
    /// # Errors
    /// When there is none, or it cannot be opened.
    pub fn find(named: Option<&Path>, current: &Path) -> Result<Self, HomeError> {
        if let Some(root) = named {
            return Self::open(root);
        }
        match current.ancestors().find(|folder| folder.join(FILE_NAME).is_file()) {
            Some(root) => Self::open(root),
            None => Err(HomeError::NotFound(current.to_owned())),
        }
    }

    /// The vault's root, without symbolic links.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the derived stores are, given `[index] dir`: always in a folder of their own, whatever else is there.
    pub fn index_dir(&self, configured: &Path) -> PathBuf {
        if !configured.as_os_str().is_empty() {
            return self.root.join(configured).join(format!("memory-vault-{}", key(&self.root)));
        }
        self.local_dir().join("index")
    }

    /// Where SQLite databases do well: in the vault, unless that is carried to other machines.
    fn local_dir(&self) -> PathBuf {
        let elsewhere = super::scan::carried_elsewhere(&self.root).then(state_dir).flatten();
        elsewhere.map_or_else(|| self.dir.clone(), |state| state.join(key(&self.root)))
    }

    /// What is not derived and not for the eyes of others, as files: checkpoints, what is being written.
    pub fn state_dir(&self) -> PathBuf {
        self.dir.join("state")
    }

    /// What is not derived and not for the eyes of others, as a database: tokens' hashes. It is in that folder, or where the
    /// index is when an SQLite database does not do well there.
    pub fn state(&self) -> Arc<State> {
        Arc::new(State::new(self.state_dir(), &self.local_dir().join("state")))
    }

    /// Names the machine and the vault's folder. Stores that carry another place came here with a copy or a move of the
    /// vault: what they say of files' times and inodes is of other files.
    pub fn place(&self) -> String {
        let machine = id(Path::new("/etc/machine-id"), state_dir());
        let root = self.root.as_os_str().as_encoded_bytes();
        blake3::Hasher::new().update(machine.as_bytes()).update(b"\0").update(root).finalize().to_hex()[..16].to_owned()
    }

    /// The Unix socket: in `.vault/`, or in the user's state folder where that path is too long for one.
    pub fn socket(&self) -> PathBuf {
        let near = self.dir.join("daemon.sock");
        if near.as_os_str().len() < LONGEST_SOCKET {
            return near;
        }
        let folder = state_dir().filter(|folder| create_private_dir(folder).is_ok());
        folder.map_or(near, |folder| folder.join(format!("{}.sock", key(&self.root))))
    }

    /// Where the owner's token is.
    pub fn owner_token_file(&self) -> PathBuf {
        self.dir.join("owner-token")
    }

    /// The owner's token, made at the first call.
    ///
    /// # Errors
    /// When it can be neither read nor written.
    pub fn owner_token(&self) -> Result<Token, FsError> {
        let path = self.owner_token_file();
        match fs::read_to_string(&path) {
            Ok(text) if text.trim().len() >= 32 => return Ok(Token::from_text(&text)),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error).on("read", &path),
        }
        let token = Token::random().on("make", &path)?;
        self.write_token(&token)?;
        Ok(token)
    }

    /// Writes the owner's token that is in use, where there is none any more.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn restore_owner_token(&self, token: &Token) -> Result<(), FsError> {
        if self.owner_token_file().exists() { Ok(()) } else { self.write_token(token) }
    }

    fn write_token(&self, token: &Token) -> Result<(), FsError> {
        write_atomically(&self.owner_token_file(), format!("{}\n", token.reveal()).as_bytes(), 0o600)
    }

    /// Takes the lock that says who writes the index. It is let go when the value is dropped, or the process ends.
    ///
    /// # Errors
    /// [`HomeError::Held`] when another process has it.
    pub fn lock(&self) -> Result<Lock, HomeError> {
        Ok(Lock { file: Mutex::new(self.take_lock()?), home: self.clone() })
    }

    pub(super) fn take_lock(&self) -> Result<File, HomeError> {
        let path = self.lock_file();
        let mut options = File::options();
        let mut file = options.read(true).write(true).create(true).truncate(false).open(&path).on("open", &path)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(HomeError::Held(self.daemon())),
            Err(TryLockError::Error(error)) => return Err(error).on("lock", &path)?,
        }
        let mut before = String::new();
        let _ = file.read_to_string(&mut before);
        let _ = file.set_len(0).and_then(|()| file.rewind());
        let _ = write!(file, "{}", std::process::id());
        let _ = fs::remove_file(self.daemon_file());
        let _ = fs::remove_file(self.wanted_file());
        Ok(file)
    }

    /// Asks a [stopgap](DaemonInfo::is_stopgap) that has the lock to let go of it. Whoever takes the lock takes this back.
    ///
    /// # Errors
    /// When it cannot be said.
    pub fn want_lock(&self) -> Result<(), FsError> {
        write_atomically(&self.wanted_file(), b"", 0o600)
    }

    /// Whether a daemon that serves all waits for the lock.
    pub fn is_lock_wanted(&self) -> bool {
        self.wanted_file().exists()
    }

    fn wanted_file(&self) -> PathBuf {
        self.dir.join("lock-wanted")
    }

    pub(super) fn lock_file(&self) -> PathBuf {
        self.dir.join("lock")
    }

    /// Says where the daemon of this vault listens. Only who has the lock may call it.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn announce(&self, _lock: &Lock, daemon: &DaemonInfo) -> Result<(), FsError> {
        let text =
            serde_json::to_vec_pretty(daemon).map_err(std::io::Error::other).on("encode", &self.daemon_file())?;
        write_atomically(&self.daemon_file(), &text, 0o600)
    }

    /// Takes back what [`Home::announce`] said.
    pub fn withdraw(&self) {
        let _ = fs::remove_file(self.daemon_file());
    }

    /// What the daemon of this vault last said of itself, whether or not it still runs.
    pub fn daemon(&self) -> Option<DaemonInfo> {
        serde_json::from_slice(&fs::read(self.daemon_file()).ok()?).ok()
    }

    fn daemon_file(&self) -> PathBuf {
        self.dir.join("daemon.json")
    }
}

/// Where the program's own files are: in the vault, else where the user's programs keep theirs. A vault that may only be
/// read is searched all the same.
fn own_dir(
    root: &Path,
    state: impl Fn() -> Option<PathBuf>,
    writable: impl Fn(&Path) -> Result<(), FsError>,
) -> Result<PathBuf, FsError> {
    let near = root.join(DIR_NAME);
    let Err(error) = writable(&near) else { return Ok(near) };
    let refused = [ErrorKind::PermissionDenied, ErrorKind::ReadOnlyFilesystem].contains(&error.source.kind());
    let elsewhere = state().filter(|_| refused).ok_or(error)?.join(key(root));
    writable(&elsewhere)?;
    Ok(elsewhere)
}

/// Makes a folder where there is none, and checks that files can be made in it.
fn writable(folder: &Path) -> Result<(), FsError> {
    create_private_dir(folder)?;
    let (open, lock) = (Access::WRITE_OK | Access::EXEC_OK, folder.join("lock"));
    access(folder, open).map_err(std::io::Error::from).on("write to", folder)?;
    match access(&lock, Access::READ_OK | Access::WRITE_OK).map_err(std::io::Error::from) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error).on("write to", &lock),
        _ => Ok(()),
    }
}

/// A short name for a vault that no other on the machine has, from its path.
fn key(root: &Path) -> String {
    blake3::hash(root.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// Where programs keep what is the user's but not a document.
pub(crate) fn state_dir() -> Option<PathBuf> {
    let dirs = directories::ProjectDirs::from("", "", "memory-vault")?;
    Some(dirs.state_dir().unwrap_or_else(|| dirs.data_local_dir()).to_owned())
}

/// What the system calls this machine; where it does not say, a name made once and kept in the user's state folder.
pub(super) fn id(system: &Path, state: Option<PathBuf>) -> String {
    let read = |path: &Path| fs::read_to_string(path).ok().filter(|id| !id.trim().is_empty());
    if let Some(id) = read(system) {
        return id;
    }
    let Some(state) = state else { return String::new() };
    let path = state.join("machine-id");
    read(&path).unwrap_or_else(|| {
        let id = Token::random().map(|token| token.reveal().to_owned()).unwrap_or_default();
        // Where it cannot be kept, the next start compares every note again, and no more.
        let _ = create_private_dir(&state).and_then(|()| write_atomically(&path, id.as_bytes(), 0o600));
        id
    })
}

/// What the file system says of a file, to tell whether it may have changed without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Last change of the content, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of the inode, in nanoseconds since 1970; 0 where the system has none.
    pub ctime_ns: i64,
    /// Length in bytes.
    pub size: u64,
    /// The file's number; 0 where the system has none.
    pub inode: u64,
}

impl Stamp {
    /// The stamp of a file from its metadata.
    pub fn of(meta: &Metadata) -> Self {
        let mtime_ns = meta.modified().map_or(0, |time| match time.duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_nanos() as i64,
            Err(before) => -(before.duration().as_nanos() as i64),
        });
        let ctime_ns = meta.ctime().wrapping_mul(1_000_000_000).wrapping_add(meta.ctime_nsec());
        Self { mtime_ns, ctime_ns, size: meta.len(), inode: meta.ino() }
    }
}

/// The right to write the index, held by one process at a time, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    home: Home,
    file: Mutex<File>,
}

impl Lock {
    /// Whether the file that is locked is still the one that others look at, and not one that was deleted or moved away.
    pub fn is_held(&self) -> bool {
        let file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let ours = file.metadata().map(|meta| Identity::told_by(&meta));
        matches!((ours, Identity::of(&self.home.lock_file())), (Ok(ours), Ok(there)) if ours == there)
    }

    /// Takes the lock again when it is no longer held: a vault that was deleted and restored has another file.
    ///
    /// # Errors
    /// When the vault is not there, or another process was faster.
    pub fn hold(&self) -> Result<(), HomeError> {
        if !self.is_held() {
            let file = Home::open(self.home.root())?.take_lock()?;
            *self.file.lock().unwrap_or_else(PoisonError::into_inner) = file;
        }
        Ok(())
    }
}

impl Drop for Lock {
    /// A child that another thread is about to start has the file too, until it runs its program: to close ours is not
    /// enough.
    fn drop(&mut self) {
        let _ = self.file.get_mut().unwrap_or_else(PoisonError::into_inner).unlock();
    }
}

/// Tells a file or folder from every other that has had its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    device: u64,
    inode: u64,
    /// File systems give the number of a deleted folder to the next one. Not all know when a folder was made.
    made: Option<SystemTime>,
}

impl Identity {
    /// Looks at a path.
    ///
    /// # Errors
    /// When there is nothing, or it cannot be looked at.
    pub fn of(path: &Path) -> io::Result<Self> {
        fs::metadata(path).map(|meta| Self::told_by(&meta))
    }

    /// What the metadata of a file or folder say.
    pub fn told_by(meta: &fs::Metadata) -> Self {
        Self { device: meta.dev(), inode: meta.ino(), made: meta.created().ok() }
    }

    /// Looks at the folder of a vault; `None` when it is not there, or is no vault, as the empty folder on which a drive is
    /// mounted.
    pub fn of_vault(root: &Path) -> Option<Self> {
        root.join(FILE_NAME).is_file().then(|| Self::of(root).ok()).flatten()
    }
}

static TEMPLATE: Dir<'_> = include_dir!("$CARGO_MANIFEST_DIR/vault-template");

/// Makes a new vault from the template in a folder that is empty or not there yet.
///
/// # Errors
/// When the folder holds anything, or cannot be written to.
pub(crate) fn init(folder: &Path) -> Result<Home, HomeError> {
    if folder.join(FILE_NAME).exists() {
        return Err(HomeError::AlreadyAVault(folder.to_owned()));
    }
    if folder.exists() && fs::read_dir(folder).on("list", folder)?.next().is_some() {
        return Err(HomeError::NotEmpty(folder.to_owned()));
    }
    create_dir(folder)?;
    write_below(&TEMPLATE, folder)?;
    // Last, as it is what makes the folder a vault: a start that was cut short is not taken for one.
    write_new(&folder.join(FILE_NAME), STARTER.as_bytes())?;
    Home::open(folder)
}

/// Whether a note is one that a new vault starts with, and nobody has edited it.
pub(crate) fn is_starter(path: &VaultPath, text: &str) -> bool {
    TEMPLATE.get_file(path.as_str()).is_some_and(|file| file.contents() == text.as_bytes())
}

fn write_below(dir: &Dir<'_>, folder: &Path) -> Result<(), FsError> {
    for file in dir.files().filter(|file| file.path() != Path::new(FILE_NAME)) {
        write_new(&folder.join(file.path()), file.contents())?;
        crash::point("template-note-written");
    }
    for below in dir.dirs() {
        create_dir(&folder.join(below.path()))?;
        write_below(below, folder)?;
    }
    Ok(())
}

/// Makes an existing folder a vault: adds `memory.toml` and `.vault/`, and touches nothing that is there.
///
/// # Errors
/// When there is no such folder, it is a vault already, or cannot be written to.
pub(crate) fn adopt(folder: &Path) -> Result<Home, HomeError> {
    if !folder.is_dir() {
        return Err(HomeError::NothingToAdopt(folder.to_owned()));
    }
    let config = folder.join(FILE_NAME);
    if config.exists() {
        return Err(HomeError::AlreadyAVault(folder.to_owned()));
    }
    write_new(&config, adopted().as_bytes())?;
    Home::open(folder)
}

/// The configuration of a folder that somebody else's files are in: nothing is written there that nobody asked for.
fn adopted() -> String {
    STARTER.replace("history = true ", "history = false").replace("enabled = true ", "enabled = false")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE_NAME), "").unwrap();
        let home = Home::open(folder.path()).unwrap();
        (folder, home)
    }

    #[test]
    fn is_found_upward() {
        let (folder, home) = vault();
        let below = folder.path().join("notes/daily");
        fs::create_dir_all(&below).unwrap();
        assert_eq!(Home::find(None, &below).unwrap().root(), home.root());
        let empty = tempfile::tempdir().unwrap();
        assert!(matches!(Home::find(None, empty.path()), Err(HomeError::NotFound(_))));
        assert!(matches!(Home::find(Some(empty.path()), &below), Err(HomeError::NotAVault(_))));
    }

    #[test]
    fn the_second_lock_is_refused_and_names_the_daemon() {
        let (_folder, home) = vault();
        let lock = home.lock().unwrap();
        let daemon = DaemonInfo {
            pid: 1,
            address: "127.0.0.1:7833".into(),
            scheme: plain(),
            path: String::new(),
            socket: home.socket(),
        };
        home.announce(&lock, &daemon).unwrap();
        let error = home.lock().unwrap_err().to_string();
        assert_eq!(error, "a daemon serves this vault already: `vault serve`, process 1 on 127.0.0.1:7833");
        // As a child has it between `fork` and `exec`.
        let inherited = lock.file.lock().unwrap().try_clone().unwrap();
        drop(lock);
        home.lock().unwrap();
        drop(inherited);
    }

    #[test]
    fn a_vault_that_may_only_be_read_is_kept_elsewhere() {
        let (folder, home) = vault();
        let state = tempfile::tempdir().unwrap();
        let elsewhere = || Some(state.path().to_owned());
        let dir = own_dir(home.root(), elsewhere, |dir| match dir.starts_with(home.root()) {
            true => Err(std::io::Error::from(ErrorKind::ReadOnlyFilesystem)).on("write to", dir),
            false => writable(dir),
        });
        assert_eq!(dir.unwrap(), state.path().join(key(home.root())));
        let full = |dir: &Path| Err(std::io::Error::from(ErrorKind::StorageFull)).on("write to", dir);
        assert!(own_dir(home.root(), elsewhere, full).is_err(), "that is no reason to go elsewhere");
        assert_eq!(own_dir(home.root(), elsewhere, writable).unwrap(), home.root().join(DIR_NAME));
        // Nothing is refused to root.
        if !rustix::process::geteuid().is_root() {
            use std::os::unix::fs::PermissionsExt;
            let own = folder.path().join(DIR_NAME);
            let mode = |mode| fs::set_permissions(&own, fs::Permissions::from_mode(mode)).unwrap();
            mode(0o500);
            let dir = own_dir(home.root(), elsewhere, writable);
            mode(0o700);
            assert_eq!(dir.unwrap(), state.path().join(key(home.root())));
        }
    }

    #[test]
    fn the_owner_token_is_made_once() {
        let (_folder, home) = vault();
        assert_eq!(home.owner_token().unwrap().hash(), home.owner_token().unwrap().hash());
    }
}

#[cfg(test)]
mod tests_of_machine {
    use super::*;

    #[test]
    fn a_machine_without_a_name_is_given_one_that_stays() {
        let folder = tempfile::tempdir().unwrap();
        let (system, state) = (folder.path().join("etc"), folder.path().join("state"));
        let named = || id(&system, Some(state.clone()));
        let first = named();
        assert!(first.len() >= 32 && named() == first, "{first}");
        fs::write(&system, "the system's name\n").unwrap();
        assert_eq!(named(), "the system's name\n");
    }
}

#[cfg(test)]
mod tests_of_lock {
    use super::*;
    use crate::base::config::FILE_NAME;
    use std::fs;

    #[test]
    fn a_lock_whose_file_was_deleted_is_taken_again() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(FILE_NAME), "").unwrap();
        let home = Home::open(folder.path()).unwrap();
        let lock = home.lock().unwrap();
        assert!(lock.is_held());
        fs::remove_dir_all(home.root().join(".vault")).unwrap();
        assert!(!lock.is_held());
        let other = Home::open(home.root()).unwrap().lock().unwrap();
        assert!(matches!(lock.hold(), Err(HomeError::Held(None))), "another was faster");
        drop(other);
        lock.hold().unwrap();
        assert!(lock.is_held() && home.lock().is_err());
    }
}

#[cfg(test)]
mod tests_of_place {
    use super::*;

    #[test]
    fn a_folder_that_takes_another_s_place_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("vault");
        let make = || {
            fs::create_dir(&root).unwrap();
            fs::write(root.join(FILE_NAME), "").unwrap();
            Identity::of_vault(&root).unwrap()
        };
        let first = make();
        fs::rename(&root, folder.path().join("away")).unwrap();
        assert_eq!(Identity::of_vault(&root), None);
        let second = make();
        assert_ne!(first, second);
        fs::remove_file(root.join(FILE_NAME)).unwrap();
        assert_eq!(Identity::of_vault(&root), None);
        fs::remove_dir_all(&root).unwrap();
        fs::rename(folder.path().join("away"), &root).unwrap();
        assert_eq!(Identity::of_vault(&root), Some(first));
    }
}

#[cfg(test)]
mod tests_of_template {
    use super::*;
    use crate::base::config::Config;

    #[test]
    fn init_writes_the_template_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("new/vault");
        init(&root).unwrap();
        assert!(root.join("notes").is_dir() && root.join(".gitignore").is_file() && root.join("README.md").is_file());
        assert_eq!(fs::read_to_string(root.join(FILE_NAME)).unwrap(), STARTER);
        assert!(matches!(init(&root), Err(HomeError::AlreadyAVault(_))));
    }

    #[test]
    fn init_refuses_what_is_not_empty_and_adopt_adds_two_names() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.md"), "mine").unwrap();
        assert!(matches!(init(folder.path()), Err(HomeError::NotEmpty(_))));
        adopt(folder.path()).unwrap();
        let mut names: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        assert_eq!(names, [".vault", "memory.toml", "mine.md"]);
        assert_eq!(fs::read_to_string(folder.path().join("mine.md")).unwrap(), "mine");
        let config = Config::load(folder.path()).unwrap();
        assert!(!config.facts.history && !config.memory.enabled, "nothing is written unasked");
        assert_eq!(
            Config { facts: Config::default().facts, memory: Config::default().memory, ..config },
            Config::default()
        );
        assert!(matches!(adopt(folder.path()), Err(HomeError::AlreadyAVault(_))));
        assert!(matches!(adopt(&folder.path().join("nothing")), Err(HomeError::NothingToAdopt(_))));
    }
}
