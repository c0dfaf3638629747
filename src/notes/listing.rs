//! The names of notes, in the order of their paths.

use std::sync::Arc;

use crate::engine::FileEntry;
use crate::request::{RequestError, Viewer, rfc3339};
use crate::vault::globs;
use crate::wire::{Listing, ListingParams, NoteName};

/// The names of the notes that are seen.
///
/// # Errors
/// When the glob cannot be read, or the index is not open yet.
pub(crate) fn listing(viewer: &Viewer, params: &ListingParams) -> Result<Listing, RequestError> {
    let glob = params.glob.as_ref().map(|glob| globs("glob", std::slice::from_ref(glob))).transpose();
    let glob = glob.map_err(|error| RequestError::invalid(error.to_string()))?;
    let scope = viewer.settled_scope()?;
    let mut files: Vec<&Arc<FileEntry>> = scope
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
    viewer.log("list", params.glob.as_deref().unwrap_or_default(), given);
    Ok(Listing { notes, total: files.len() })
}

/// The paths of the notes that are seen, in no particular order. What of them is given the caller logs.
///
/// # Errors
/// When the index is not open yet.
pub(crate) fn paths(viewer: &Viewer) -> Result<Vec<String>, RequestError> {
    let scope = viewer.settled_scope()?;
    Ok(scope.files().map(|file| file.path.to_string()).collect())
}
