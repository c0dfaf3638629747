//! Puts a text in the place of another, where an editor may write at the same moment. What that leaves beside the note, and what a killed
//! process left, is removed when it is known, else kept for the person.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use blake3::Hash;

use super::super::read::read_bytes;
use super::checkpoints::{WriteError, mode};
use super::files::Files;
use crate::base::fs::{
    Context, FsError, UNFINISHED, crash, create_private_dir, give_attributes_of, give_owner_of, is_open_for_writing,
    move_new, sync_folder, write_beside,
};
use crate::base::path::VaultPath;

/// Maximum times that what somebody else wrote at the very moment of ours is put back before we give up.
const PUT_BACK: usize = 8;
/// Maximum time that a write waits for somebody who has what it replaces open for writing.
const WRITERS_WAIT: Duration = Duration::from_secs(1);
/// How often it looks whether they are done.
const WRITERS_LOOK: Duration = Duration::from_millis(5);
/// What a text is called in the trash when nobody knows any more of which note it was.
const UNKNOWN: &str = "recovered.md";

impl Files {
    /// Writes over a file, unless it is not what it was: then it stays.
    pub(super) fn exchange(&self, path: &VaultPath, before: Hash, bytes: &[u8]) -> Result<(), WriteError> {
        let on_disk = path.on_disk(&self.root);
        let ours = blake3::hash(bytes);
        let beside = self.put(&on_disk, bytes, mode(&on_disk), |beside| {
            give_owner_of(&on_disk, beside);
            give_attributes_of(&on_disk, beside);
            let marked = Self::mark(beside, before, ours)?;
            crate::base::fs::exchange(&marked, &on_disk).inspect_err(|_| drop(fs::remove_file(&marked)))?;
            Ok(marked)
        })?;
        crash::point("note-replaced");
        let kept = self.put_back(&beside, &on_disk, before, ours);
        self.discard(path, &beside, [before, ours]);
        match kept? {
            true => Err(WriteError::Changed(path.clone())),
            false => Ok(sync_folder(&on_disk)?),
        }
    }

    /// After an exchange, what was in the note's place at that very moment lies beside it. When that is not what the writer has
    /// seen, it goes back; says whether it did. What comes out then is ours, or what somebody wrote over ours, and so on: the
    /// last to write is the one whose text stays.
    ///
    /// An editor may have opened it before, and write in it only now: nobody can open it any more, so who has it open is waited for.
    fn put_back(&self, beside: &Path, on_disk: &Path, before: Hash, ours: Hash) -> Result<bool, FsError> {
        let mut expected = Some(before);
        let mut put = Some(ours);
        for turn in 0..PUT_BACK {
            // Where the file system cannot exchange, nothing came out.
            if beside.symlink_metadata().is_err() {
                return Ok(false);
            }
            let is_known = |out: Option<Hash>| out.is_some() && (out == expected || out == put);
            let out = once_written(beside, is_known);
            if is_known(out) {
                return Ok(turn > 0);
            }
            crate::base::fs::exchange(beside, on_disk)?;
            (expected, put) = (put, out);
        }
        Ok(true)
    }

    /// Writes a file and has it put in its place: from among the program's own, or from beside it where that is another disk.
    /// Gives what `place` does.
    pub(super) fn put(
        &self,
        target: &Path,
        bytes: &[u8],
        mode: Option<u32>,
        place: impl Fn(&Path) -> Result<PathBuf, FsError>,
    ) -> Result<PathBuf, FsError> {
        create_private_dir(&self.unfinished)?;
        let folder = target.parent().unwrap_or(&self.root);
        let put_from = |from: &Path| {
            let beside = write_beside(from, bytes, mode)?;
            place(&beside).inspect_err(|_| drop(fs::remove_file(&beside)))
        };
        match put_from(&self.unfinished) {
            Err(FsError { source, .. }) if source.kind() == ErrorKind::CrossesDevices => {
                // A killed process may have left one there.
                self.clear(folder);
                put_from(folder)
            }
            put => put,
        }
    }

    /// Gives a whole new text, before it changes places with a note's, a name that says what may come to lie under it without
    /// being anybody's: the text itself, and the note's as it is kept elsewhere. Whoever finds it after a kill can tell.
    fn mark(beside: &Path, before: Hash, ours: Hash) -> Result<PathBuf, FsError> {
        let name = beside.file_name().and_then(|name| name.to_str()).unwrap_or(UNFINISHED);
        let marked = beside.with_file_name(format!("{name}={}={}", before.to_hex(), ours.to_hex()));
        move_new(beside, &marked).map(|()| marked)
    }

