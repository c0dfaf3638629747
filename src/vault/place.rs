//! Whether a folder is still the one it was: drives are unplugged, folders are moved away and restored.

use std::fs;
use std::io;
use std::path::Path;
use std::time::SystemTime;

use crate::config::FILE_NAME;

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
        let (device, inode) = {
            use std::os::unix::fs::MetadataExt;
            (meta.dev(), meta.ino())
        };
        Self { device, inode, made: meta.created().ok() }
    }

    /// Looks at the folder of a vault; `None` when it is not there, or is no vault, as the empty folder on which a drive is
    /// mounted.
    pub fn of_vault(root: &Path) -> Option<Self> {
        root.join(FILE_NAME).is_file().then(|| Self::of(root).ok()).flatten()
    }
}

#[cfg(test)]
mod tests {
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
