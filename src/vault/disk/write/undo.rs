//! What is deleted and can be brought back, and what is to be gone for good.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::path::Path;

use blake3::Hash;
use jiff::Timestamp;

use super::super::read::read_bytes;
use super::checkpoint::{Act, Action, Checkpoint, CheckpointId};
use super::checkpoints::mode;
use super::error::WriteError;
use super::files::Files;
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::base::state::StateError;

impl Files {
    /// What is known of a change.
    ///
    /// # Errors
    /// When there is no such checkpoint, or it cannot be read.
    pub fn checkpoint(&self, id: &CheckpointId) -> Result<Checkpoint, WriteError> {
        self.checkpoints.about(id)
    }

    /// The changes that can be undone, newest first.
    ///
    /// # Errors
    /// When they cannot be listed.
    pub fn checkpoints(&self) -> Result<Vec<Checkpoint>, WriteError> {
        Ok(self.checkpoints.list()?)
    }

    /// Undoes a change: the file is again what it was before. This too can be undone, by the checkpoint that is given; it is the
    /// same one when there was nothing to undo.
    ///
    /// # Errors
    /// [`WriteError::Changed`] when the file has changed since, and not with `force`; when there is no such checkpoint, or the
    /// disk refuses.
    pub fn restore(&self, id: &CheckpointId, force: bool) -> Result<(VaultPath, CheckpointId), WriteError> {
        self.restore_as(id, force, Action::Restore.into())
    }

    /// The same for whoever asks.
    ///
    /// # Errors
    /// As [`Files::restore`].
    pub fn restore_as(
        &self,
        id: &CheckpointId,
        force: bool,
        act: Act<'_>,
    ) -> Result<(VaultPath, CheckpointId), WriteError> {
        self.restore_with(id, force, act, |_, _| None)
    }

    /// The same, with something else for what the file was, given that and what it is now: `instead` says what, or that nothing is to be
    /// written at all, which gives a checkpoint as for a change. As it was where it says nothing.
    ///
    /// # Errors
    /// As [`Files::restore`].
    pub fn restore_with(
        &self,
        id: &CheckpointId,
        force: bool,
        act: Act<'_>,
        instead: impl FnOnce(&[u8], &[u8]) -> Option<Option<String>>,
    ) -> Result<(VaultPath, CheckpointId), WriteError> {
        self.restore_where(id, act, |_, _, _| force, instead)
    }

    /// The same over what has changed since where `may_replace` says so, given the checkpoint, what it has, and what the file is now.
    ///
    /// # Errors
    /// As [`Files::restore`].
    pub fn restore_where(
        &self,
        id: &CheckpointId,
        act: Act<'_>,
        may_replace: impl FnOnce(&Checkpoint, &[u8], &[u8]) -> bool,
        instead: impl FnOnce(&[u8], &[u8]) -> Option<Option<String>>,
    ) -> Result<(VaultPath, CheckpointId), WriteError> {
        let _one = self.one_at_a_time()?;
        let (checkpoint, content) = self.checkpoints.get(id)?;
        let path = checkpoint.path.clone();
        // So that this can be undone, too.
        let act = if checkpoint.action == Action::Settle { Act { action: Action::Settle, ..act } } else { act };
        let there = if act.action == Action::Settle { self.read_whole(&path)? } else { self.read(&path)? };
        let now = there.as_ref().map(|(_, hash)| *hash);
        // Whoever made the checkpoint was killed before the change, or somebody has undone it already.
        if now == content.as_deref().map(blake3::hash) {
            return Ok((path, id.clone()));
        }
        let has = there.as_ref().map(|(bytes, _)| bytes.as_slice());
        if now.map(|hash| hash.to_hex().to_string()) != checkpoint.after
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
            (Some(now), Some(content)) => self.write_over(&path, now, &content, act)?,
            (Some(now), None) => self.move_to_trash(&path, now, act)?,
            (None, None) => id.clone(),
            (None, Some(content)) => {
                let undo = self.keep(&path, act, None, Some(blake3::hash(&content)), None)?;
                let made = self.make(&path, &content, checkpoint.mode);
                made.inspect_err(|_| self.checkpoints.take_back(&undo))?;
                self.note(&path, &act, None, Some(&content), Some(&undo));
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
        let had = |checkpoint: &Checkpoint| self.checkpoints.get(&checkpoint.id).ok().and_then(|(_, had)| had);
        let meant = |checkpoint: &Checkpoint| {
            looked_at(checkpoint) && had(checkpoint).is_some_and(|had| is_meant(&checkpoint.path, &had))
        };
        let gone: BTreeSet<CheckpointId> =
            self.checkpoints.list()?.into_iter().filter(meant).map(|checkpoint| checkpoint.id).collect();
        let count = gone.len();
        self.checkpoints.remove_all(gone)?;
        Ok(count)
    }

    /// Whether a checkpoint of a file has a content that is meant.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn has_had(&self, path: &VaultPath, is_meant: impl Fn(&[u8]) -> bool) -> Result<bool, WriteError> {
        let had = |checkpoint: &Checkpoint| self.checkpoints.get(&checkpoint.id).ok().and_then(|(_, had)| had);
        let mut known = self.checkpoints.list()?.into_iter().filter(|checkpoint| checkpoint.path == *path);
        Ok(known.any(|checkpoint| had(&checkpoint).is_some_and(|had| is_meant(&had))))
    }

