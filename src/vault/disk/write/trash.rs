//! Where what is deleted goes, and how it goes for good.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use blake3::Hash;

use super::super::read::read_bytes;
use super::checkpoint::{Act, Action, CheckpointId};
use super::checkpoints::mode;
use super::error::WriteError;
use super::files::Files;
use crate::base::fs::{Context, FsError, crash, create_dir, move_new, sync_folder};
use crate::base::path::VaultPath;

/// The folder that what is deleted goes to.
const TRASH: &str = ".trash";
/// Maximum length of a name in the trash that gets a number, in bytes, so that file systems take it.
const MAX_NUMBERED_BYTES: usize = 230;

/// What was removed for good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Purged {
    /// Checkpoints.
    pub checkpoints: usize,
    /// Files in `.trash/`.
    pub trashed: usize,
    /// Files in `.trash/` that have the note's name, and what no checkpoint says it ever had. They stay.
    pub left: Vec<VaultPath>,
}

impl Files {
    /// Moves a note that is as `before` says to `.trash/`.
    ///
    /// # Errors
    /// As [`Files::replace`].
    pub fn trash(&self, path: &VaultPath, before: Hash) -> Result<CheckpointId, WriteError> {
        self.trash_as(path, before, Action::Trash.into())
    }

    /// The same for whoever asks.
    ///
    /// # Errors
    /// As [`Files::replace`].
    pub fn trash_as(&self, path: &VaultPath, before: Hash, act: Act<'_>) -> Result<CheckpointId, WriteError> {
        let _one = self.one_at_a_time()?;
        self.move_to_trash(path, before, act)
    }

    /// Drops every checkpoint of a note, and what `.trash/` has of it: files of its name, and those that its checkpoints name,
    /// that are what one of the checkpoints has or led to. Somebody else may have put others there.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn purge(&self, path: &VaultPath) -> Result<Purged, WriteError> {
        let _one = self.one_at_a_time()?;
        let mut purged = Purged::default();
        let mut places: BTreeSet<VaultPath> = VaultPath::new(format!("{TRASH}/{path}")).into_iter().collect();
        places.extend(self.numbered_in_trash(path));
        let mut own = HashSet::new();
        let checkpoints: Vec<_> =
            self.checkpoints.list()?.into_iter().filter(|checkpoint| checkpoint.path == *path).collect();
        for checkpoint in &checkpoints {
            own.extend(checkpoint.after.clone());
            match &checkpoint.before {
                Some(before) => drop(own.insert(before.clone())),
                // Of a version that did not say.
                None => {
                    if let Ok((_, Some(had))) = self.checkpoints.get(&checkpoint.id) {
                        own.insert(blake3::hash(&had).to_hex().to_string());
                    }
                }
            }
            places.extend(checkpoint.trashed.clone());
        }
        let mut emptied = Vec::new();
        for trashed in places.into_iter().filter(|place| self.check_trash(place).is_ok()) {
            let place = trashed.on_disk(&self.root);
            match read_bytes(&place) {
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {}
                Ok(bytes) if own.contains(blake3::hash(&bytes).to_hex().as_str()) => {
                    fs::remove_file(&place).on("remove", &place)?;
                    purged.trashed += 1;
                    emptied.push(place);
                }
                _ => purged.left.push(trashed),
            }
        }
        // For good: a power failure brings none of it back.
        emptied.dedup_by(|one, other| one.parent() == other.parent());
        emptied.iter().try_for_each(|place| sync_folder(place))?;
        // They tell what is whose: should the process be killed, the next purge needs them.
        purged.checkpoints = checkpoints.len();
        self.checkpoints.remove_all(checkpoints.into_iter().map(|checkpoint| checkpoint.id).collect())?;
        if purged.checkpoints + purged.trashed > 0 {
            self.note_as("purge", path, &Action::Forget.into(), None, None, None);
        }
        Ok(purged)
    }

    pub(super) fn move_to_trash(
        &self,
        path: &VaultPath,
        before: Hash,
        act: Act<'_>,
    ) -> Result<CheckpointId, WriteError> {
        if act.action == Action::Settle {
            self.check_place(path)?
        } else {
            self.check_movable(path)?
        }
        let had = self.expect(path, before)?;
        let trashed = self.place_in_trash(path)?;
        let id = self.keep(path, act, Some(&had), None, Some(trashed.clone()))?;
        let (from, to) = (path.on_disk(&self.root), trashed.on_disk(&self.root));
        let moved = || -> Result<(), WriteError> {
            match move_new(&from, &to) {
                Err(FsError { source, .. }) if source.kind() == ErrorKind::CrossesDevices => {
                    return self.copy_to_trash(path, before, &had, &to);
                }
                moved => moved?,
            }
            crash::point("note-trashed");
            if read_bytes(&to).map(|bytes| blake3::hash(&bytes)).on("read", &to)? != before {
                // Written to at this very moment: it goes back, unless it is there again. Then the trash keeps it.
                match move_new(&to, &from) {
                    Err(error) if error.source.kind() == ErrorKind::AlreadyExists => {}
                    back => back?,
                }
                return Err(WriteError::Changed(path.clone()));
            }
            Ok(())
        };
        moved().inspect_err(|_| self.checkpoints.take_back(&id))?;
        sync_folder(&from)?;
        sync_folder(&to)?;
        self.note(path, &act, Some(&had), None, Some(&id));
        Ok(id)
    }

    /// Where the trash is another disk.
    fn copy_to_trash(&self, path: &VaultPath, before: Hash, had: &[u8], to: &Path) -> Result<(), WriteError> {
        let from = path.on_disk(&self.root);
        self.put(to, had, mode(&from), |beside| move_new(beside, to).map(|()| to.to_owned()))?;
        let removed = self.expect(path, before).and_then(|_| Ok(fs::remove_file(&from).on("remove", &from)?));
        removed.inspect_err(|_| drop(fs::remove_file(to)))
    }

    pub(super) fn place_in_trash(&self, path: &VaultPath) -> Result<VaultPath, WriteError> {
        let first = VaultPath::new(format!("{TRASH}/{path}")).into_iter();
        let place = first
            .chain((2..).filter_map(|at| VaultPath::new(numbered(path, at)).ok()))
            .find(|place| place.on_disk(&self.root).symlink_metadata().is_err())
            .expect("numbers do not end");
        self.check_trash(&place)?;
        create_dir(place.on_disk(&self.root).parent().unwrap_or(&self.root))?;
        Ok(place)
    }

    /// No part of the way into the trash may be a link out of the vault.
    pub(super) fn check_trash(&self, place: &VaultPath) -> Result<(), WriteError> {
        let wrong = place
            .and_parents()
            .skip(1)
            .find(|folder| self.root.join(folder).symlink_metadata().is_ok_and(|meta| !meta.is_dir()));
        match wrong {
            Some(folder) => Err(WriteError::Refused { path: folder.to_owned(), reason: "it is not a folder" }),
            None => Ok(()),
        }
    }

    fn numbered_in_trash(&self, path: &VaultPath) -> Vec<VaultPath> {
        let places = (2..).filter_map(|at| VaultPath::new(numbered(path, at)).ok());
        places.take_while(|place| place.on_disk(&self.root).symlink_metadata().is_ok()).collect()
    }
}

