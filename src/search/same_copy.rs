//! A conflict copy that says the same as its note is searched once: as the note.

use super::candidate::Candidate;
use crate::engine::{FileEntry, FileSet, FileTable};
use crate::vault::conflict_copy;

/// Leaves out what stands in a conflict copy and, to the byte, in the note it is a copy of, where that may be found as well.
pub(super) fn drop_same_copies(candidates: &mut Vec<Candidate>, files: &FileTable, allow: Option<&FileSet>) {
    candidates.retain(|candidate| !is_same_copy(&candidate.file, files, allow));
}

/// Whether a file is such a copy.
pub(super) fn is_same_copy(file: &FileEntry, files: &FileTable, allow: Option<&FileSet>) -> bool {
    let Some((of, _)) = conflict_copy(&file.path, |path| files.at(path).is_some()) else { return false };
    let original = files.at(&of).filter(|original| original.hash == file.hash);
    original.is_some_and(|original| allow.is_none_or(|allow| allow.contains(original.id)))
}
