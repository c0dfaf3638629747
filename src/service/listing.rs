//! The names of notes, in the order of their paths.

use std::sync::Arc;

use super::error::ServiceError;
use super::start::Service;
use super::time::rfc3339;
use crate::access::Principal;
use crate::engine::FileEntry;
use crate::vault::globs;

/// Which notes, and how many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListingParams {
    /// Only notes whose paths match this glob; `*` stays within a folder, `**` does not.
    pub glob: Option<String>,
    /// Only notes that come after this path.
    pub after: Option<String>,
    /// Notes at most.
    pub limit: usize,
}

/// A page of names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listing {
    /// This page.
    pub notes: Vec<NoteName>,
    /// How many there are on this page and those after it.
    pub total: usize,
}

/// What a note is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoteName {
    /// Its path in the vault.
    pub path: String,
    /// Its title.
    pub title: String,
    /// Its size.
    pub bytes: u64,
    /// When it was last changed, as RFC 3339.
    pub updated_at: String,
}

impl Service {
    /// The names of the notes in the principal's scope.
    ///
    /// # Errors
    /// When the glob cannot be read, or the index is not open yet.
    pub fn listing(&self, principal: &Principal, params: &ListingParams) -> Result<Listing, ServiceError> {
        let glob = params.glob.as_ref().map(|glob| globs("glob", std::slice::from_ref(glob))).transpose();
        let glob = glob.map_err(|error| ServiceError::invalid(error.to_string()))?;
        let reach = self.settled_reach(principal)?;
        let mut files: Vec<&Arc<FileEntry>> = reach
            .files()
            .filter(|file| params.after.as_deref().is_none_or(|after| file.path.as_str() > after))
            .filter(|file| glob.as_ref().is_none_or(|glob| glob.is_match(file.path.as_str())))
            .collect();
        files.sort_by(|one, two| one.path.cmp(&two.path));
        let notes: Vec<NoteName> = files
            .iter()
            .take(params.limit)
            .map(|file| NoteName {
                path: file.path.to_string(),
                title: file.title.clone(),
                bytes: file.stamp.size,
                updated_at: rfc3339(file.updated_ms),
            })
            .collect();
        let given = notes.iter().map(|note| note.path.clone()).collect();
        self.log_read(principal, "list", params.glob.as_deref().unwrap_or_default(), given);
        Ok(Listing { notes, total: files.len() })
    }

    /// The paths of the notes in the principal's scope, in no particular order. What of them is given the caller logs.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub fn paths(&self, principal: &Principal) -> Result<Vec<String>, ServiceError> {
        let reach = self.settled_reach(principal)?;
        Ok(reach.files().map(|file| file.path.to_string()).collect())
    }
}
