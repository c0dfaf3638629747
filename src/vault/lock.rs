//! The lock that says who writes the index.

use std::fs::File;
use std::sync::{Mutex, PoisonError};

use super::home::{Home, HomeError};
use super::place::Identity;

/// The right to write the index, held by one process at a time, until it is dropped or the process ends.
#[derive(Debug)]
pub struct Lock {
    home: Home,
    file: Mutex<File>,
}

impl Lock {
    pub(super) fn take(home: &Home) -> Result<Self, HomeError> {
        Ok(Self { file: Mutex::new(home.take_lock()?), home: home.clone() })
    }

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::FILE_NAME;
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
