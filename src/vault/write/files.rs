//! The one way in which notes are written.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use blake3::Hash;
use jiff::Timestamp;

use super::checkpoints::{Action, Checkpoint, CheckpointId, Checkpoints, NEW_MODE, mode};
use super::error::WriteError;
use crate::fs::{Context, FsError, crash, create_dir, create_private_dir, move_new, sync_folder, write_beside};
use crate::path::VaultPath;

/// The folder that what is deleted goes to.
const TRASH: &str = ".trash";
/// Old checkpoints are looked for so often.
const PRUNE_EVERY: Duration = Duration::from_secs(3600);

/// Writes notes of one vault. One write at a time.
#[derive(Debug)]
pub struct Files {
    root: PathBuf,
    /// Where files are until they are whole.
    unfinished: PathBuf,
    checkpoints: Checkpoints,
    pruned: Mutex<Option<Instant>>,
}

impl Files {
    /// Writes in the vault at `root`; checkpoints are kept below `state`. Only who has the vault's lock may write.
    pub fn new(root: PathBuf, state: &Path) -> Self {
        let unfinished = state.join("unfinished");
        // Whoever wrote them was killed.
        let _ = fs::remove_dir_all(&unfinished);
        Self { root, unfinished, checkpoints: Checkpoints::new(state.join("checkpoints")), pruned: Mutex::default() }
    }

