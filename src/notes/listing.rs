//! The names of notes, in the order of their paths.

use std::sync::Arc;

use crate::engine::FileEntry;
use crate::path::{ROOT_COLLECTION, folded};
use crate::request::{Edge, ReadScope, RequestError, Viewer, limit, parse, rfc3339};
use crate::search::{UnknownName, unknown_collection};
use crate::vault::globs;
use crate::wire::{Listing, ListingParams, NoteName, NotesParams, NotesView};

/// Notes of a page, when nobody says how many.
const NOTES: usize = 50;

/// The notes that are seen, the newest first.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub fn list(viewer: &Viewer, params: &NotesParams) -> Result<NotesView, RequestError> {
    let (limit, offset) = (limit(params.limit, NOTES)?, params.offset.unwrap_or(0));
    let since = params.since.as_deref().map(|since| parse("since", since, Edge::Start, viewer.at())).transpose()?;
    let folder = params.folder.as_deref().map(|folder| folder.trim_matches('/')).filter(|folder| !folder.is_empty());
    let scope = viewer.settled_scope()?;
    let is_in = |file: &&Arc<FileEntry>| {
        folder.is_none_or(|folder| {
            let below = file.path.as_str().strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            below || (folder == ROOT_COLLECTION && file.path.collection() == folder)
        })
    };
    let tag = params.tag.as_deref().map(|tag| folded(tag.trim_start_matches('#')));
    let is_so = |file: &&Arc<FileEntry>| {
        let is_below = |tag: &str, wanted: &str| {
            tag.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_tagged = tag.as_ref().is_none_or(|wanted| file.tags.iter().any(|tag| is_below(&folded(tag), wanted)));
        is_tagged && since.is_none_or(|since| since <= file.updated_ms)
    };
    let in_folder: Vec<&Arc<FileEntry>> = scope.files().filter(is_in).collect();
    let is_empty = in_folder.is_empty();
    let mut files: Vec<&Arc<FileEntry>> = in_folder.into_iter().filter(is_so).collect();
    files.sort_by(|one, two| two.updated_ms.cmp(&one.updated_ms).then_with(|| one.path.cmp(&two.path)));
    let mut room = scope.room();
    let mut notes = Vec::new();
    for file in files.iter().skip(offset).take(scope.results(limit)) {
        if !room.take(file.title.chars().count() + file.path.as_str().chars().count()) {
            break;
        }
        notes.push(note_name(file));
    }
    viewer.log("notes", folder.unwrap_or_default(), notes.iter().map(|note| note.path.clone()).collect());
    let degraded = folder.filter(|_| is_empty).and_then(|folder| none_in(&scope, folder));
    Ok(NotesView { notes, total: files.len(), degraded })
}

/// Says that there is no collection of a name, or no note in a folder.
fn none_in(scope: &ReadScope, folder: &str) -> Option<String> {
    // While the vault is read for the first time, nobody knows.
    if !scope.workspace().shared().progress().caught_up {
        return None;
    }
    let collection = folder.split('/').next().unwrap_or(folder);
    let unknown: Option<UnknownName> = unknown_collection(collection, scope.reader().files(), scope.visible());
    Some(unknown.map_or_else(|| format!("no note is in the folder `{folder}`"), |unknown| unknown.to_string()))
}

fn note_name(file: &FileEntry) -> NoteName {
    NoteName {
        path: file.path.to_string(),
        title: file.title.clone(),
        bytes: file.stamp.size,
        updated_at: rfc3339(file.updated_ms),
    }
}

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
    let notes: Vec<NoteName> = files.iter().take(params.limit).map(|file| note_name(file)).collect();
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
