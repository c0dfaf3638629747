//! Comparing the files of a keyword index with their checksums, one after the other.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use tantivy::directory::error::OpenReadError;
use tantivy::{Directory, Index, TantivyError};

use super::schema::{KeywordError, MANAGED};

/// A check under way.
pub(crate) struct KeywordCheck {
    index: Index,
    files: Vec<PathBuf>,
}

impl KeywordCheck {
    pub(super) fn new(index: Index) -> Result<Self, KeywordError> {
        index.directory().atomic_read(Path::new(MANAGED)).map_err(TantivyError::from)?;
        let files = current_files(&index)?.into_iter().collect();
        Ok(Self { index, files })
    }

    /// Checks the next file; false when there is none left.
    ///
    /// # Errors
    /// When a file is damaged or cannot be read.
    pub(crate) fn step(&mut self) -> Result<bool, KeywordError> {
        let Some(path) = self.files.pop() else { return Ok(false) };
        // What is gone from the disk may be mapped still, and would be read from there.
        let found = match self.index.directory().exists(&path).map_err(TantivyError::from)? {
            true => self.index.directory().validate_checksum(&path),
            false => Err(OpenReadError::FileDoesNotExist(path.clone())),
        };
        let wrong = match found {
            Ok(true) => return Ok(true),
            Ok(false) => "fails its checksum".to_owned(),
            // A merge or a commit may have replaced the segment meanwhile.
            Err(OpenReadError::FileDoesNotExist(_)) if !current_files(&self.index)?.contains(&path) => return Ok(true),
            Err(OpenReadError::FileDoesNotExist(_)) => "is missing".to_owned(),
            Err(OpenReadError::IoError { io_error, .. }) => format!("cannot be read: {io_error}"),
            Err(error) => return Err(TantivyError::from(error).into()),
        };
        Err(KeywordError::damaged(format!("{} {wrong}", path.display())))
    }
}

/// The files of the last commit. tantivy's list of its segments names all that a segment can have, the list of all files
/// those that there are.
fn current_files(index: &Index) -> Result<HashSet<PathBuf>, KeywordError> {
    let mut files = index.load_metas()?.list_segment_files();
    let managed = index.directory().list_managed_files();
    files.retain(|path| managed.contains(path));
    Ok(files)
}
