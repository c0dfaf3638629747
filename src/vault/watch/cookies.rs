//! Files made to learn that every event before them has come.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::fs::create_private_dir;

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
