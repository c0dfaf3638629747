//! Whether somebody has a file open to write in it.

use std::path::Path;

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

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;

    use super::*;

    #[test]
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
