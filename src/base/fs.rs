//! File operations whose errors name the path and the operation.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

/// A failed file operation.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} {}: {source}", path.display())]
pub struct FsError {
    /// What was tried: "read", "write", …
    pub operation: &'static str,
    /// On which file or folder.
    pub path: PathBuf,
    /// What the system said.
    #[source]
    pub source: io::Error,
}

impl FsError {
    /// Whether the file or folder was not there.
    pub fn is_not_found(&self) -> bool {
        matches!(self.source.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
    }
}

/// Adds the path and the operation to an [`io::Result`].
pub(crate) trait Context<T> {
    /// Names what was tried on which path.
    ///
    /// # Errors
    /// The same error, with its context.
    fn on(self, operation: &'static str, path: &Path) -> Result<T, FsError>;
}

impl<T> Context<T> for io::Result<T> {
    fn on(self, operation: &'static str, path: &Path) -> Result<T, FsError> {
        self.map_err(|source| FsError { operation, path: path.to_owned(), source })
    }
}

/// Creates a folder and its parents.
///
/// # Errors
/// When the system refuses.
pub(crate) fn create_dir(path: &Path) -> Result<(), FsError> {
    fs::create_dir_all(path).on("create the folder", path)
}

/// Creates a folder that only its owner may enter, and its parents; one that is there stays as it is. Nothing is made where a vault is not, whose
/// drive may be mounted in a moment.
///
/// # Errors
/// When the system refuses, or `.vault` would be in a folder that is not there.
pub(crate) fn create_private_dir(path: &Path) -> Result<(), FsError> {
    let vault = path.ancestors().find(|folder| folder.ends_with(".vault")).and_then(Path::parent);
    if vault.is_some_and(|vault| !vault.as_os_str().is_empty() && !vault.is_dir()) {
        return Err(io::Error::from(io::ErrorKind::NotFound)).on("create the folder", path);
    }
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(path).on("create the folder", path)
}

/// Removes a file, where there is one.
///
/// # Errors
/// When it is there and cannot be removed.
pub(crate) fn remove_file(path: &Path) -> Result<(), FsError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.on("remove", path),
    }
}

/// Replaces a file in one step: a reader sees the old content or the new, never a part, and after a power
/// loss it is one of the two. `mode` gives the permission bits where the system has them.
///
/// # Errors
/// When the folder cannot be written to or the disk is full; the old file is then as it was.
pub(crate) fn write_atomically(path: &Path, bytes: &[u8], mode: u32) -> Result<(), FsError> {
    write_unless(path, bytes, mode, || Ok(()))
}

/// The same, when the file still has the bytes of `before` right before it is replaced; says whether it had.
///
/// # Errors
/// As [`write_atomically`], and when the file cannot be read.
pub(crate) fn write_over(path: &Path, before: &[u8], bytes: &[u8]) -> Result<bool, FsError> {
    let mode = path.metadata().map_or(0o600, |meta| meta.permissions().mode() & 0o777);
    let same = || if fs::read(path)? == before { Ok(()) } else { Err(io::ErrorKind::ResourceBusy.into()) };
    match write_unless(path, bytes, mode, same) {
        Err(FsError { source, .. }) if source.kind() == io::ErrorKind::ResourceBusy => Ok(false),
        written => written.map(|()| true),
    }
}

fn write_unless(path: &Path, bytes: &[u8], mode: u32, check: impl Fn() -> io::Result<()>) -> Result<(), FsError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let write = || -> io::Result<()> {
        let file = whole_file(folder, mode, false, |file| {
            file.write_all(bytes)?;
            crash::point("file-written");
            Ok(())
        })?;
        check()?;
        file.persist(path)?;
        crash::point("file-renamed");
        fs::File::open(folder)?.sync_all()
    };
    write().on("write", path)
}

/// Replaces a file in one step by what is written piece by piece.
///
/// # Errors
/// As [`write_atomically`], and what `write` gives; the old file is then as it was.
pub(crate) fn replace_with(
    path: &Path,
    mode: u32,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> Result<(), FsError> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let replace = || -> io::Result<()> {
        whole_file(folder, mode, true, write)?.persist(path)?;
        fs::File::open(folder)?.sync_all()
    };
    replace().on("write", path)
}

/// A file of a name of its own in a folder, whole and safe on disk, which is gone again unless it gets its place. It has exactly these permission
/// bits, or what the umask leaves of them.
fn whole_file(
    folder: &Path,
    mode: u32,
    is_exact: bool,
    write: impl FnOnce(&mut fs::File) -> io::Result<()>,
) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(UNFINISHED).permissions(fs::Permissions::from_mode(if is_exact { 0o600 } else { mode }));
    let mut file = builder.tempfile_in(folder)?;
    write(file.as_file_mut())?;
    if is_exact {
        file.as_file().set_permissions(fs::Permissions::from_mode(mode & 0o777))?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

/// Removes what [`write_atomically`] left in a folder when it was killed, and nobody has touched for so long; others may be writing there.
pub(crate) fn remove_unfinished(folder: &Path, age: std::time::Duration) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let changed = entry.metadata().ok().filter(fs::Metadata::is_file).and_then(|meta| meta.modified().ok());
        // A time that is yet to come says nothing.
        let old = changed.is_some_and(|changed| changed.elapsed().unwrap_or_default() >= age);
        if old && entry.file_name().as_encoded_bytes().starts_with(UNFINISHED.as_bytes()) {
            let removed = fs::remove_file(entry.path());
            let _ = removed.inspect_err(|error| tracing::warn!("{} stays: {error}", entry.path().display()));
        }
    }
}

