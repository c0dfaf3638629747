//! What is deleted and can be brought back, and what is to be gone for good.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use blake3::Hash;
use jiff::Timestamp;
use walkdir::WalkDir;

use super::super::read::read_bytes;
use super::checkpoints::{Act, Action, Checkpoint, CheckpointId, WriteError, mode};
use super::files::Files;
use super::names::numbered;
use crate::base::fs::{Context, FsError, crash, create_dir, move_new, sync_folder};
use crate::base::path::VaultPath;
use crate::base::state::StateError;

/// The folder that what is deleted goes to.
const TRASH: &str = ".trash";

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
    /// What is known of a change.
    ///
    /// # Errors
    /// When there is no such checkpoint, or it cannot be read.
    pub fn checkpoint(&self, id: &CheckpointId) -> Result<Checkpoint, WriteError> {
        self.checkpoints.about(id)
    }

    /// What a file had before a change, and which file; nothing where it was not there.
    ///
    /// # Errors
    /// When there is no such checkpoint, or it cannot be read.
    pub fn former(&self, id: &CheckpointId) -> Result<(VaultPath, Option<Vec<u8>>), WriteError> {
        self.checkpoints.get(id).map(|(checkpoint, had)| (checkpoint.path, had))
    }

    /// The changes that can be undone, newest first.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn checkpoints(&self) -> Result<Vec<Checkpoint>, WriteError> {
        Ok(self.checkpoints.list()?)
    }

    /// Those made since a moment, newest first.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub(crate) fn checkpoints_since(&self, at: Timestamp) -> Result<Vec<Checkpoint>, WriteError> {
        Ok(self.checkpoints.since(at)?)
    }

    /// Undoes a change: the file is again what it was before. This too can be undone, by the checkpoint that is given; it is the
    /// same one when there was nothing to undo. What has changed since is written over where `may_replace` says so, given the checkpoint,
    /// what it has, and what the file is now. Given what the file was and what it is, `instead` says what else it is to be, or that nothing is
    /// to be written at all, which gives a checkpoint as for a change; it is as it was where that says nothing.
    ///
    /// # Errors
    /// [`WriteError::Changed`] when the file has changed since, and may not be replaced; when there is no such checkpoint, or the disk refuses.
    pub fn restore(
        &self,
        id: &CheckpointId,
        act: Act<'_>,
        may_replace: impl FnOnce(&Checkpoint, &[u8], &[u8]) -> bool,
        instead: impl FnOnce(&[u8], &[u8]) -> Option<Option<String>>,
    ) -> Result<(VaultPath, CheckpointId), WriteError> {
        let _one = self.one_at_a_time()?;
        let (checkpoint, content) = self.checkpoints.get(id)?;
        let path = checkpoint.path.clone();
        let there = self.read(&path)?;
        let now = there.as_ref().map(|(_, hash)| *hash);
        // Whoever made the checkpoint was killed before the change, or somebody has undone it already.
        if now == content.as_deref().map(blake3::hash) {
            return Ok((path, id.clone()));
        }
        let has = there.as_ref().map(|(bytes, _)| bytes.as_slice());
        if !checkpoint.has_left(now.as_ref())
            && !may_replace(&checkpoint, content.as_deref().unwrap_or_default(), has.unwrap_or_default())
        {
            return Err(WriteError::Changed(path));
        }
        let content = match content.as_deref().and_then(|had| instead(had, has.unwrap_or_default())) {
            None => content,
            Some(Some(text)) if has != Some(text.as_bytes()) => Some(text.into_bytes()),
            Some(_) => {
                let undo = self.keep(&path, act, has, now, None)?;
                return Ok((path, undo));
            }
        };
        let undo = match (now, content) {
            (Some(now), None) => self.move_to_trash(&path, now, act)?,
            (None, None) => id.clone(),
            (Some(_), Some(content)) => {
                self.check(&path)?;
                self.write(&path, now, &content, act, None)?
            }
            (None, Some(content)) => {
                let undo = self.write(&path, None, &content, act, checkpoint.mode)?;
                // It is where it was, and in the trash no more.
                if let Some(trashed) = checkpoint.trashed.filter(|trashed| self.check_trash(trashed).is_ok()) {
                    let trashed = trashed.on_disk(&self.root);
                    if read_bytes(&trashed).is_ok_and(|bytes| bytes == content) {
                        let _ = fs::remove_file(&trashed);
                    }
                }
                undo
            }
        };
        Ok((path, undo))
    }

    /// What the file of a checkpoint had, where it was there and that can be read.
    fn had(&self, checkpoint: &Checkpoint) -> Option<Vec<u8>> {
        self.checkpoints.get(&checkpoint.id).ok()?.1
    }

    /// The checkpoints of a file, newest first.
    fn checkpoints_of(&self, path: &VaultPath) -> Result<impl Iterator<Item = Checkpoint>, WriteError> {
        Ok(self.checkpoints.list()?.into_iter().filter(move |checkpoint| checkpoint.path == *path))
    }

    /// Drops the checkpoints that are `looked_at` whose content is meant, given the file and what it had; says how many.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn drop_checkpoints(
        &self,
        looked_at: impl Fn(&Checkpoint) -> bool,
        is_meant: impl Fn(&VaultPath, &[u8]) -> bool,
    ) -> Result<usize, WriteError> {
        let _one = self.one_at_a_time()?;
        let meant = |checkpoint: &Checkpoint| {
            looked_at(checkpoint) && self.had(checkpoint).is_some_and(|had| is_meant(&checkpoint.path, &had))
        };
        let gone: BTreeSet<CheckpointId> =
            self.checkpoints.list()?.into_iter().filter(meant).map(|checkpoint| checkpoint.id).collect();
        let count = gone.len();
        self.checkpoints.remove_all(gone)?;
        Ok(count)
    }

    /// What a file had before each of its changes, the newest first, as far as checkpoints know.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn former_contents(&self, path: &VaultPath) -> Result<impl Iterator<Item = Vec<u8>>, WriteError> {
        Ok(self.checkpoints_of(path)?.filter_map(|checkpoint| self.had(&checkpoint)))
    }

    /// Removes those files that are in the trash below a folder, at such a path, and hold what is meant, permanently.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn purge_trash(
        &self,
        folder: &str,
        is_at: impl Fn(&VaultPath) -> bool,
        is_meant: impl Fn(&[u8]) -> bool,
    ) -> Result<(), WriteError> {
        let trash = self.root.join(TRASH);
        for entry in WalkDir::new(trash.join(folder)).follow_root_links(false).into_iter().filter_map(Result::ok) {
            let place = entry.path();
            let path = place.strip_prefix(&trash).ok().and_then(|path| VaultPath::new(path.to_str()?).ok());
            let is_one = entry.file_type().is_file() && path.is_some_and(|path| is_at(&path));
            if is_one && read_bytes(place).is_ok_and(|bytes| is_meant(&bytes)) {
                fs::remove_file(place).on("remove", place)?;
                sync_folder(place)?;
            }
        }
        Ok(())
    }

    /// What a file had last, as far as checkpoints know; `None` where that cannot be read: what it had before that is not what it had last.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn last_content(&self, path: &VaultPath) -> Result<Option<Vec<u8>>, WriteError> {
        let newest = self.checkpoints_of(path)?.find(|checkpoint| checkpoint.bytes.is_some());
        Ok(newest.and_then(|checkpoint| self.had(&checkpoint)))
    }

    /// What a file had at a moment, in milliseconds since 1970, where it has changed since and a checkpoint kept it: the first one after that
    /// moment, if the file was not touched between the two.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn content_at(&self, path: &VaultPath, at_ms: i64) -> Result<Option<Vec<u8>>, WriteError> {
        let mut later =
            self.checkpoints.since(Timestamp::from_millisecond(at_ms).unwrap_or_default())?.into_iter().rev();
        let first = later.find(|later| later.path == *path && later.at.as_millisecond() > at_ms);
        match first.filter(|first| first.changed_ms.is_some_and(|changed| changed <= at_ms)) {
            Some(first) => Ok(self.checkpoints.get(&first.id)?.1),
            None => Ok(None),
        }
    }

    /// What the last change of a note took out of it, if it was made at `since` or later, in milliseconds since 1970, and the note is as it
    /// left it: what the note said, what it says, and the lines that are not there any more, each a paragraph. `text_of` says what bytes say.
    ///
    /// # Errors
    /// When the disk refuses.
    pub(crate) fn removed_since(
        &self,
        path: &VaultPath,
        since: i64,
        text_of: impl Fn(Vec<u8>) -> String,
    ) -> Result<Option<(String, Option<String>, String)>, WriteError> {
        let Some(last) = self.checkpoints_of(path)?.next() else { return Ok(None) };
        let now = self.read(path)?;
        let is_left = last.has_left(now.as_ref().map(|(_, hash)| hash));
        let Some(had) = self.had(&last).filter(|_| is_left && last.last_at().as_millisecond() >= since) else {
            return Ok(None);
        };
        let (had, now) = (text_of(had), now.map(|(bytes, _)| text_of(bytes)));
        let left: HashSet<&str> = now.iter().flat_map(|now| now.lines()).collect();
        let gone = had.lines().filter(|line| !line.trim().is_empty() && !left.contains(line));
        let gone = gone.collect::<Vec<_>>().join("\n\n");
        Ok(Some((had, now, gone)))
    }

    /// Says `instead` in the log of changes where a note is named that is gone for good.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn hide_in_log(&self, path: &VaultPath, instead: &str) -> Result<(), StateError> {
        self.log.as_ref().map_or(Ok(()), |log| log.hide(path.as_str(), instead))
    }

    /// Moves a note that is as `before` says to `.trash/`.
    ///
    /// # Errors
    /// As [`Files::replace`].
    pub fn trash<'a>(
        &self,
        path: &VaultPath,
        before: Hash,
        act: impl Into<Act<'a>>,
    ) -> Result<CheckpointId, WriteError> {
        let _one = self.one_at_a_time()?;
        self.move_to_trash(path, before, act.into())
    }

    fn move_to_trash(&self, path: &VaultPath, before: Hash, act: Act<'_>) -> Result<CheckpointId, WriteError> {
        self.check_file(path)?;
        let had = self.expect(path, before)?;
        let trashed = self.place_in_trash(path)?;
        let (from, to) = (path.on_disk(&self.root), trashed.on_disk(&self.root));
        let id = self.change(path, act, Some(&had), None, Some(trashed), || {
            match move_new(&from, &to) {
                // The trash is another disk.
                Err(FsError { source, .. }) if source.kind() == ErrorKind::CrossesDevices => {
                    self.put(&to, &had, mode(&from), |beside| move_new(beside, &to).map(|()| to.clone()))?;
                    let removed =
                        self.expect(path, before).and_then(|_| Ok(fs::remove_file(&from).on("remove", &from)?));
                    return removed.inspect_err(|_| drop(fs::remove_file(&to)));
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
        })?;
        sync_folder(&from)?;
        sync_folder(&to)?;
        Ok(id)
    }

    /// Drops every checkpoint of a note, and what `.trash/` has of it: files of its name, and those that its checkpoints name,
    /// that are what one of the checkpoints has or led to. Somebody else may have put others there.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn purge(&self, path: &VaultPath) -> Result<Purged, WriteError> {
        let _one = self.one_at_a_time()?;
        let mut purged = Purged::default();
        let is_taken = |(at, place): &(usize, VaultPath)| *at == 0 || self.is_taken(place);
        let mut places: BTreeSet<VaultPath> =
            trash_names(path).enumerate().take_while(is_taken).map(|(_, place)| place).collect();
        let mut own = HashSet::new();
        let checkpoints: Vec<Checkpoint> = self.checkpoints_of(path)?.collect();
        for checkpoint in &checkpoints {
            own.extend(checkpoint.after.iter().chain(&checkpoint.before).cloned());
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
            self.note("purge", path, &Action::Forget.into(), None, None, None);
        }
        Ok(purged)
    }

    pub(super) fn place_in_trash(&self, path: &VaultPath) -> Result<VaultPath, WriteError> {
        let place = trash_names(path).find(|place| !self.is_taken(place)).expect("numbers do not end");
        self.check_trash(&place)?;
        create_dir(place.on_disk(&self.root).parent().unwrap_or(&self.root))?;
        Ok(place)
    }

    fn is_taken(&self, place: &VaultPath) -> bool {
        place.on_disk(&self.root).symlink_metadata().is_ok()
    }

    /// No part of the way into the trash may be a link out of the vault.
    fn check_trash(&self, place: &VaultPath) -> Result<(), WriteError> {
        let wrong = place
            .and_parents()
            .skip(1)
            .find(|folder| self.root.join(folder).symlink_metadata().is_ok_and(|meta| !meta.is_dir()));
        match wrong {
            Some(folder) => Err(WriteError::Refused { path: folder.to_owned(), reason: "it is not a folder" }),
            None => Ok(()),
        }
    }

    /// Changes a file so that this can be undone, and notes it in the log.
    pub(super) fn change(
        &self,
        path: &VaultPath,
        act: Act<'_>,
        had: Option<&[u8]>,
        new: Option<&[u8]>,
        trashed: Option<VaultPath>,
        change: impl FnOnce() -> Result<(), WriteError>,
    ) -> Result<CheckpointId, WriteError> {
        if let (true, Some(had), Some(new)) = (act.typed, had, new)
            && let Some(id) = self.checkpoints.go_on(path, act.person, had, blake3::hash(new))?
        {
            crash::point("checkpoint-kept");
            change()?;
            self.note(act.action.name(), path, &act, Some(had), Some(new), Some(&id));
            return Ok(id);
        }
        let id = self.keep(path, act, had, new.map(blake3::hash), trashed)?;
        change().inspect_err(|_| self.checkpoints.take_back(&id))?;
        self.note(act.action.name(), path, &act, had, new, Some(&id));
        Ok(id)
    }

    pub(super) fn keep(
        &self,
        path: &VaultPath,
        act: Act<'_>,
        had: Option<&[u8]>,
        after: Option<Hash>,
        trashed: Option<VaultPath>,
    ) -> Result<CheckpointId, WriteError> {
        self.checkpoints.admit(&act)?;
        let at = Timestamp::now();
        let id = self.checkpoints.name(path, at);
        let checkpoint = Checkpoint {
            id: id.clone(),
            at,
            until: None,
            path: path.clone(),
            action: act.action,
            by: act.by.map(str::to_owned),
            person: act.person.map(str::to_owned),
            request: act.request.map(str::to_owned),
            bytes: had.map(|had| had.len() as u64),
            before: had.map(|had| blake3::hash(had).to_hex().to_string()),
            changed_ms: had.and_then(|_| changed_ms(&path.on_disk(&self.root))),
            written: act.written,
            mode: mode(&path.on_disk(&self.root)),
            after: after.map(|hash| hash.to_hex().to_string()),
            trashed,
            typed: act.typed,
            between: None,
        };
        self.checkpoints.keep(&checkpoint, had).inspect_err(|_| self.checkpoints.take_back(&id))?;
        if let Err(error) = self.checkpoints.trim(&act) {
            tracing::warn!("old checkpoints of an agent stay: {error}");
        }
        crash::point("checkpoint-kept");
        Ok(id)
    }
}

