//! What an exchange leaves beside a note, and what a killed process left: removed when it is known, else kept for the person.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};

use blake3::Hash;

use super::super::read::read_bytes;
use super::checkpoints::mode;
use super::error::WriteError;
use super::exchange::HeldText;
use super::files::Files;
use crate::base::fs::{Context, FsError, UNFINISHED, is_open_for_writing, move_new, sync_folder, write_beside};
use crate::base::path::VaultPath;

/// What a text is called in the trash when nobody knows any more of which note it was.
const UNKNOWN: &str = "recovered.md";

impl Files {
    /// Gives a whole new text, before it changes places with a note's, a name that says what may come to lie under it without
    /// being anybody's: the text itself, and the note's as it is kept elsewhere. Whoever finds it after a kill can tell.
    pub(super) fn mark(beside: &Path, before: Hash, ours: Hash) -> Result<PathBuf, FsError> {
        let name = beside.file_name().and_then(|name| name.to_str()).unwrap_or(UNFINISHED);
        let marked = beside.with_file_name(format!("{name}={}={}", before.to_hex(), ours.to_hex()));
        move_new(beside, &marked).map(|()| marked)
    }

    /// Removes what an exchange left. What is neither `known` is somebody's newest text, and goes to the trash as a text of
    /// the note. Where somebody has it open for writing still, it stays until they are done.
    pub(super) fn discard(&self, path: &VaultPath, beside: &Path, known: [Hash; 2]) {
        if is_open_for_writing(beside) == Some(true) {
            let mut held = self.held();
            if held.iter().all(|held| held.beside != beside) {
                held.push(HeldText { path: path.clone(), beside: beside.to_owned(), known });
            }
            return;
        }
        let discarded = match read_bytes(beside).map(|bytes| (blake3::hash(&bytes), bytes)) {
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) => Err(error).on("read", beside).map_err(WriteError::from),
            Ok((hash, _)) if known.contains(&hash) => fs::remove_file(beside).on("remove", beside).map_err(Into::into),
            Ok((_, bytes)) => self.rescue(path, beside, &bytes),
        };
        if let Err(error) = discarded {
            tracing::warn!("a text that lay beside `{path}` stays at {}: {error}", beside.display());
        }
    }

    /// Looks at what others had open for writing when it was replaced.
    pub(super) fn look_at_held(&self) {
        let held = std::mem::take(&mut *self.held());
        held.iter().for_each(|held| self.discard(&held.path, &held.beside, held.known));
    }

    /// The notes whose former text somebody has open for writing still: it stays on the disk until they are done.
    pub(crate) fn held_notes(&self) -> Vec<VaultPath> {
        self.held().iter().map(|held| held.path.clone()).collect()
    }

    fn held(&self) -> MutexGuard<'_, Vec<HeldText>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks through what a killed process left in a folder: half-written texts go, and so does what is known; somebody's
    /// text goes to the trash.
    pub(super) fn clear(&self, folder: &Path) {
        let Ok(entries) = fs::read_dir(folder) else { return };
        for entry in entries.flatten() {
            let name = entry.file_name();
            let Some(name) = name.to_str().filter(|name| name.starts_with(UNFINISHED)) else { continue };
            let mut parts = name.split('=').skip(1).map(|part| Hash::from_hex(part).ok());
            match (parts.next().flatten(), parts.next().flatten(), VaultPath::new(UNKNOWN)) {
                (Some(before), Some(ours), Ok(path)) => self.discard(&path, &entry.path(), [before, ours]),
                _ => drop(fs::remove_file(entry.path())),
            }
        }
    }

    fn rescue(&self, path: &VaultPath, beside: &Path, bytes: &[u8]) -> Result<(), WriteError> {
        let trashed = self.place_in_trash(path)?;
        let to = trashed.on_disk(&self.root);
        // The trash may be on another disk.
        let copy = write_beside(to.parent().unwrap_or(&self.root), bytes, mode(beside))?;
        move_new(&copy, &to).inspect_err(|_| drop(fs::remove_file(&copy)))?;
        sync_folder(&to)?;
        tracing::warn!("`{trashed}` has a text of `{path}` that was written at the moment of another change");
        Ok(fs::remove_file(beside).on("remove", beside)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::disk::Outside;

    fn hash(text: &str) -> Hash {
        blake3::hash(text.as_bytes())
    }

    #[test]
    fn what_a_kill_leaves_is_removed_or_kept_for_the_person() {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join(".vault/state");
        let unfinished = state.join("unfinished");
        fs::create_dir_all(&unfinished).unwrap();
        fs::write(unfinished.join(".vault-tmp-half"), "half a te").unwrap();
        for (name, text) in [("a", "before"), ("b", "ours"), ("c", "theirs"), ("d", "theirs too")] {
            let file = unfinished.join(format!(".vault-tmp-{name}"));
            fs::write(&file, text).unwrap();
            Files::mark(&file, hash("before"), hash("ours")).unwrap();
        }
        Files::new(folder.path().to_owned(), &state, Outside::default());
        let trash = folder.path().join(".trash");
        let mut texts: Vec<String> =
            fs::read_dir(&trash).unwrap().map(|entry| fs::read_to_string(entry.unwrap().path()).unwrap()).collect();
        texts.sort();
        assert_eq!(texts, ["theirs", "theirs too"]);
        assert!(trash.join("recovered.md").exists());
        assert_eq!(fs::read_dir(&unfinished).unwrap().count(), 0);
    }

    #[test]
    fn what_lies_beside_after_an_exchange_is_not_lost() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().to_owned(), &folder.path().join(".vault/state"), Outside::default());
        let (path, beside) = (VaultPath::new("n/a.md").unwrap(), folder.path().join("beside"));
        for (text, kept) in [("before", false), ("ours", false), ("theirs", true)] {
            fs::write(&beside, text).unwrap();
            files.discard(&path, &beside, [hash("before"), hash("ours")]);
            assert!(!beside.exists());
            assert_eq!(folder.path().join(".trash/n/a.md").exists(), kept, "{text}");
        }
        assert_eq!(fs::read_to_string(folder.path().join(".trash/n/a.md")).unwrap(), "theirs");
    }
}