/// Writes a file of a name of its own into a folder, whole and safe on disk, to be moved to its place from there. It has
/// exactly the permission bits of `mode`, or those that the umask gives a new file.
///
/// # Errors
/// When the folder cannot be written to or the disk is full; no part of it is then left.
pub(crate) fn write_beside(folder: &Path, bytes: &[u8], mode: Option<u32>) -> Result<PathBuf, FsError> {
    let (mode, is_exact) = mode.map_or((0o666, false), |mode| (mode, true));
    let write = || -> io::Result<PathBuf> {
        let file = whole_file(folder, mode, is_exact, |file| file.write_all(bytes))?;
        Ok(file.into_temp_path().keep()?)
    };
    write().on("write in", folder)
}

/// Moves a file to a name that nothing has.
///
/// # Errors
/// `AlreadyExists` when something has it; when the system refuses.
pub(crate) fn move_new(from: &Path, to: &Path) -> Result<(), FsError> {
    let otherwise = || fs::hard_link(from, to).and_then(|()| fs::remove_file(from));
    rename_with(from, to, RenameFlags::NOREPLACE, otherwise).on("write", to)
}

/// Moves a file to the place of another, which takes its. Where the file system does not know how, the other is gone.
///
/// # Errors
/// When one of them is not there, or the system refuses.
pub(crate) fn exchange(one: &Path, other: &Path) -> Result<(), FsError> {
    rename_with(one, other, RenameFlags::EXCHANGE, || fs::rename(one, other)).on("write", other)
}

/// Renames as Linux and macOS can; `otherwise` where the file system does not know how.
fn rename_with(
    from: &Path,
    to: &Path,
    flags: RenameFlags,
    otherwise: impl FnOnce() -> io::Result<()>,
) -> io::Result<()> {
    match renameat_with(CWD, from, CWD, to, flags) {
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => otherwise(),
        renamed => Ok(renamed?),
    }
}

/// Makes the name of a file, or that it is gone, safe against a power loss.
///
/// # Errors
/// When the system refuses.
pub(crate) fn sync_folder(file: &Path) -> Result<(), FsError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    match fs::File::open(folder).and_then(|folder| folder.sync_all()) {
        // Some file systems sync no folders; what was written is written.
        Err(error) if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) => Ok(()),
        synced => synced.on("sync", folder),
    }
}

/// Gives a file the owner and group of another, as far as the system lets us.
pub(crate) fn give_owner_of(other: &Path, file: &Path) {
    use std::os::unix::fs::{MetadataExt, chown};
    if let (Ok(theirs), Ok(ours)) = (other.symlink_metadata(), file.symlink_metadata())
        && (theirs.uid(), theirs.gid()) != (ours.uid(), ours.gid())
        && chown(file, Some(theirs.uid()), Some(theirs.gid())).is_err()
    {
        let _ = chown(file, None, Some(theirs.gid()));
    }
}

/// Gives a file the extended attributes of another, such as tags of a file manager and access lists, as far as the system lets us.
pub(crate) fn give_attributes_of(other: &Path, file: &Path) {
    let mut names = vec![0; MOST_ATTRIBUTE_BYTES];
    let Ok(length) = rustix::fs::llistxattr(other, &mut names[..]) else { return };
    let mut value = vec![0; MOST_ATTRIBUTE_BYTES];
    for name in names[..length].split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if let Ok(length) = rustix::fs::lgetxattr(other, name, &mut value[..]) {
            let _ = rustix::fs::lsetxattr(file, name, &value[..length], rustix::fs::XattrFlags::empty());
        }
    }
}

/// Maximum bytes of the names of a file's extended attributes, and of a value: those of Linux.
const MOST_ATTRIBUTE_BYTES: usize = 64 << 10;

/// How the names of files begin that are not yet what they are to be.
pub(crate) const UNFINISHED: &str = ".vault-tmp-";

/// Writes a new file and fails when there is one already.
///
/// # Errors
/// When the file exists or cannot be written.
pub(crate) fn write_new(path: &Path, bytes: &[u8]) -> Result<(), FsError> {
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true).open(path).and_then(|mut file| file.write_all(bytes)).on("create", path)
}