/// A further name in the trash for a note.
fn numbered(path: &VaultPath, at: usize) -> String {
    let text = path.as_str();
    let (folder, name) = text.rsplit_once('/').map_or(("", text), |(folder, name)| (folder, name));
    let (stem, extension) = match (path.is_document(), name.strip_suffix(".markdown")) {
        (true, _) => name.rsplit_once('.').unwrap_or((name, "md")),
        (false, Some(stem)) => (stem, "markdown"),
        (false, None) => (name.strip_suffix(".md").unwrap_or(name), "md"),
    };
    let stem = &stem[..stem.floor_char_boundary(MAX_NUMBERED_BYTES)];
    let slash = if folder.is_empty() { "" } else { "/" };
    format!("{TRASH}/{folder}{slash}{stem} {at}.{extension}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::disk::write::tests::{path, vault};

    #[test]
    fn what_is_purged_is_in_the_trash_no_more_and_others_stay() {
        let (folder, files) = vault();
        fs::create_dir_all(folder.path().join(".trash/n")).unwrap();
        // Another program's, and of another note.
        fs::write(folder.path().join(".trash/n/a.md"), "theirs, with the first secret").unwrap();
        for text in ["first secret", "second secret"] {
            let hash = files.create(&path("n/a.md"), text).unwrap();
            files.trash(&path("n/a.md"), hash).unwrap();
        }
        let hash = files.create(&path("n/b.md"), "first secret").unwrap();
        files.trash(&path("n/b.md"), hash).unwrap();
        fs::write(folder.path().join(".trash/n/a 3.md"), "written to since").unwrap();
        let trash = || {
            let names = fs::read_dir(folder.path().join(".trash/n")).unwrap().flatten();
            let mut names: Vec<String> = names.map(|entry| entry.file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        assert_eq!(trash(), ["a 2.md", "a 3.md", "a.md", "b.md"]);
        let left = vec![path(".trash/n/a 3.md"), path(".trash/n/a.md")];
        assert_eq!(files.purge(&path("n/a.md")).unwrap(), Purged { checkpoints: 2, trashed: 1, left });
        assert_eq!(trash(), ["a 3.md", "a.md", "b.md"]);
    }

    #[test]
    fn the_trash_is_no_way_out_of_the_vault() {
        let (folder, files) = vault();
        let outside = tempfile::tempdir().unwrap();
        let hash = files.create(&path("n/a.md"), "text").unwrap();
        fs::create_dir(folder.path().join(".trash")).unwrap();
        std::os::unix::fs::symlink(outside.path(), folder.path().join(".trash/n")).unwrap();
        assert!(matches!(files.trash(&path("n/a.md"), hash), Err(WriteError::Refused { .. })));
        fs::write(outside.path().join("a.md"), "theirs").unwrap();
        assert_eq!(files.purge(&path("n/a.md")).unwrap(), Purged::default());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