    /// Says whether a note may be at a path: visible, an `.md` file, and below no symbolic link.
    ///
    /// # Errors
    /// When none may be there.
    pub fn check(&self, path: &VaultPath) -> Result<(), WriteError> {
        let refuse = |reason| Err(WriteError::Refused { path: path.to_string(), reason });
        if !path.as_str().ends_with(".md") || path.stem().is_empty() {
            return refuse("notes end in .md");
        }
        for part in path.as_str().split('/') {
            if part.starts_with('.') {
                return refuse("hidden files and folders are not part of the memory");
            }
            if part.len() > 255 || part.chars().any(|c| c.is_control() || c == '\\') {
                return refuse("a name has a control character or a backslash, or over 255 bytes");
            }
        }
        for part in path.and_parents() {
            match self.root.join(part).symlink_metadata() {
                Ok(meta) if meta.is_symlink() => return refuse("it is, or lies below, a symbolic link"),
                Ok(meta) if meta.is_dir() == (part == path.as_str()) => {
                    return refuse("there is a folder in place of a file, or a file in place of a folder");
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// What a file has, and the hash to name when it is written over; `None` when it is not there.
    ///
    /// # Errors
    /// When no note may be there, or it cannot be read.
    pub fn read(&self, path: &VaultPath) -> Result<Option<(Vec<u8>, Hash)>, WriteError> {
        self.check(path)?;
        let on_disk = path.on_disk(&self.root);
        match fs::read(&on_disk) {
            Ok(bytes) => {
                let hash = blake3::hash(&bytes);
                Ok(Some((bytes, hash)))
            }
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            Err(error) => Err(error).on("read", &on_disk)?,
        }
    }

    /// Makes a new note.
    ///
    /// # Errors
    /// [`WriteError::Exists`] when the name is taken; when no note may be there, or the disk refuses.
    pub fn create(&self, path: &VaultPath, text: &str) -> Result<Hash, WriteError> {
        let _one = self.one_at_a_time()?;
        self.make(path, text.as_bytes(), NEW_MODE)
    }

    /// Writes over a note that is as `before` says. What it was is kept.
    ///
    /// # Errors
    /// [`WriteError::Changed`] or [`WriteError::Gone`] when it is not so any more; when the disk refuses.
    pub fn replace(
        &self,
        path: &VaultPath,
        before: Hash,
        text: &str,
        action: Action,
    ) -> Result<CheckpointId, WriteError> {
        let _one = self.one_at_a_time()?;
        self.write_over(path, before, text.as_bytes(), action)
    }

    /// Writes a note that begins with all that was there before, so that nothing needs to be kept; a new one when `before` is
    /// `None`.
    ///
    /// # Errors
    /// As [`Files::replace`] and [`Files::create`].
    pub fn extend(&self, path: &VaultPath, before: Option<Hash>, text: &str) -> Result<Hash, WriteError> {
        let _one = self.one_at_a_time()?;
        let Some(before) = before else { return self.make(path, text.as_bytes(), NEW_MODE) };
        let (had, hash) = self.read(path)?.ok_or_else(|| WriteError::Gone(path.clone()))?;
        if hash != before || !text.as_bytes().starts_with(&had) {
            return Err(WriteError::Changed(path.clone()));
        }
        self.exchange(path, before, text.as_bytes())?;
        Ok(blake3::hash(text.as_bytes()))
    }

    /// Moves a note that is as `before` says to `.trash/`.
    ///
    /// # Errors
    /// As [`Files::replace`].
    pub fn trash(&self, path: &VaultPath, before: Hash) -> Result<CheckpointId, WriteError> {
        let _one = self.one_at_a_time()?;
        self.move_to_trash(path, before, Action::Trash)
    }

    /// The changes that can be undone, newest first.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn checkpoints(&self) -> Result<Vec<Checkpoint>, WriteError> {
        Ok(self.checkpoints.list()?)
    }

    /// Undoes a change: the file is again what it was before. This too can be undone, by the checkpoint that is given.
    ///
    /// # Errors
    /// [`WriteError::Changed`] when the file has changed since, and not with `force`; when there is no such checkpoint, or the
    /// disk refuses.
    pub fn restore(&self, id: &CheckpointId, force: bool) -> Result<(VaultPath, CheckpointId), WriteError> {
        let _one = self.one_at_a_time()?;
        let (checkpoint, content) = self.checkpoints.get(id)?;
        let path = checkpoint.path;
        let now = self.read(&path)?.map(|(_, hash)| hash);
        let expected = now.map(|hash| hash.to_hex().to_string()) == checkpoint.after;
        if !expected && !force {
            return Err(WriteError::Changed(path));
        }
        let undo = match (now, content) {
            (Some(now), Some(content)) => self.write_over(&path, now, &content, Action::Restore)?,
            (Some(now), None) => self.move_to_trash(&path, now, Action::Restore)?,
            (None, Some(content)) => {
                let undo = self.keep(&path, Action::Restore, None, Some(blake3::hash(&content)), None)?;
                self.make(&path, &content, checkpoint.mode)?;
                // It is where it was, and in the trash no more.
                if let Some(trashed) = checkpoint.trashed.map(|trashed| trashed.on_disk(&self.root))
                    && fs::read(&trashed).is_ok_and(|bytes| bytes == content)
                {
                    let _ = fs::remove_file(&trashed);
                }
                undo
            }
            (None, None) => self.keep(&path, Action::Restore, None, None, None)?,
        };
        Ok((path, undo))
    }

    /// Drops every checkpoint of a note, and what `.trash/` has of it. Gives how many files were removed.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn purge(&self, path: &VaultPath) -> Result<usize, WriteError> {
        let _one = self.one_at_a_time()?;
        let mut removed = 0;
        for checkpoint in self.checkpoints.list()?.into_iter().filter(|checkpoint| checkpoint.path == *path) {
            if let Some(trashed) = checkpoint.trashed.as_ref().map(|trashed| trashed.on_disk(&self.root)) {
                match fs::remove_file(&trashed) {
                    Err(error) if error.kind() == ErrorKind::NotFound => {}
                    gone => gone.on("remove", &trashed).map(|()| removed += 1)?,
                }
            }
            self.checkpoints.remove(&checkpoint.id)?;
            removed += 1;
        }
        Ok(removed)
    }

    /// Takes the turn to write. From time to time whoever has it drops old checkpoints.
    fn one_at_a_time(&self) -> Result<MutexGuard<'_, Option<Instant>>, WriteError> {
        let mut pruned = self.pruned.lock().unwrap_or_else(PoisonError::into_inner);
        if pruned.is_none_or(|pruned| pruned.elapsed() > PRUNE_EVERY) {
            *pruned = Some(Instant::now());
            self.checkpoints.prune(SystemTime::now())?;
        }
        Ok(pruned)
    }

    fn write_over(
        &self,
        path: &VaultPath,
        before: Hash,
        bytes: &[u8],
        action: Action,
    ) -> Result<CheckpointId, WriteError> {
        let had = self.expect(path, before)?;
        let id = self.keep(path, action, Some(&had), Some(blake3::hash(bytes)), None)?;
        self.exchange(path, before, bytes).inspect_err(|_| drop(self.checkpoints.remove(&id)))?;
        Ok(id)
    }

    fn move_to_trash(&self, path: &VaultPath, before: Hash, action: Action) -> Result<CheckpointId, WriteError> {
        let had = self.expect(path, before)?;
        let trashed = self.place_in_trash(path)?;
        let id = self.keep(path, action, Some(&had), None, Some(trashed.clone()))?;
        let (from, to) = (path.on_disk(&self.root), trashed.on_disk(&self.root));
        let moved = || -> Result<(), WriteError> {
            move_new(&from, &to)?;
            crash::point("note-trashed");
            if fs::read(&to).map(|bytes| blake3::hash(&bytes)).on("read", &to)? != before {
                // Written to at this very moment: it goes back.
                move_new(&to, &from)?;
                return Err(WriteError::Changed(path.clone()));
            }
            Ok(())
        };
        moved().inspect_err(|_| drop(self.checkpoints.remove(&id)))?;
        sync_folder(&from)?;
        sync_folder(&to)?;
        Ok(id)
    }

    fn place_in_trash(&self, path: &VaultPath) -> Result<VaultPath, WriteError> {
        let stem = path.as_str().strip_suffix(".md").unwrap_or(path.as_str());
        let place = (1..)
            .map(|at| if at == 1 { format!("{TRASH}/{stem}.md") } else { format!("{TRASH}/{stem} {at}.md") })
            .filter_map(|place| VaultPath::new(place).ok())
            .find(|place| place.on_disk(&self.root).symlink_metadata().is_err())
            .expect("numbers do not end");
        if self.root.join(TRASH).symlink_metadata().is_ok_and(|meta| !meta.is_dir()) {
            return Err(WriteError::Refused { path: TRASH.into(), reason: "it is not a folder" });
        }
        create_dir(place.on_disk(&self.root).parent().unwrap_or(&self.root))?;
        Ok(place)
    }

    fn expect(&self, path: &VaultPath, before: Hash) -> Result<Vec<u8>, WriteError> {
        match self.read(path)? {
            None => Err(WriteError::Gone(path.clone())),
            Some((_, hash)) if hash != before => Err(WriteError::Changed(path.clone())),
            Some((bytes, _)) => Ok(bytes),
        }
    }

    fn keep(
        &self,
        path: &VaultPath,
        action: Action,
        had: Option<&[u8]>,
        after: Option<Hash>,
        trashed: Option<VaultPath>,
    ) -> Result<CheckpointId, WriteError> {
        let id = self.checkpoints.name(path);
        let checkpoint = Checkpoint {
            id: id.clone(),
            at: Timestamp::now(),
            path: path.clone(),
            action,
            bytes: had.map(|had| had.len() as u64),
            mode: mode(&path.on_disk(&self.root)),
            after: after.map(|hash| hash.to_hex().to_string()),
            trashed,
        };
        self.checkpoints.keep(&checkpoint, had)?;
        crash::point("checkpoint-kept");
        Ok(id)
    }

    fn make(&self, path: &VaultPath, bytes: &[u8], mode: u32) -> Result<Hash, WriteError> {
        self.check(path)?;
        let on_disk = path.on_disk(&self.root);
        create_dir(on_disk.parent().unwrap_or(&self.root))?;
        let beside = self.write_unfinished(&on_disk, bytes, mode)?;
        move_new(&beside, &on_disk).map_err(|error| {
            let _ = fs::remove_file(&beside);
            match error.source.kind() {
                ErrorKind::AlreadyExists => WriteError::Exists(path.clone()),
                _ => error.into(),
            }
        })?;
        crash::point("note-made");
        sync_folder(&on_disk)?;
        Ok(blake3::hash(bytes))
    }

    /// Writes over a file, unless it is not what it was: then it stays.
    fn exchange(&self, path: &VaultPath, before: Hash, bytes: &[u8]) -> Result<(), WriteError> {
        let on_disk = path.on_disk(&self.root);
        let beside = self.write_unfinished(&on_disk, bytes, mode(&on_disk))?;
        let replaced = || -> Result<(), WriteError> {
            crate::fs::exchange(&beside, &on_disk)?;
            crash::point("note-replaced");
            // What was there at that very moment is what is now beside it.
            if let Ok(was) = fs::read(&beside)
                && blake3::hash(&was) != before
                && was != bytes
            {
                crate::fs::exchange(&beside, &on_disk)?;
                return Err(WriteError::Changed(path.clone()));
            }
            Ok(())
        };
        let replaced = replaced();
        let _ = fs::remove_file(&beside);
        replaced?;
        Ok(sync_folder(&on_disk)?)
    }

    /// Writes a file that is to take another's place: among the program's own, or beside it where that is another disk.
    fn write_unfinished(&self, target: &Path, bytes: &[u8], mode: u32) -> Result<PathBuf, FsError> {
        create_private_dir(&self.unfinished)?;
        let beside = target.parent().unwrap_or(&self.root);
        let same_disk = crate::fs::on_same_disk(&self.unfinished, beside);
        write_beside(if same_disk { &self.unfinished } else { beside }, bytes, mode)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vault() -> (tempfile::TempDir, Files) {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::new(folder.path().to_owned(), &folder.path().join(".vault/state"));
        (folder, files)
    }

    fn path(text: &str) -> VaultPath {
        VaultPath::new(text).unwrap()
    }

    fn read(files: &Files, at: &str) -> Option<(String, Hash)> {
        files.read(&path(at)).unwrap().map(|(bytes, hash)| (String::from_utf8(bytes).unwrap(), hash))
    }

    #[test]
    fn what_was_written_can_be_undone_and_that_too() {
        let (folder, files) = vault();
        let note = path("notes/a.md");
        let first = files.create(&note, "first").unwrap();
        assert!(matches!(files.create(&note, "again"), Err(WriteError::Exists(_))));
        let edit = files.replace(&note, first, "second", Action::Edit).unwrap();
        assert!(matches!(files.replace(&note, first, "third", Action::Edit), Err(WriteError::Changed(_))));
        let (_, undo) = files.restore(&edit, false).unwrap();
        assert_eq!(read(&files, "notes/a.md").unwrap().0, "first");
        files.restore(&undo, false).unwrap();
        assert_eq!(read(&files, "notes/a.md").unwrap().0, "second");

        let trashed = files.trash(&note, blake3::hash(b"second")).unwrap();
        assert_eq!(read(&files, "notes/a.md"), None);
        assert_eq!(fs::read(folder.path().join(".trash/notes/a.md")).unwrap(), b"second");
        files.create(&note, "somebody else's").unwrap();
        assert!(matches!(files.restore(&trashed, false), Err(WriteError::Changed(_))));
        let (_, undo) = files.restore(&trashed, true).unwrap();
        assert_eq!(read(&files, "notes/a.md").unwrap().0, "second");
        files.restore(&undo, false).unwrap();
        assert_eq!(read(&files, "notes/a.md").unwrap().0, "somebody else's");
        assert_eq!(fs::read_dir(folder.path().join(".vault/state/unfinished")).unwrap().count(), 0);
    }

    #[test]
    fn what_comes_back_from_the_trash_is_there_no_more() {
        let (folder, files) = vault();
        let hash = files.create(&path("a.md"), "text").unwrap();
        let trashed = files.trash(&path("a.md"), hash).unwrap();
        files.create(&path("b.md"), "other").unwrap();
        files.restore(&trashed, false).unwrap();
        assert_eq!(read(&files, "a.md").unwrap().0, "text");
        assert!(!folder.path().join(".trash/a.md").exists());
        assert_eq!(files.purge(&path("a.md")).unwrap(), 2);
        assert_eq!(files.checkpoints().unwrap(), []);
    }

    #[test]
    fn a_note_grows_without_a_checkpoint() {
        let (_folder, files) = vault();
        let day = path("files/2026-01-05.md");
        let first = files.extend(&day, None, "one\n").unwrap();
        files.extend(&day, Some(first), "one\ntwo\n").unwrap();
        assert!(matches!(files.extend(&day, Some(first), "one\nthree\n"), Err(WriteError::Changed(_))));
        assert_eq!(read(&files, day.as_str()).unwrap().0, "one\ntwo\n");
        assert_eq!(files.checkpoints().unwrap(), []);
    }

    #[test]
    #[cfg(unix)]
    fn nothing_is_written_where_no_note_belongs() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let (folder, files) = vault();
        let outside = tempfile::tempdir().unwrap();
        symlink(outside.path(), folder.path().join("link")).unwrap();
        symlink(outside.path().join("there.md"), folder.path().join("there.md")).unwrap();
        fs::create_dir(folder.path().join("folder.md")).unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        for bad in [
            "link/a.md",
            "there.md",
            "folder.md",
            "file/a.md",
            ".vault/a.md",
            "notes/.a.md",
            ".md",
            "a.txt",
            "a.MD",
            "memory.toml",
            "a\nb.md",
            "a\\b.md",
            ".git/hooks/a.md",
        ] {
            assert!(matches!(files.create(&path(bad), "x"), Err(WriteError::Refused { .. })), "{bad}");
        }
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);

        let hash = files.create(&path("mine.md"), "one").unwrap();
        let on_disk = folder.path().join("mine.md");
        fs::set_permissions(&on_disk, fs::Permissions::from_mode(0o640)).unwrap();
        files.replace(&path("mine.md"), hash, "two", Action::Edit).unwrap();
        assert_eq!(fs::metadata(&on_disk).unwrap().permissions().mode() & 0o7777, 0o640);
    }
}
