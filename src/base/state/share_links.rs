//! Links that show one note to whoever has them: each a file, named by the hash of its secret. So whoever asks, of whom nothing is known, has one
//! file opened, and none written.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use blake3::Hash;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::base::fs::{Context, FsError, create_private_dir, write_atomically};

/// A link that shows one note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShareLink {
    /// The note.
    pub path: String,
    /// When it was made.
    pub made_at: Timestamp,
    /// Until when it counts.
    pub until: Timestamp,
}

/// Those of a vault.
#[derive(Debug)]
pub struct ShareLinks {
    folder: PathBuf,
}

/// Maximum number of links; the oldest gives way.
const MAX_LINKS: usize = 256;
/// Characters of an id, with which the hash begins.
const ID_CHARS: usize = 8;

impl ShareLinks {
    /// Those of the vault whose own files are in this folder.
    pub fn in_folder(state: &Path) -> Self {
        Self { folder: state.join("links") }
    }

    /// What names a link where links are listed. No secret.
    pub fn id(hash: &Hash) -> String {
        hash.to_hex().chars().take(ID_CHARS).collect()
    }

    /// The link whose secret has a hash, while it counts.
    ///
    /// # Errors
    /// When its file cannot be read.
    pub fn with(&self, hash: &Hash) -> Result<Option<ShareLink>, FsError> {
        Ok(read(&self.file(hash))?.filter(|link| link.until > Timestamp::now()))
    }

    /// Adds one, and removes those that are over.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn add(&self, hash: &Hash, link: &ShareLink) -> Result<(), FsError> {
        create_private_dir(&self.folder)?;
        let mut all = self.all()?;
        all.sort_by_key(|(_, link)| link.made_at);
        let too_many = (all.len() + 1).saturating_sub(MAX_LINKS);
        for (at, (hash, old)) in all.iter().enumerate() {
            if at < too_many || old.until <= link.made_at {
                self.remove(hash)?;
            }
        }
        write_atomically(&self.file(hash), &serde_json::to_vec(link).unwrap_or_default(), 0o600)
    }

    /// All that are there, those that are over too; with the hashes of their secrets.
    ///
    /// # Errors
    /// When the folder cannot be read.
    pub fn all(&self) -> Result<Vec<(Hash, ShareLink)>, FsError> {
        let entries = match std::fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries.on("read", &self.folder)?,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let hashes = names.filter_map(|name| Hash::from_hex(name).ok());
        let read = |hash: Hash| Ok(read(&self.file(&hash))?.map(|link| (hash, link)));
        hashes.map(read).filter_map(Result::transpose).collect()
    }

    /// Ends one.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn remove(&self, hash: &Hash) -> Result<(), FsError> {
        let file = self.file(hash);
        std::fs::remove_file(&file).on("remove", &file)
    }

    fn file(&self, hash: &Hash) -> PathBuf {
        self.folder.join(hash.to_hex().as_str())
    }
}

/// A link's file; `None` where there is none, or it is no link.
fn read(file: &Path) -> Result<Option<ShareLink>, FsError> {
    match std::fs::read(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        bytes => Ok(serde_json::from_slice(&bytes.on("read", file)?).ok()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_counts_until_it_is_over_and_there_are_never_many() {
        let folder = tempfile::tempdir().unwrap();
        let links = ShareLinks::in_folder(folder.path());
        let day = |day: usize| Timestamp::from_second(1_800_000_000 + 86_400 * day as i64).unwrap();
        let link =
            |made: usize, until: usize| ShareLink { path: "notes/a.md".into(), made_at: day(made), until: day(until) };
        let hash = |id: usize| blake3::hash(&id.to_le_bytes());
        assert!(links.with(&hash(0)).unwrap().is_none() && links.all().unwrap().is_empty());
        assert!(std::fs::read_dir(folder.path()).unwrap().next().is_none(), "who asks writes nothing");
        links.add(&hash(0), &link(0, 400)).unwrap();
        assert_eq!(links.with(&hash(0)).unwrap(), Some(link(0, 400)));
        links.add(&hash(1), &link(1, 2)).unwrap();
        links.add(&hash(2), &link(3, 400)).unwrap();
        assert_eq!(links.all().unwrap().len(), 2, "one was over");
        for id in 3..=MAX_LINKS + 1 {
            links.add(&hash(id), &link(id, 999)).unwrap();
        }
        assert!(links.all().unwrap().len() <= MAX_LINKS && links.with(&hash(0)).unwrap().is_none());
        links.remove(&hash(9)).unwrap();
        assert!(links.with(&hash(9)).unwrap().is_none() && links.remove(&hash(9)).is_err());
        std::fs::write(links.file(&hash(10)), "{").unwrap();
        assert!(links.with(&hash(10)).unwrap().is_none());
    }
}
