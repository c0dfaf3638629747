//! What documents said when they were last read, so that neither a reindex nor a look at one reads it again. Derived, one file for each path.

use std::collections::HashSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::text::DocumentText;
use crate::base::fs::{Context, FsError, create_private_dir, remove_unfinished, write_atomically};
use crate::base::path::VaultPath;

/// Counts up whenever a reader tells something else of the same file.
const VERSION: u32 = 1;

/// A folder of such files.
#[derive(Debug, Clone)]
pub(super) struct TextCache {
    folder: PathBuf,
}

#[derive(Debug, Serialize, Deserialize)]
struct CachedText {
    version: u32,
    /// BLAKE3 of the document.
    document: String,
    text: Option<String>,
    #[serde(default)]
    problems: Vec<String>,
    /// Why there is no text.
    reason: Option<String>,
}

impl TextCache {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Removes what a process that was killed had begun to keep.
    pub(super) fn remove_unfinished(&self) {
        let _ = remove_unfinished(&self.folder);
    }

    fn file(&self, path: &VaultPath) -> PathBuf {
        self.folder.join(name(path))
    }

    /// What the document at a path said, where it is the one with this hash.
    pub(super) fn get(&self, path: &VaultPath, document: &blake3::Hash) -> Option<Result<DocumentText, String>> {
        let bytes = fs::read(self.file(path)).ok()?;
        // A bit that has turned on the disk is no word of the document.
        let (sum, json) = bytes.split_at_checked(64)?;
        if blake3::hash(json).to_hex().as_bytes() != sum {
            return None;
        }
        let kept: CachedText = serde_json::from_slice(json).ok()?;
        if kept.version != VERSION || kept.document != document.to_hex().as_str() {
            return None;
        }
        match (kept.text, kept.reason) {
            (Some(text), _) => Some(Ok(DocumentText { text, problems: kept.problems })),
            (None, reason) => reason.map(Err),
        }
    }

    /// Keeps what a document said.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn put(
        &self,
        path: &VaultPath,
        document: &blake3::Hash,
        said: &Result<DocumentText, String>,
    ) -> Result<(), FsError> {
        let (text, problems, reason) = match said {
            Ok(said) => (Some(said.text.clone()), said.problems.clone(), None),
            Err(reason) => (None, Vec::new(), Some(reason.clone())),
        };
        let kept = CachedText { version: VERSION, document: document.to_hex().to_string(), text, problems, reason };
        let json = serde_json::to_vec(&kept).map_err(std::io::Error::from).on("write", &self.folder)?;
        let bytes = [blake3::hash(&json).to_hex().as_bytes(), &json].concat();
        create_private_dir(&self.folder)?;
        write_atomically(&self.file(path), &bytes, 0o600)
    }

    /// Keeps nothing of a path any more.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn remove(&self, path: &VaultPath) -> Result<(), FsError> {
        removed(&self.file(path))
    }

    /// Keeps nothing of any other path.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(super) fn retain<'p>(&self, paths: impl Iterator<Item = &'p VaultPath>) -> Result<(), FsError> {
        let kept: HashSet<String> = paths.map(name).collect();
        let entries = match fs::read_dir(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.on("list", &self.folder)?,
        };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_ours = name.to_str().filter(|name| name.ends_with(END));
            if is_ours.is_some_and(|name| !kept.contains(name)) {
                removed(&entry.path())?;
            }
        }
        Ok(())
    }
}

const END: &str = ".text";

/// A path's file has no name that tells it: folders are listed by who may not read the vault.
fn name(path: &VaultPath) -> String {
    format!("{}{END}", &blake3::hash(path.as_str().as_bytes()).to_hex()[..32])
}

fn removed(file: &Path) -> Result<(), FsError> {
    match fs::remove_file(file) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        result => result.on("remove", file),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_for_its_path_and_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let kept = TextCache::new(folder.path().join("attachments"));
        let (a, b) = (VaultPath::new("a.pdf").unwrap(), VaultPath::new("b.pdf").unwrap());
        let (one, two) = (blake3::hash(b"1"), blake3::hash(b"2"));
        kept.retain([&a].into_iter()).unwrap();
        assert_eq!(kept.get(&a, &one), None);
        let said = Ok(DocumentText { text: "tea".into(), problems: vec!["page 2".into()] });
        kept.put(&a, &one, &said).unwrap();
        kept.put(&b, &two, &Err("it is not a PDF".into())).unwrap();
        assert_eq!((kept.get(&a, &one), kept.get(&a, &two)), (Some(said), None));
        assert_eq!(kept.get(&b, &two), Some(Err("it is not a PDF".into())));
        kept.retain([&b].into_iter()).unwrap();
        assert_eq!((kept.get(&a, &one), kept.get(&b, &two).is_some()), (None, true));
        let file = kept.file(&b);
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(kept.get(&b, &two), None, "damaged");
        kept.remove(&b).unwrap();
        kept.remove(&b).unwrap();
    }
}