    /// What a note that is not there had last, as far as a checkpoint knows.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn last_content(&self, path: &VaultPath) -> Result<Option<Vec<u8>>, WriteError> {
        let known = self.checkpoints.list()?.into_iter();
        let newest = known.filter(|checkpoint| checkpoint.path == *path).find(|checkpoint| checkpoint.bytes.is_some());
        Ok(newest.and_then(|checkpoint| self.checkpoints.get(&checkpoint.id).ok()).and_then(|(_, content)| content))
    }

    /// What a file had at a moment, in milliseconds since 1970, where it has changed since and a checkpoint kept it: the first one after that
    /// moment, if the file was not touched between the two.
    ///
    /// # Errors
    /// When the disk refuses.
    pub fn content_at(&self, path: &VaultPath, at_ms: i64) -> Result<Option<Vec<u8>>, WriteError> {
        let mut later = self.checkpoints.since(path, at_ms)?.into_iter();
        let first = later.find(|checkpoint| checkpoint.at.as_millisecond() > at_ms);
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
        let Some(last) = self.checkpoints.list()?.into_iter().find(|checkpoint| checkpoint.path == *path) else {
            return Ok(None);
        };
        let now = self.read(path)?;
        let is_left = now.as_ref().map(|(_, hash)| hash.to_hex().to_string()) == last.after;
        if !is_left || last.at.as_millisecond() < since {
            return Ok(None);
        }
        let Ok((_, Some(had))) = self.checkpoints.get(&last.id) else { return Ok(None) };
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
        let mut checkpoint = Checkpoint {
            id: id.clone(),
            at,
            path: path.clone(),
            action: act.action,
            by: act.by.map(str::to_owned),
            bytes: had.map(|had| had.len() as u64),
            before: None,
            base: None,
            changed_ms: had.and_then(|_| changed_ms(&path.on_disk(&self.root))),
            written: act.written,
            mode: mode(&path.on_disk(&self.root)),
            after: after.map(|hash| hash.to_hex().to_string()),
            trashed,
        };
        self.checkpoints.keep(&mut checkpoint, had).inspect_err(|_| self.checkpoints.take_back(&id))?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::vault::disk::Purged;
    use crate::vault::disk::write::tests::{path, read, vault};

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
        let purged = files.purge(&path("a.md")).unwrap();
        assert_eq!(purged, Purged { checkpoints: 2, ..Purged::default() });
        assert_eq!(files.checkpoints().unwrap(), []);
    }

    #[test]
    fn what_an_agent_made_goes_and_comes_back() {
        let (folder, files) = vault();
        let made = files.create_for(&path("agents/coder/MEMORY.md"), "text", Action::Create.by("coder")).unwrap();
        assert!(matches!(
            files.create_for(&path("agents/coder/MEMORY.md"), "other", Action::Create.by("coder")),
            Err(WriteError::Exists(_))
        ));
        let known = files.checkpoint(&made).unwrap();
        assert_eq!((known.action, known.by.as_deref(), known.bytes), (Action::Create, Some("coder"), None));
        let (_, undo) = files.restore_as(&made, false, Action::Restore.by("coder")).unwrap();
        assert!(read(&files, "agents/coder/MEMORY.md").is_none());
        assert!(folder.path().join(".trash/agents/coder/MEMORY.md").exists());
        files.restore(&undo, false).unwrap();
        assert_eq!(read(&files, "agents/coder/MEMORY.md").unwrap().0, "text");
        assert_eq!(files.checkpoints().unwrap().iter().filter(|kept| kept.by.is_some()).count(), 2);
    }

    #[test]
    fn undoing_what_never_happened_is_no_change() {
        let (_folder, files) = vault();
        let hash = files.create(&path("a.md"), "text").unwrap();
        // Killed before the note was replaced.
        let id =
            files.keep(&path("a.md"), Action::Edit.into(), Some(b"text"), Some(blake3::hash(b"new")), None).unwrap();
        assert_eq!(files.restore(&id, false).unwrap(), (path("a.md"), id));
        assert_eq!(files.read(&path("a.md")).unwrap().unwrap().1, hash);
    }
}
