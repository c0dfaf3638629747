//! One process at a time fetches a model's file.

use std::fs::{File, TryLockError, metadata, remove_file};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::base::fs::{Context, FsError};

/// The right to write a model's file, and what is beside it until it is whole. It ends with the process, however that ends.
#[derive(Debug)]
pub(crate) struct ModelClaim {
    path: PathBuf,
    /// Locked for as long as it is open.
    _file: File,
}

impl ModelClaim {
    /// Claims the file `target`; `None` while another process has it.
    ///
    /// # Errors
    /// When the file beside it, by which that is told, cannot be made or locked.
    pub(crate) fn take(target: &Path) -> Result<Option<Self>, FsError> {
        let mut path = target.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        loop {
            let file = File::options().write(true).create(true).truncate(false).open(&path).on("open", &path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error).on("lock", &path)?,
            }
            // Whoever had it may have removed it after it was opened here: then another one counts, or none.
            let here = file.metadata().on("look at", &path)?.ino();
            if metadata(&path).is_ok_and(|there| there.ino() == here) {
                return Ok(Some(Self { path, _file: file }));
            }
        }
    }
}

impl Drop for ModelClaim {
    fn drop(&mut self) {
        // While it is locked still, so that it is no other's.
        let _ = remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_claimed_once_and_free_again_after() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.gguf");
        let first = ModelClaim::take(&target).unwrap();
        assert!(first.is_some() && ModelClaim::take(&target).unwrap().is_none());
        assert!(ModelClaim::take(&folder.path().join("y.gguf")).unwrap().is_some(), "another is free");
        drop(first);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left behind");
        // What a process that was killed left behind holds nobody up.
        std::fs::write(folder.path().join("x.gguf.lock"), "").unwrap();
        assert!(ModelClaim::take(&target).unwrap().is_some());
    }
}