    /// Removes what an exchange left. What is neither `known` is somebody's newest text, and goes to the trash as a text of
    /// the note. Where somebody has it open for writing still, it stays until they are done.
    fn discard(&self, path: &VaultPath, beside: &Path, known: [Hash; 2]) {
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
                _ => drop(fs::remove_file(entry.path()).or_else(|_| fs::remove_dir_all(entry.path()))),
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

/// The hash of a file that has no name of its own any more, once nobody writes in it; at once where it is not known.
fn once_written(beside: &Path, is_known: impl Fn(Option<Hash>) -> bool) -> Option<Hash> {
    let started = Instant::now();
    loop {
        // Whoever has it open has so before it is read.
        let is_open = is_open_for_writing(beside) == Some(true);
        let out = read_bytes(beside).ok().map(|bytes| blake3::hash(&bytes));
        if !is_open || !is_known(out) || started.elapsed() >= WRITERS_WAIT {
            return out;
        }
        std::thread::sleep(WRITERS_LOOK);
    }
}

/// A text that lies beside a note until nobody has it open for writing.
#[derive(Debug)]
pub(super) struct HeldText {
    /// The note.
    pub(super) path: VaultPath,
    /// Where it lies.
    pub(super) beside: PathBuf,
    /// What it may be without being anybody's: the note as it was before, and as it was written.
    pub(super) known: [Hash; 2],
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::disk::Action;
    use crate::vault::disk::write::tests::{path, vault};

    #[cfg(target_os = "linux")]
    #[test]
    fn what_an_editor_writes_in_place_after_the_exchange_stays() {
        use std::io::Write;
        let (folder, files) = vault();
        let on_disk = folder.path().join("a.md");
        let hash = files.create(&path("a.md"), "one\n").unwrap();
        let mut editor = fs::File::options().append(true).open(&on_disk).unwrap();
        std::thread::scope(|scope| {
            let writes = scope.spawn(|| files.replace(&path("a.md"), hash, "one\nours\n", Action::Edit));
            while fs::read_to_string(&on_disk).unwrap_or_default() != "one\nours\n" {
                std::thread::yield_now();
            }
            editor.write_all(b"theirs\n").unwrap();
            drop(editor);
            assert!(matches!(writes.join().unwrap(), Err(WriteError::Changed(_))));
        });
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "one\ntheirs\n");
        assert!(!folder.path().join(".trash").exists());
        assert_eq!(fs::read_dir(&files.unfinished).unwrap().count(), 0);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn what_is_written_long_after_goes_to_the_trash() {
        use std::io::Write;
        let (folder, files) = vault();
        let on_disk = folder.path().join("a.md");
        let hash = files.create(&path("a.md"), "one\n").unwrap();
        let mut editor = fs::File::options().append(true).open(&on_disk).unwrap();
        files.replace(&path("a.md"), hash, "ours\n", Action::Edit).unwrap();
        files.create(&path("b.md"), "x").unwrap();
        editor.write_all(b"theirs\n").unwrap();
        files.create(&path("c.md"), "x").unwrap();
        assert!(!folder.path().join(".trash").exists(), "it is open still");
        drop(editor);
        files.create(&path("d.md"), "x").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(".trash/a.md")).unwrap(), "one\ntheirs\n");
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "ours\n");
        assert_eq!(fs::read_dir(&files.unfinished).unwrap().count(), 0);
    }

    #[test]
    fn a_note_that_is_written_over_keeps_its_attributes() {
        let (folder, files) = vault();
        let hash = files.create(&path("a.md"), "one").unwrap();
        let on_disk = folder.path().join("a.md");
        let tags = b"green, important";
        // Some file systems keep none.
        if rustix::fs::setxattr(&on_disk, "user.xdg.tags", tags, rustix::fs::XattrFlags::empty()).is_err() {
            return;
        }
        files.replace(&path("a.md"), hash, "two", Action::Edit).unwrap();
        let mut value = [0; 64];
        let length = rustix::fs::getxattr(&on_disk, "user.xdg.tags", &mut value[..]).unwrap();
        assert_eq!(&value[..length], tags);
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "two");
    }

    #[test]
    fn what_somebody_writes_at_the_very_moment_stays() {
        let (folder, files) = vault();
        let (on_disk, beside) = (folder.path().join("a.md"), folder.path().join("beside"));
        let hash = |text: &str| blake3::hash(text.as_bytes());
        // As it is after the exchange: ours in place, theirs beside it.
        fs::write(&on_disk, "ours").unwrap();
        fs::write(&beside, "theirs").unwrap();
        assert!(files.put_back(&beside, &on_disk, hash("before"), hash("ours")).unwrap());
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "theirs");
        // And once more over ours.
        fs::write(&on_disk, "theirs again").unwrap();
        fs::write(&beside, "theirs").unwrap();
        assert!(files.put_back(&beside, &on_disk, hash("before"), hash("ours")).unwrap());
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "theirs again");
        fs::write(&on_disk, "ours").unwrap();
        fs::write(&beside, "before").unwrap();
        assert!(!files.put_back(&beside, &on_disk, hash("before"), hash("ours")).unwrap());
        assert_eq!(fs::read_to_string(&on_disk).unwrap(), "ours");
    }
}

#[cfg(test)]
mod tests_of_leftovers {
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