/// When a file was changed, in milliseconds since 1970.
fn changed_ms(on_disk: &Path) -> Option<i64> {
    let changed = on_disk.symlink_metadata().ok()?.modified().ok()?;
    Some(Timestamp::try_from(changed).ok()?.as_millisecond())
}

/// The names that a file may have in the trash, without end.
fn trash_names(path: &VaultPath) -> impl Iterator<Item = VaultPath> + use<> {
    numbered(&format!("{TRASH}/{path}"), ' ')
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::disk::Purged;
    use crate::vault::disk::write::tests::{path, read, restore, vault};

    #[test]
    fn what_was_written_can_be_undone_and_that_too() {
        let (folder, files) = vault();
        let note = path("notes/a.md");
        let first = files.create(&note, "first").unwrap();
        assert!(matches!(files.create(&note, "again"), Err(WriteError::Exists(_))));
        let edit = files.replace(&note, first, "second", Action::Edit).unwrap();
        assert!(matches!(files.replace(&note, first, "third", Action::Edit), Err(WriteError::Changed(_))));
        let (_, undo) = restore(&files, &edit, false).unwrap();
        assert_eq!(read(&files, "notes/a.md").unwrap().0, "first");
        restore(&files, &undo, false).unwrap();
        assert_eq!(read(&files, "notes/a.md").unwrap().0, "second");

        let trashed = files.trash(&note, blake3::hash(b"second"), Action::Trash).unwrap();
        assert_eq!(read(&files, "notes/a.md"), None);
        assert_eq!(fs::read(folder.path().join(".trash/notes/a.md")).unwrap(), b"second");
        files.create(&note, "somebody else's").unwrap();
        assert!(matches!(restore(&files, &trashed, false), Err(WriteError::Changed(_))));
        let (_, undo) = restore(&files, &trashed, true).unwrap();
        assert_eq!(read(&files, "notes/a.md").unwrap().0, "second");
        restore(&files, &undo, false).unwrap();
        assert_eq!(read(&files, "notes/a.md").unwrap().0, "somebody else's");
        assert_eq!(fs::read_dir(folder.path().join(".vault/state/unfinished")).unwrap().count(), 0);
    }

    #[test]
    fn what_comes_back_from_the_trash_is_there_no_more() {
        let (folder, files) = vault();
        let hash = files.create(&path("a.md"), "text").unwrap();
        let trashed = files.trash(&path("a.md"), hash, Action::Trash).unwrap();
        files.create(&path("b.md"), "other").unwrap();
        restore(&files, &trashed, false).unwrap();
        assert_eq!(read(&files, "a.md").unwrap().0, "text");
        assert!(!folder.path().join(".trash/a.md").exists());
        let purged = files.purge(&path("a.md")).unwrap();
        assert_eq!(purged, Purged { checkpoints: 2, ..Purged::default() });
        assert_eq!(files.checkpoints().unwrap(), []);
    }

    #[test]
    fn what_an_agent_made_goes_and_comes_back() {
        let (folder, files) = vault();
        let made = files.replace(&path("agents/coder/MEMORY.md"), None, "text", Action::Create.by("coder")).unwrap();
        assert!(matches!(
            files.replace(&path("agents/coder/MEMORY.md"), None, "other", Action::Create.by("coder")),
            Err(WriteError::Exists(_))
        ));
        let known = files.checkpoint(&made).unwrap();
        assert_eq!((known.action, known.by.as_deref(), known.bytes), (Action::Create, Some("coder"), None));
        let (_, undo) = files.restore(&made, Action::Restore.by("coder"), |_, _, _| false, |_, _| None).unwrap();
        assert!(read(&files, "agents/coder/MEMORY.md").is_none());
        assert!(folder.path().join(".trash/agents/coder/MEMORY.md").exists());
        restore(&files, &undo, false).unwrap();
        assert_eq!(read(&files, "agents/coder/MEMORY.md").unwrap().0, "text");
        assert_eq!(files.checkpoints().unwrap().iter().filter(|kept| kept.by.is_some()).count(), 2);
    }

    #[test]
    fn what_is_typed_in_a_row_is_undone_as_one() {
        let (_folder, files) = vault();
        let note = path("a.md");
        files.create(&note, "first").unwrap();
        let written = |before: &str, text: &str, act: Act<'_>| {
            files.replace(&note, blake3::hash(before.as_bytes()), text, act).unwrap()
        };
        let typed = |before: &str, text: &str| written(before, text, Act::from(Action::Edit).typed());
        let id = typed("first", "second");
        assert_eq!((typed("second", "third"), typed("third", "fourth")), (id.clone(), id.clone()));
        assert_eq!(files.checkpoints().unwrap().len(), 1);
        restore(&files, &id, false).unwrap();
        assert_eq!(read(&files, "a.md").unwrap().0, "first");
        // Not with what was done since, whoever did it.
        let fifth = typed("first", "fifth");
        assert_ne!(fifth, id);
        let saved = written("fifth", "saved", Action::Edit.into());
        let sixth = typed("saved", "sixth");
        assert_eq!(BTreeSet::from([&fifth, &saved, &sixth]).len(), 3);
        std::fs::write(files.root.join("a.md"), "an editor's").unwrap();
        let seventh = typed("an editor's", "seventh");
        assert_ne!(seventh, sixth);
        restore(&files, &seventh, false).unwrap();
        assert_eq!(read(&files, "a.md").unwrap().0, "an editor's");
    }

    #[test]
    fn whoever_is_killed_as_they_type_can_undo_what_they_typed() {
        let (_folder, files) = vault();
        let hash = files.create(&path("a.md"), "first").unwrap();
        let id = files.replace(&path("a.md"), hash, "second", Act::from(Action::Edit).typed()).unwrap();
        // Killed before the note was replaced.
        let going_on = files.checkpoints.go_on(&path("a.md"), None, b"second", blake3::hash(b"third")).unwrap();
        assert_eq!(going_on.as_ref(), Some(&id));
        let again =
            files.replace(&path("a.md"), blake3::hash(b"second"), "fourth", Act::from(Action::Edit).typed()).unwrap();
        assert_eq!(again, id);
        restore(&files, &id, false).unwrap();
        assert_eq!(read(&files, "a.md").unwrap().0, "first");
    }

    #[test]
    fn undoing_what_never_happened_is_no_change() {
        let (_folder, files) = vault();
        let hash = files.create(&path("a.md"), "text").unwrap();
        // Killed before the note was replaced.
        let id =
            files.keep(&path("a.md"), Action::Edit.into(), Some(b"text"), Some(blake3::hash(b"new")), None).unwrap();
        assert_eq!(restore(&files, &id, false).unwrap(), (path("a.md"), id));
        assert_eq!(files.read(&path("a.md")).unwrap().unwrap().1, hash);
    }
}

#[cfg(test)]
mod tests_of_the_trash {
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
            files.trash(&path("n/a.md"), hash, Action::Trash).unwrap();
        }
        let hash = files.create(&path("n/b.md"), "first secret").unwrap();
        files.trash(&path("n/b.md"), hash, Action::Trash).unwrap();
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
        assert!(matches!(files.trash(&path("n/a.md"), hash, Action::Trash), Err(WriteError::Refused { .. })));
        fs::write(outside.path().join("a.md"), "theirs").unwrap();
        assert_eq!(files.purge(&path("n/a.md")).unwrap(), Purged::default());
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
    }
}
