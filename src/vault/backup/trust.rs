//! Whether the person has said that a repository's own programs are theirs.
//!
//! A folder that was copied or unpacked brings hooks and settings that git runs, and a `memory.toml` that has the daemon back
//! up. Who runs `vault backup` there runs their git, as by hand; nobody has asked for what the daemon does. So it waits until
//! the person has backed up once by hand.

use std::fs;
use std::path::PathBuf;

use crate::base::fs::{FsError, write_atomically};
use crate::vault::disk::Home;

/// The word of the person for the vault at this place of this machine. It does not come along with a copy.
#[derive(Debug, Clone)]
pub(crate) struct Trust {
    file: PathBuf,
    place: String,
}

impl Trust {
    /// That of a vault.
    pub(crate) fn of(home: &Home) -> Self {
        Self { file: home.state_dir().join("backed-up-by-hand"), place: home.place() }
    }

    /// Whether it was given.
    pub(crate) fn is_given(&self) -> bool {
        fs::read_to_string(&self.file).is_ok_and(|place| place.trim() == self.place)
    }

    /// Gives it.
    ///
    /// # Errors
    /// When it cannot be written down.
    pub(crate) fn give(&self) -> Result<(), FsError> {
        if self.is_given() {
            return Ok(());
        }
        if let Some(folder) = self.file.parent() {
            crate::base::fs::create_private_dir(folder)?;
        }
        write_atomically(&self.file, format!("{}\n", self.place).as_bytes(), 0o600)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_does_not_come_along_with_a_copy() {
        let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let trust = |folder: &tempfile::TempDir| {
            fs::write(folder.path().join("memory.toml"), "").unwrap();
            Trust::of(&Home::open(folder.path()).unwrap())
        };
        let (mine, copy) = (trust(&one), trust(&other));
        assert!(!mine.is_given());
        mine.give().unwrap();
        assert!(mine.is_given());
        fs::create_dir_all(copy.file.parent().unwrap()).unwrap();
        fs::copy(&mine.file, &copy.file).unwrap();
        assert!(!copy.is_given());
    }
}
