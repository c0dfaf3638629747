//! Writes notes: only where notes belong, in one step, only over what the writer has seen, and so that it can be undone.

mod checkpoints;
mod exchange;
mod files;
mod names;
mod undo;

pub(crate) use checkpoints::{Act, Action, Checkpoint, CheckpointId, Quota, WriteError};
pub(crate) use files::{Files, NoteEdit, until_written};
pub(crate) use names::{free_name, is_folder_name, is_numbered, note_names, numbered, slug};
pub(crate) use undo::Purged;

#[cfg(test)]
mod tests {
    use blake3::Hash;

    use super::{Action, CheckpointId, Files, WriteError};
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

    /// Undoes a change.
    pub(super) fn restore(
        files: &Files,
        id: &CheckpointId,
        force: bool,
    ) -> Result<(VaultPath, CheckpointId), WriteError> {
        files.restore(id, Action::Restore.into(), |_, _, _| force, |_, _| None)
    }
}
