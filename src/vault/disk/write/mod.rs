//! Writes notes: only where notes belong, in one step, only over what the writer has seen, and so that it can be undone.

mod checkpoint;
mod checkpoints;
mod contents;
mod error;
mod exchange;
mod files;
mod leftovers;
mod note_change;
mod tally;
mod trash;
mod undo;

pub(crate) use checkpoint::{Act, Action, Checkpoint, CheckpointId, Quota};
pub(crate) use error::WriteError;
pub(crate) use exchange::{free_name, is_folder_name, note_names, slug};
pub(crate) use files::{Files, NoteEdit, until_written};
pub(crate) use trash::Purged;

#[cfg(test)]
mod tests {
    use blake3::Hash;

    use super::Files;
    use crate::base::path::VaultPath;
    use crate::vault::disk::Outside;

    pub(super) fn vault() -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().to_owned(), &folder.path().join(".vault/state"), Outside::default());
        (folder, files)
    }

    pub(super) fn path(text: &str) -> VaultPath {
        VaultPath::new(text).unwrap()
    }

    pub(super) fn read(files: &Files, at: &str) -> Option<(String, Hash)> {
        files.read(&path(at)).unwrap().map(|(bytes, hash)| (String::from_utf8(bytes).unwrap(), hash))
    }
}