/// The bytes that the files below a folder take, by their lengths.
pub(crate) fn folder_bytes(path: &Path) -> u64 {
    let found = walkdir::WalkDir::new(path).into_iter().flatten().filter_map(|entry| entry.metadata().ok());
    found.filter(fs::Metadata::is_file).map(|meta| meta.len()).sum()
}

/// Whether some process has a file open for writing; `None` where the system does not tell, as on a network file system, or for a file of
/// somebody else.
///
/// Linux grants a lease for reading on a file that nobody has open for writing, and refuses it else. It is given back at once.
#[cfg(target_os = "linux")]
pub(crate) fn is_open_for_writing(path: &Path) -> Option<bool> {
    use std::os::fd::AsRawFd;

    /// Which signal tells of a lease that was broken. Linux calls it so everywhere, and `libc` has no name for it.
    const F_SETSIG: libc::c_int = 10;

    let file = std::fs::File::open(path).ok()?;
    let control = |command: libc::c_int, argument: libc::c_int| {
        // SAFETY: these commands take a number, and the descriptor is open as long as `file` is.
        let done = unsafe { libc::fcntl(file.as_raw_fd(), command, argument) };
        if done == -1 { Err(std::io::Error::last_os_error()) } else { Ok(()) }
    };
    // Who opens it while the lease lasts has a signal sent to us. That one is ignored unless a program asks for it; the usual one kills.
    control(F_SETSIG, libc::SIGURG).ok()?;
    match control(libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            // It ends with the descriptor in any case.
            let _ = control(libc::F_SETLEASE, libc::F_UNLCK);
            Some(false)
        }
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => Some(true),
        Err(_) => None,
    }
}

/// As on Linux; no other system tells.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_open_for_writing(_path: &Path) -> Option<bool> {
    None
}

/// Named points of the write path at which the program can be told to die as by `kill -9`, so that tests see what the
/// next start makes of what was left.
///
/// `VAULT_CRASH_AT=words-committed:3` ends it at the third passing of that point. Builds without debug assertions have
/// none of it.
pub(crate) mod crash {
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static ARMED: LazyLock<Option<Armed>> = LazyLock::new(|| {
        let text = std::env::var("VAULT_CRASH_AT").ok()?;
        let (point, passing) = text.split_once(':')?;
        Some(Armed { point: point.to_owned(), left: AtomicUsize::new(passing.parse().ok()?) })
    });

    struct Armed {
        point: String,
        /// Passings before the process ends, that one included.
        left: AtomicUsize,
    }

    /// Passes a point. In a released program this does nothing.
    #[inline]
    pub(crate) fn point(name: &str) {
        if cfg!(debug_assertions)
            && let Some(armed) = ARMED.as_ref().filter(|armed| armed.point == name)
            && armed.left.fetch_sub(1, Ordering::Relaxed) == 1
        {
            let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL);
            std::process::abort();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_atomic_write_replaces_and_keeps_the_mode() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("token");
        write_atomically(&path, b"one", 0o600).unwrap();
        write_atomically(&path, b"two", 0o600).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"two");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
        fs::write(folder.path().join(".vault-tmp-1a2b3c"), "half").unwrap();
        remove_unfinished(folder.path(), std::time::Duration::ZERO);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn nothing_is_made_where_a_vault_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("vault/.vault/state");
        assert!(create_private_dir(&state).is_err() && !folder.path().join("vault").exists());
        fs::create_dir(folder.path().join("vault")).unwrap();
        create_private_dir(&state).unwrap();
    }

    #[test]
    fn what_changed_meanwhile_is_not_written_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("memory.toml");
        fs::write(&path, "theirs").unwrap();
        assert!(!write_over(&path, b"before", b"ours").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"theirs");
        assert!(write_over(&path, b"theirs", b"ours").unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"ours");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn only_old_leftovers_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        for name in [".vault-tmp-old", ".vault-tmp-new", "note.md"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        for name in [".vault-tmp-old", "note.md"] {
            let file = fs::File::options().write(true).open(folder.path().join(name)).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
        }
        remove_unfinished(folder.path(), std::time::Duration::from_secs(3600));
        assert!(!folder.path().join(".vault-tmp-old").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    }

    #[test]
    fn errors_name_the_path_and_the_operation() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("nothing/x");
        let error = write_atomically(&path, b"", 0o600).unwrap_err();
        assert!(error.to_string().starts_with(&format!("cannot write {}: ", path.display())), "{error}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn who_writes_is_seen_and_who_reads_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.md");
        fs::write(&path, "x").unwrap();
        assert_eq!(is_open_for_writing(&path), Some(false));
        let reader = fs::File::open(&path).unwrap();
        assert_eq!(is_open_for_writing(&path), Some(false));
        let writer = fs::File::options().append(true).open(&path).unwrap();
        assert_eq!(is_open_for_writing(&path), Some(true));
        drop((reader, writer));
        assert_eq!(is_open_for_writing(&path), Some(false));
        assert_eq!(is_open_for_writing(&folder.path().join("none.md")), None);
    }
}
