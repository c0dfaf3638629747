//! Comparing the files of a keyword index with their checksums, one after the other.

use std::path::PathBuf;

use tantivy::directory::error::OpenReadError;
use tantivy::{Directory, Index, TantivyError};

use super::schema::KeywordError;

/// A check under way.
pub struct KeywordCheck {
    index: Index,
    files: Vec<PathBuf>,
}

impl KeywordCheck {
    pub(super) fn new(index: Index) -> Result<Self, KeywordError> {
        let files = index.load_metas()?.list_segment_files().into_iter().collect();
        Ok(Self { index, files })
    }

    /// Checks the next file; false when there is none left.
    ///
    /// # Errors
    /// When a file is damaged or cannot be read.
    pub fn step(&mut self) -> Result<bool, KeywordError> {
        let Some(path) = self.files.pop() else { return Ok(false) };
        let directory = self.index.directory();
        // The list names all that a segment can have.
        if !directory.exists(&path).map_err(TantivyError::from)? {
            return Ok(true);
        }
        match directory.validate_checksum(&path) {
            Ok(true) => {}
            Ok(false) => return Err(KeywordError::damaged(format!("{} fails its checksum", path.display()))),
            // A merge or a commit has replaced the segment meanwhile.
            Err(OpenReadError::FileDoesNotExist(_)) => {}
            Err(OpenReadError::IoError { io_error, .. }) => {
                return Err(KeywordError::damaged(format!("{} cannot be read: {io_error}", path.display())));
            }
            Err(error) => return Err(TantivyError::from(error).into()),
        }
        Ok(true)
    }
}
